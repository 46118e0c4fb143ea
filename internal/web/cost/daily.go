package cost

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// dailyCharts draw what each day cost, one for each currency, and say what the month will come to.
func (w *Pages) dailyCharts(k page.Call, c usageChoice, s usage.Statement) (charts []ui.ColumnsModel,
	expected []usage.Money, _ error) {
	total := s.Total()
	for _, sum := range total.Cost {
		if sum.Minor <= 0 {
			continue
		}
		days, err := w.Usage.Daily(k.Ctx, k.Actor, c.scope, s, c.by, sum.Currency)
		if err != nil {
			return nil, nil, err
		}
		chart := w.dailyChart(k.Words, c, s, sum, days)
		chart.Said = len(total.Cost) == 1 // the first tile is this sum
		charts = append(charts, chart)
		if m, ok := s.Expected(days); ok {
			expected = append(expected, m)
		}
	}
	return charts, expected, nil
}

func (w *Pages) dailyChart(say page.Words, c usageChoice, s usage.Statement, sum usage.Money,
	days []usage.DailyCost) ui.ColumnsModel {
	m := ui.ColumnsModel{ID: "daily-" + sum.Currency, Label: say.S("usage.daily"), Value: say.Money(sum),
		What: say.S("usage.day"), Layers: say.S("usage.by_" + c.by)}
	m.Sign, m.Unit = say.CurrencyMarks(sum.Currency)
	layers := dailyLayers(s, c.by, sum.Currency)
	for _, l := range layers {
		series := ui.SeriesModel{Name: say.S("usage.others", "Count", l.groups), Value: say.Money(l.sum), Rest: l.groups > 1,
			Share: say.Share(float64(l.sum.Minor) / float64(sum.Minor))}
		if series.Rest {
			series.Href = "#usage"
		} else {
			series.Name = w.groupTitle(say, c.by, l.lead)
		}
		m.Series = append(m.Series, series)
	}
	for _, day := range days {
		m.Columns = append(m.Columns, dailyColumn(say, layers, day, sum.Currency, w.Usage.Zone))
	}
	blocks.MonthColumns(&m, say, s.Ahead(), w.Usage.Zone)
	return m
}

// layer is a series of the chart: a group, or all that are too small to have a colour of their own.
type layer struct {
	lead   usage.Sum
	groups int
	sum    usage.Money
	rest   map[string]bool // keys of the groups of the last one; nil for a group of its own
}

// dailyLayers are the dearest groups in a currency, dearest first, and the rest of them.
func dailyLayers(s usage.Statement, by, currency string) (layers []layer) {
	groups := s.Grouped(by)
	layers = make([]layer, 0, len(groups))
	for _, g := range groups {
		i := slices.IndexFunc(g.Cost, func(m usage.Money) bool { return m.Currency == currency && m.Minor != 0 })
		if i >= 0 {
			layers = append(layers, layer{lead: g, groups: 1, sum: g.Cost[i]})
		}
	}
	slices.SortStableFunc(layers, func(a, b layer) int { return cmp.Compare(b.sum.Minor, a.sum.Minor) })
	const own = ui.MaxSeries - 1
	few := len(layers) < ui.MaxSeries
	if few {
		return layers
	}
	rest := layer{rest: make(map[string]bool, len(layers)-own)}
	for _, l := range layers[own:] {
		rest.groups++
		rest.sum = rest.sum.Add(l.sum)
		rest.rest[l.lead.Key] = true
	}
	if rest.groups == 1 {
		rest.lead = layers[own].lead
	}
	return append(layers[:own:own], rest)
}

// of is what a day cost in a layer.
func (l layer) of(day usage.DailyCost, currency string) usage.Money {
	sum := usage.Money{Currency: currency}
	if l.rest == nil {
		return sum.Add(day.Cost[l.lead.Key])
	}
	for key, m := range day.Cost { // few of thousands of groups cost anything on one day
		if l.rest[key] {
			sum = sum.Add(m)
		}
	}
	return sum
}

func dailyColumn(say page.Words, layers []layer, day usage.DailyCost, currency string,
	zone *time.Location) ui.ColumnBarModel {
	c, sum := ui.ColumnBarModel{Name: say.Day(day.Day.From, zone)}, usage.Money{Currency: currency}
	for _, l := range layers {
		of := l.of(day, currency)
		c.Values, c.Words = append(c.Values, of.Float()), append(c.Words, say.Money(of))
		sum = sum.Add(of)
	}
	c.Total = say.Money(sum)
	return c
}
