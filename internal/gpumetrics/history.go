package gpumetrics

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// MetricEngine is the use of a pod's GPUs, in per cent: the mean of its devices.
const MetricEngine = "engine"

// The history is the last hour, a point a minute, for all pods at once, asked for at most every 30 s and only when
// somebody wants it.
const (
	historySpan  = time.Hour
	historyStep  = time.Minute
	historyEvery = 30 * time.Second
)

// history is the last answer, and the call under way if there is one.
type history struct {
	mu    sync.Mutex
	at    time.Time // when the last call was made, successful or not
	pods  map[podKey]map[int64]float64
	until time.Time // of the last point; zero for never
	err   error
	call  chan struct{} // closed when the call under way is done; nil when none is
}

// History gives the points between two moments, as far as they lie in the last hour, oldest first; a point in a gap is
// unknown. It waits for the first answer only. Faults: Invalid for a metric that there is none of; Unavailable when
// Prometheus has never answered.
func (p *Poller) History(ctx context.Context, namespace, pod, metric string, from, to time.Time) ([]Point, error) {
	if metric != MetricEngine {
		return nil, fault.New(fault.Invalid, i18n.T("gpumetrics.no_metric", "Metric", metric))
	}
	call := p.refresh()
	h := &p.history
	h.mu.Lock()
	never := h.until.IsZero()
	h.mu.Unlock()
	if never && call != nil {
		select {
		case <-call:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until.IsZero() {
		return nil, fault.Wrap(fault.Unavailable, h.err, i18n.T("gpumetrics.unavailable"))
	}
	return h.points(podKey{namespace, pod}, from, earlier(to, p.cfg.Now())), nil
}

// LastHour is History without waiting: nil until the first answer is there, after which OnFresh is called.
func (p *Poller) LastHour(namespace, pod string) []Point {
	p.refresh()
	p.history.mu.Lock()
	defer p.history.mu.Unlock()
	if p.history.until.IsZero() {
		return nil
	}
	now := p.cfg.Now()
	return p.history.points(podKey{namespace, pod}, now.Add(-historySpan), now)
}

// points must be called with the lock held. After the last answer there is a gap up to now; a minute that was not asked
// for yet is none.
func (h *history) points(key podKey, from, to time.Time) []Point {
	values := h.pods[key]
	last := h.until
	if to.Sub(last) > 2*historyStep {
		last = to.Truncate(historyStep)
	}
	var out []Point
	for at := last.Add(-historySpan); !at.After(last); at = at.Add(historyStep) {
		if at.Before(from) || at.After(to) {
			continue
		}
		value, ok := values[at.Unix()]
		out = append(out, Point{At: at, Value: value, Known: ok})
	}
	return out
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// refresh begins a call when the last one is old enough and none is under way; it gives the one under way.
func (p *Poller) refresh() <-chan struct{} {
	h := &p.history
	h.mu.Lock()
	defer h.mu.Unlock()
	now := p.cfg.Now()
	if h.call != nil || !h.at.IsZero() && now.Sub(h.at) < historyEvery {
		return h.call
	}
	h.at, h.call = now, make(chan struct{})
	go p.fetch(h.call, now)
	return h.call
}

// fetch makes the call. It belongs to nobody's page, so no page that is closed ends it.
func (p *Poller) fetch(call chan struct{}, now time.Time) {
	first := false
	defer func() {
		if first && p.cfg.OnFresh != nil {
			p.cfg.OnFresh()
		}
	}()
	until := now.Truncate(historyStep)
	seconds := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	var namespaces []string
	m, err := newMeans(p.queries.labels), error(nil)
	if p.cfg.Namespaces != nil {
		namespaces = p.cfg.Namespaces()
	}
	if p.cfg.Namespaces == nil || len(namespaces) > 0 {
		_, err = p.query(context.Background(), "query_range", url.Values{
			"query": {p.queries.history(namespaces)}, "start": {seconds(until.Add(-historySpan))}, "end": {seconds(until)},
			"step": {strconv.Itoa(int(historyStep.Seconds()))},
		}, newTexts(), m.put)
	}
	h := &p.history
	h.mu.Lock()
	defer h.mu.Unlock()
	first = h.until.IsZero() && err == nil
	h.call, h.err = nil, err
	if err == nil {
		h.pods, h.until = m.of(), until
	} else {
		p.cfg.Logger.Warn("no history from Prometheus", "error", err.Error())
	}
	close(call)
}

// means turns the rows of all devices into one value for each pod and minute. A value that cannot be is a gap.
type means struct {
	labels  Labels
	targets map[podKey]bool
	pods    map[podKey]*track
}

// track is the values of one pod's devices: one device may come in several rows (two scrapes, two spellings), and then
// the first one counts.
type track struct {
	doubtful bool
	values   map[deviceKey]map[int64]float64
}

func newMeans(l Labels) *means {
	return &means{labels: l, targets: map[podKey]bool{}, pods: map[podKey]*track{}}
}

func (m *means) put(s series) {
	if t := m.labels.target(s.labels); t != (podKey{}) {
		m.targets[t] = true
	}
	pod, doubtful := m.labels.holder(s.labels)
	device, ok := m.labels.device(s.labels)
	if pod == (podKey{}) || !ok {
		return
	}
	if m.pods[pod] == nil {
		m.pods[pod] = &track{doubtful, map[deviceKey]map[int64]float64{}}
	}
	values := m.pods[pod].values
	if values[device] == nil {
		values[device] = make(map[int64]float64, len(s.samples))
	}
	for _, v := range s.samples {
		if _, seen := values[device][v.at.Unix()]; !seen && v.value >= 0 && v.value <= 105 {
			values[device][v.at.Unix()] = min(100, v.value)
		}
	}
}

func (m *means) of() map[podKey]map[int64]float64 {
	type slot struct {
		sum float64
		n   int
	}
	out := make(map[podKey]map[int64]float64, len(m.pods))
	for pod, t := range m.pods {
		if t.doubtful && (m.targets[pod] || exporterPod(pod.pod)) {
			continue
		}
		sums := map[int64]slot{}
		for _, values := range t.values {
			for at, v := range values {
				s := sums[at]
				sums[at] = slot{s.sum + v, s.n + 1}
			}
		}
		out[pod] = make(map[int64]float64, len(sums))
		for at, s := range sums {
			out[pod][at] = s.sum / float64(s.n)
		}
	}
	return out
}
