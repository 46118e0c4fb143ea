package gpumetrics

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// HourlyUse is the mean use of the cards of each model, hour by hour, in per cent.
type HourlyUse struct {
	From   time.Time // the beginning of the first hour
	Models []ModelUse
}

// ModelUse is the use of one model. An hour that nobody measured is NaN.
type ModelUse struct {
	Model string // as DCGM calls it; "" where no label says it
	Hours []float64
}

type hoursKey struct{ from, until int64 }

// mostHours is a fortnight of days, and the hours of the day that is running.
const mostHours = 14 + 24

// Hours is the use of the hours that begin at a moment; what is left of the last one does not count. It asks for one
// line of each model, and not for each card: ask it day by day. A day that is over does not change, so its answer is
// kept; it waits for the first one, as long as the context lets it. Faults: Unavailable when Prometheus does not
// answer, or has not yet.
func (p *Poller) Hours(ctx context.Context, from, until time.Time) (HourlyUse, error) {
	n := int(until.Sub(from) / pastStep)
	if n <= 0 {
		return HourlyUse{From: from}, nil
	}
	key := hoursKey{from.Unix(), from.Add(time.Duration(n) * pastStep).Unix()}
	ask := func() (HourlyUse, error) { return p.askHours(from, n) }
	k := p.hours.get(key, p.cfg.Now(), ask)
	if k.at.IsZero() && k.call != nil {
		select {
		case <-k.call:
			k = p.hours.get(key, p.cfg.Now(), ask)
		case <-ctx.Done():
			return HourlyUse{}, fault.Wrap(fault.Unavailable, ctx.Err(), i18n.T("gpumetrics.not_yet"))
		}
	}
	if k.at.IsZero() {
		p.hours.forget(key, p.cfg.Now(), pastAgain)
		return HourlyUse{}, fault.Wrap(fault.Unavailable, cmp.Or(k.err, errNever), i18n.T("gpumetrics.unavailable"))
	}
	return k.value, nil
}

func (p *Poller) askHours(from time.Time, n int) (HourlyUse, error) {
	models := map[string][]float64{}
	put := func(row series) {
		model := row.labels.first(p.queries.labels.Model)
		if models[model] == nil {
			models[model] = slices.Repeat([]float64{math.NaN()}, n)
		}
		for _, s := range row.samples { // a sample is of the hour before it
			i := int((s.at.Unix()-from.Unix())/int64(pastStep/time.Second)) - 1
			if i >= 0 && i < n && s.value >= 0 && s.value <= 105 {
				models[model][i] = min(100, s.value)
			}
		}
	}
	at := func(hours int) string {
		return strconv.FormatInt(from.Add(time.Duration(hours)*pastStep).Unix(), 10)
	}
	_, err := p.queryFor(context.Background(), pastTimeout, "query_range", url.Values{"query": {p.queries.hours()},
		"start": {at(1)}, "end": {at(n)}, "step": {inSeconds(pastStep)}}, newTexts(), put)
	if err != nil {
		p.cfg.Logger.Warn("no use by the hour from Prometheus", "error", err.Error())
		return HourlyUse{}, err
	}
	use := HourlyUse{From: from}
	for model, hours := range models {
		use.Models = append(use.Models, ModelUse{Model: model, Hours: hours})
	}
	slices.SortFunc(use.Models, func(a, b ModelUse) int { return cmp.Compare(a.Model, b.Model) })
	return use, nil
}

// hours gives the mean of an hour for every model. Slices make up their card first, so that a card in seven slices does
// not count seven times; a mark for "no value" spoils the mean of its device, which is left out.
func (q queries) hours() string {
	card := slices.Concat(q.labels.Model, q.labels.UUID)
	device := maxBy(slices.Concat(q.labels.Model, q.labels.ofDevice()))
	var parts []string
	for _, k := range []kind{engineRatio, utilPercent} {
		factor, whole := "100 * ", ""
		if k == utilPercent {
			factor, whole = "", q.labels.whole()
		}
		for _, name := range metrics[k].names {
			parts = append(parts, "(("+factor+device+"(avg_over_time("+promSeries(name, whole)+"["+inSeconds(pastStep)+
				"]))) >= 0 <= 105)")
		}
	}
	return avgBy(q.labels.Model) + "(" + avgBy(card) + "(" + strings.Join(parts, " or ") + "))"
}

func avgBy(names []string) string { return "avg by (" + strings.Join(names, ", ") + ") " }
