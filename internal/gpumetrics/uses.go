package gpumetrics

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// UseWindow is how far back the mean use of a pod's GPUs is taken. Samples are looked at every useStep: a day of every
// sample of a large site is more than a Prometheus is willing to read for one query.
const (
	UseWindow = 24 * time.Hour
	useStep   = 10 * time.Minute
	useEvery  = 5 * time.Minute
)

// Use is how a pod has used its GPUs in the window.
type Use struct {
	Mean  float64 // per cent, of the time that is known
	Known float64 // how much of the window is known, 0..1; a pod that is younger than the window cannot have all
}

// Uses are the uses of all pods.
type Uses struct {
	At   time.Time // when Prometheus answered; zero for never
	pods map[podKey]Use
}

// Of is the use of one pod; ok is false where nothing is known.
func (u Uses) Of(namespace, pod string) (use Use, ok bool) {
	use, ok = u.pods[podKey{namespace, pod}]
	return use, ok
}

// NewUses is for those who have no Prometheus: tests, and pictures of the pages.
func NewUses(at time.Time, pods map[Pod]Use) Uses {
	u := Uses{At: at, pods: map[podKey]Use{}}
	for pod, use := range pods {
		u.pods[podKey{pod.Namespace, pod.Name}] = use
	}
	return u
}

// Uses is how all pods have used their GPUs of late. It never waits: until the first answer is there, after which
// OnFresh is called, nothing is known. After a failure the last answer stays, as long as readings do.
func (p *Poller) Uses() Uses {
	now := p.cfg.Now()
	k := p.uses.get(struct{}{}, now, p.askUses)
	if now.Sub(k.at) > useEvery+p.cfg.KeepFor {
		return Uses{}
	}
	return k.value
}

func (p *Poller) askUses() (Uses, error) {
	var namespaces []string
	if p.cfg.Namespaces != nil {
		if namespaces = p.cfg.Namespaces(); len(namespaces) == 0 {
			return Uses{At: p.cfg.Now()}, nil
		}
	}
	mean, known := newMeans(p.queries.labels), newMeans(p.queries.labels)
	_, err := p.query(context.Background(), "query", url.Values{"query": {p.queries.uses(namespaces)}}, newTexts(),
		func(s series) {
			if s.labels.get(partLabel) == partKnown {
				known.put(s)
				return
			}
			mean.put(s)
		})
	if err != nil {
		p.cfg.Logger.Warn("no use of GPUs over time from Prometheus", "error", err.Error())
		return Uses{}, err
	}
	u := Uses{At: p.cfg.Now(), pods: map[podKey]Use{}}
	share := known.of()
	for pod, values := range mean.of() {
		for at, v := range values {
			u.pods[pod] = Use{Mean: v, Known: share[pod][at] / 100}
		}
	}
	return u, nil
}

const partKnown = "known"

// uses gives the mean of every pod's devices over the window, and which part of the window is known, in per cent.
// Values that cannot be are left out before the mean is taken: one of DCGM's marks for "no value" would drown all
// others.
func (q queries) uses(namespaces []string) string {
	window := "((" + q.history(namespaces) + ") >= 0 <= 105)[" + inSeconds(UseWindow) + ":" + inSeconds(useStep) + "]"
	return "avg_over_time(" + window + ") or " + part(partKnown, "100 * count_over_time("+window+") / "+
		strconv.Itoa(int(UseWindow/useStep)))
}

// inSeconds writes a length of time for PromQL.
func inSeconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }
