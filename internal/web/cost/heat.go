package cost

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

const (
	heatDays   = 7               // that the map of the use shows, the one that is running among them
	heatAnswer = 2 * time.Second // how long a page waits for hours that nobody has asked for yet
	mostHeat   = 12              // types of GPUs
)

// heatMap is how busy the GPUs of each type were in the hours of the last seven days. It is for those who answer for
// the fleet, beside the month that is running: nil for all others.
func (w *Pages) heatMap(k page.Call, c usageChoice) *usageview.HeatModel {
	if c.scope != usage.All || c.month != w.Usage.Month() || w.Metrics == nil || len(w.Site().Clusters) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(k.Ctx, heatAnswer)
	defer stop()
	say, zone := k.Words, w.Usage.Zone
	days := lastDays(say.Now, zone)
	m := &usageview.HeatModel{Zone: zone.String(), Idle: say.Percent(usage.IdleBelow)}
	for _, d := range days {
		m.Days = append(m.Days, say.Day(d.From, zone))
	}
	for _, cluster := range w.Site().Clusters {
		var uses []gpumetrics.HourlyUse
		for _, d := range days {
			use, err := w.Metrics.Hours(ctx, cluster, d.From, d.Until)
			if err != nil {
				m.Waiting, m.Away = m.Waiting || gpumetrics.Waiting(err), true
			}
			uses = append(uses, use)
		}
		for _, week := range heatWeeks(uses, zone) {
			row := heatRow(say, week, days, m.Days)
			if len(w.Site().Clusters) > 1 {
				row.Cluster = cluster
			}
			m.Rows = append(m.Rows, row)
		}
	}
	m.Rows = m.Rows[:min(len(m.Rows), mostHeat)]
	return m
}

// lastDays are the days up to now, oldest first, by the clocks of a zone.
func lastDays(now time.Time, zone *time.Location) (days []usage.Span) {
	local := now.In(zone)
	for back := heatDays - 1; back >= 0; back-- {
		from := usage.DayStart(local.Year(), local.Month(), local.Day()-back, zone)
		until := usage.NextDay(from, zone)
		if until.After(now) {
			until = now
		}
		days = append(days, usage.Span{From: from, Until: until})
	}
	return days
}

// heatWeek is the use of one model by day and hour of the clock, in per cent; NaN where it is not known. Of the hour
// that a clock shows twice the later one counts.
type heatWeek struct {
	Model string
	Use   [heatDays][24]float64
}

// heatWeeks sorts what is known of the days into weeks, by model.
func heatWeeks(days []gpumetrics.HourlyUse, zone *time.Location) (weeks []heatWeek) {
	for d, day := range days {
		for _, model := range day.Models {
			i := slices.IndexFunc(weeks, func(w heatWeek) bool { return w.Model == model.Model })
			if i < 0 {
				i = len(weeks)
				weeks = append(weeks, unknownWeek(model.Model))
			}
			for h, use := range model.Hours {
				if !math.IsNaN(use) {
					weeks[i].Use[d][day.From.Add(time.Duration(h)*time.Hour).In(zone).Hour()] = use
				}
			}
		}
	}
	slices.SortFunc(weeks, func(a, b heatWeek) int { return strings.Compare(a.Model, b.Model) })
	return weeks
}

func unknownWeek(model string) heatWeek {
	w := heatWeek{Model: model}
	for d := range w.Use {
		for h := range w.Use[d] {
			w.Use[d][h] = math.NaN()
		}
	}
	return w
}

// mean is of the hours that are known.
func (w heatWeek) mean() (mean float64, known bool) {
	sum, n := 0.0, 0.0
	for _, day := range w.Use {
		for _, use := range day {
			if !math.IsNaN(use) {
				sum, n = sum+use, n+1
			}
		}
	}
	return sum / n, n > 0
}

// heatShade is the colour of a use: unknown, idle, and quarters of what is possible.
func heatShade(use float64) usageview.Shade {
	switch {
	case math.IsNaN(use):
		return usageview.Unmeasured
	case usage.Idle(use):
		return usageview.IdleHour
	}
	return usageview.Quarters[min(3, int(use/25))]
}

func heatRow(say page.Words, w heatWeek, days []usage.Span, names []string) usageview.HeatRowModel {
	row := usageview.HeatRowModel{Name: strings.TrimPrefix(page.OrElse(w.Model, say.S("usage.kind_unknown")), "NVIDIA "),
		Mean: say.S("web.unknown")}
	if mean, known := w.mean(); known {
		row.Mean = say.Percent(mean)
	}
	zone := days[0].From.Location()
	for d, span := range days {
		numbers := usageview.HeatDayModel{Day: names[d]}
		for h, use := range w.Use[d] {
			number := "–"
			if !math.IsNaN(use) {
				number = say.Percent(use)
			}
			numbers.Hours[h] = number
			if at := time.Date(span.From.Year(), span.From.Month(), span.From.Day(), h+1, 0, 0, 0, zone); at.After(say.Now) {
				continue // it is not over
			}
			if math.IsNaN(use) {
				number = say.S("web.unknown")
			}
			row.Cells = append(row.Cells, usageview.HeatCellModel{Day: d, Hour: h, Shade: heatShade(use),
				Words: fmt.Sprintf("%s · %s, %02d:00 · %s", row.Name, names[d], h, number)})
		}
		row.Days = append(row.Days, numbers)
	}
	return row
}
