package gpumetrics

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// PastUse is the mean use of every device in an hour that is over.
type PastUse struct {
	Until time.Time // the end of the hour; zero where nothing is known
	use   map[deviceKey]float32
}

// NewPastUse is one of which the caller knows the values, in per cent by card and slice.
func NewPastUse(until time.Time, use map[[2]string]float32) PastUse {
	p := PastUse{Until: until, use: make(map[deviceKey]float32, len(use))}
	for k, v := range use {
		p.use[deviceKey{k[0], k[1]}] = v
	}
	return p
}

// Of is the mean use of a card, or of a slice of it, in per cent.
func (p PastUse) Of(uuid, instance string) (float64, bool) {
	v, ok := p.use[deviceKey{uuid, instance}]
	return float64(v), ok
}

// Devices is of how many something is known.
func (p PastUse) Devices() int { return len(p.use) }

// An hour that is over does not change: its answer is kept as long as there is room. A failure is asked again after a
// minute. One hour at a time, because a week of a large site would be millions of points.
const (
	pastEvery   = 24 * time.Hour
	pastAgain   = time.Minute
	mostPast    = 7*24 + 2
	pastAtOnce  = 2
	pastTimeout = 30 * time.Second
	pastStep    = time.Hour
)

// Past is the hour that ends at a whole hour. It waits for the first answer, as long as the context lets it. Faults:
// Unavailable when Prometheus does not answer, or has not yet.
func (p *Poller) Past(ctx context.Context, until time.Time) (PastUse, error) {
	until = until.Truncate(pastStep)
	key, ask := until.Unix(), func() (PastUse, error) { return p.askPast(until) }
	k := p.past.get(key, p.cfg.Now(), ask)
	if k.at.IsZero() && k.call != nil {
		select {
		case <-k.call:
			k = p.past.get(key, p.cfg.Now(), ask)
		case <-ctx.Done():
			return PastUse{}, fault.Wrap(fault.Unavailable, ctx.Err(), i18n.T("gpumetrics.not_yet"))
		}
	}
	if k.at.IsZero() {
		p.past.forget(key, p.cfg.Now(), pastAgain) // so that the next look asks again
		return PastUse{}, fault.Wrap(fault.Unavailable, cmp.Or(k.err, errNever), i18n.T("gpumetrics.unavailable"))
	}
	return k.value, nil
}

func (p *Poller) askPast(until time.Time) (PastUse, error) {
	use := map[deviceKey]float32{}
	put := func(row series) {
		k, named := p.queries.labels.device(row.labels)
		if !named || len(row.samples) == 0 {
			return
		}
		v := row.samples[0].value
		if row.labels.get(partLabel) == partCard && k.instance != "" || math.IsNaN(v) || v < 0 || v > 105 {
			return
		}
		if old, there := use[k]; !there || float32(v) > old { // two scrapes of one
			use[k] = float32(min(100, v))
		}
	}
	_, err := p.queryFor(context.Background(), pastTimeout, "query", url.Values{"query": {p.queries.past()},
		"time": {strconv.FormatInt(until.Unix(), 10)}}, newTexts(), put)
	if err != nil {
		p.cfg.Logger.Warn("no past use from Prometheus", "error", err.Error())
		return PastUse{}, err
	}
	return PastUse{Until: until, use: use}, nil
}

// past gives the mean of an hour for every device, in per cent: of a slice its engine's, of a card that has none of
// that its utilization.
func (q queries) past() string {
	by := maxBy(q.labels.ofDevice())
	var parts []string
	for _, k := range []kind{engineRatio, utilPercent} {
		factor, whole := "100 * ", ""
		if k == utilPercent {
			factor, whole = "", q.labels.whole()
		}
		for _, name := range metrics[k].names {
			parts = append(parts, factor+by+"(avg_over_time("+promSeries(name, whole)+"["+inSeconds(pastStep)+"]))")
		}
	}
	return strings.Join(parts, " or ")
}

// CardRanges is what a card did in a span, its slices together; otherwise as Ranges.
func (p *Poller) CardRanges(ctx context.Context, uuid string, span Span) (Ranges, error) {
	return p.rangesOf(ctx, rangeKey{podKey{pod: uuid}, span.Name}, func() (Ranges, error) {
		return p.askRows(p.queries.cardMatchers(uuid), span)
	})
}

// cardMatchers are one for each name that a row may call its card by; a later one counts where those before it are not
// there.
func (q queries) cardMatchers(uuid string) []string {
	var all []string
	before := ""
	for _, label := range q.labels.UUID {
		all = append(all, before+label+"="+quote(uuid))
		before += label + `="",`
	}
	return all
}
