package workloads

import (
	"math"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// shortFrom is the number from which tokens are said in millions.
const shortFrom = 1e6

// consumersListed is how many keys and persons the page lists; the REST API lists more.
const consumersListed = 50

// workloadTraffic answers: who calls it how often, how quick are the answers, and what do tokens cost.
func (w *Pages) workloadTraffic(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	span := traffic.SpanOf(k.Get("range"))
	f, err := w.Traffic.Of(k.Ctx, k.Actor, s.ID, span)
	if err != nil {
		return page.View{}, err
	}
	var names []string
	for _, one := range traffic.Spans() {
		names = append(names, one.Name)
	}
	path := page.WorkloadPath(s.ID) + "/traffic"
	m := trafficModel(k.Words, s.Workload, f)
	v := w.workloadView(k, s, workloadview.Calls, workloadview.PageModel{Traffic: workloadview.TrafficTabModel{
		Ranges: ranges(k, path, names, span.Name), Stream: page.StreamModel(k, path), Traffic: m}})
	v.Paused = page.Paused(k)
	v.Parts = append(v.Parts, page.Part{ID: m.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
		if next, err := w.Traffic.Of(k.Ctx, k.Actor, s.ID, span); err == nil { // else what was read last stays
			f = next
		}
		return workloadview.Traffic(trafficModel(say, s.Workload, f))
	}})
	return v, nil
}

func trafficModel(say page.Words, item workload.Workload, f traffic.Figures) workloadview.TrafficModel {
	m := workloadview.TrafficModel{ID: "workload-traffic", None: f.Total.Requests == 0, Try: page.TryPath(item.ID),
		More: f.More || len(f.Consumers) > consumersListed}
	if !m.None {
		m.Tiles = trafficTiles(say, f)
	}
	if f.Total.WithoutUsage > 0 {
		m.WithoutUsage = say.Number(float64(f.Total.WithoutUsage))
	}
	for i := range f.Consumers[:min(len(f.Consumers), consumersListed)] {
		m.Consumers = append(m.Consumers, consumerModel(say, &f.Consumers[i]))
	}
	for i := range f.Revisions {
		r := takenModel(say, &f.Revisions[i].Counts)
		r.Name = say.S("traffic.revision", "Number", f.Revisions[i].Number)
		m.Revisions = append(m.Revisions, r)
	}
	lines := trafficLines(say, f)
	m.Table = workloadview.TableModel{Title: say.S("workload.metrics.as_table")}
	var shown []trafficLine
	for _, l := range lines {
		if l.calls && m.None || !l.known() {
			continue
		}
		shown = append(shown, l)
		chart := trafficChart(say, f, l)
		if l.name == "errors" && f.Total.ServerErrors > 0 { // the tile has those alone
			chart.Note = strings.Join(errorShares(say, &f.Total), ", ")
		}
		m.Charts = append(m.Charts, chart)
		m.Table.Heads = append(m.Table.Heads, l.title)
	}
	for i := len(f.Points) - 1; i >= 0 && len(shown) > 0; i-- {
		row := workloadview.TableRowModel{Time: clockWords(say, gpuSpan(f.Span), f.Points[i].At)}
		for _, l := range shown {
			row.Values = append(row.Values, l.said(say, i))
		}
		m.Table.Rows = append(m.Table.Rows, row)
	}
	return m
}

func consumerModel(say page.Words, c *traffic.Consumer) workloadview.TakenModel {
	m := takenModel(say, &c.Counts)
	m.Name, m.Icon, m.Detail = page.OrElse(c.Name, say.S("traffic.unknown_consumer")), "user", say.S("traffic.in_browser")
	if c.Key != "" {
		m.Icon, m.Detail = "key", endpointkey.Prefix+c.Key
		if c.Revoked {
			m.Detail = say.S("traffic.revoked", "Key", m.Detail)
		}
	}
	return m
}

func takenModel(say page.Words, c *traffic.Counts) workloadview.TakenModel {
	m := workloadview.TakenModel{Requests: say.Number(float64(c.Requests)), Errors: say.Number(float64(c.Errors())),
		Shares: errorShares(say, c), Tokens: say.Number(float64(c.Tokens())), First: "–"}
	if p50 := c.First.Seconds(.5); p50.Known {
		m.First, m.FirstP95 = secondsWords(say, p50.Is), secondsWords(say, c.First.Seconds(.95).Is)
	}
	return m
}

// errorShares are the errors by whose they are.
func errorShares(say page.Words, c *traffic.Counts) (words []string) {
	for _, one := range []struct {
		key string
		n   int64
	}{{"traffic.errors_server", c.ServerErrors}, {"traffic.errors_client", c.ClientErrors},
		{"traffic.errors_refused", c.Refused}} {
		if one.n > 0 {
			words = append(words, say.S(one.key, "Count", one.n, "Number", say.Number(float64(one.n))))
		}
	}
	return words
}

func trafficTiles(say page.Words, f traffic.Figures) []ui.TileModel {
	c := &f.Total
	perSecond := float64(c.Requests) / f.Until.Sub(f.Since).Seconds()
	requests := ui.TileModel{Label: say.S("traffic.requests"), Value: say.Number(float64(c.Requests)),
		Detail: say.S("traffic.per_second", "Number", figure(say, perSecond)), Test: "traffic-requests"}
	if perMinute(f) { // as in the chart
		requests.Detail = say.S("traffic.per_minute", "Number", figure(say, 60*perSecond))
	}
	failed := ui.TileModel{Label: say.S("traffic.errors"), Value: percentWords(say, c.ErrorShare().Is),
		Test: "traffic-errors"}
	shares := errorShares(say, c)
	failed.Detail = strings.Join(shares, ", ")
	if c.ServerErrors > 0 { // they come first; the chart tells the others
		failed.Kind = ui.Warning
		if len(shares) > 1 {
			others := c.Errors() - c.ServerErrors
			failed.Detail = say.S("traffic.errors_of", "Server", shares[0], "Count", others, "Number",
				say.Number(float64(others)))
		}
	}
	first := ui.TileModel{Label: say.S("traffic.first"), Value: "–", Test: "traffic-first"}
	if p50 := c.First.Seconds(.5); p50.Known {
		first.Value = secondsWords(say, p50.Is)
		first.Detail = say.S("traffic.first_p95", "Time", secondsWords(say, c.First.Seconds(.95).Is))
	}
	tokens := ui.TileModel{Label: say.S("traffic.tokens"), Value: say.ShortNumber(float64(c.Tokens())),
		Test: "traffic-tokens", Detail: say.S("traffic.tokens_of", "Prompt", say.Number(float64(c.Prompt)), "Completion",
			say.Number(float64(c.Completion)))}
	if all := float64(c.Tokens()); all >= shortFrom { // rounded, the parts would not add up
		tokens.Detail = say.S("traffic.tokens_of", "Prompt", say.Percent(math.Round(100*float64(c.Prompt)/all)), "Completion",
			say.Percent(100-math.Round(100*float64(c.Prompt)/all)))
	}
	cost := ui.TileModel{Label: say.S("traffic.cost"), Value: "–", Detail: say.S("traffic.no_tokens"),
		Test: "traffic-cost"}
	if per, ok := c.PerMillion(f.Cost); ok {
		cost.Value, cost.Detail = say.Money(per), say.S("traffic.cost_of", "Cost", say.Money(f.Cost))
	}
	return []ui.TileModel{requests, failed, first, tokens, cost}
}

// trafficLine is one figure over time.
type trafficLine struct {
	name   string
	title  string
	unit   string
	top    float64 // of the scale; 0 for one that fits
	calls  bool    // of calls, not of the replicas
	values []float64
	of     []float64 // how many there should have been; nil where that says nothing
	words  func(say page.Words, v float64) string
}

// said is a point in words.
func (l trafficLine) said(say page.Words, i int) string {
	words := l.words(say, l.values[i])
	if l.of == nil || math.IsNaN(l.values[i]) {
		return words
	}
	return say.S("replicas.ready", "Ready", words, "Wanted", l.words(say, l.of[i]))
}

func (l trafficLine) known() bool {
	for _, v := range l.values {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}

func trafficLines(say page.Words, f traffic.Figures) []trafficLine {
	values := func(of func(traffic.Point) traffic.Value, times float64) []float64 {
		list := make([]float64, len(f.Points))
		for i, p := range f.Points {
			list[i] = math.NaN()
			if v := of(p); v.Known {
				list[i] = times * v.Is
			}
		}
		return list
	}
	requests := func(p traffic.Point) traffic.Value { return p.Requests }
	rate := trafficLine{name: "requests", title: say.S("traffic.chart_per_second"), calls: true,
		values: values(requests, 1), unit: "/s", words: figureIn("/s")}
	if perMinute(f) {
		rate.title, rate.values = say.S("traffic.chart_per_minute"), values(requests, 60)
		rate.unit, rate.words = "/min", figureIn("/min")
	}
	first := func(name string, of func(traffic.Point) traffic.Value) trafficLine {
		l := trafficLine{name: name, title: say.S("traffic.chart_" + name), unit: "s", calls: true, values: values(of, 1),
			words: func(say page.Words, v float64) string {
				return orDash(v, func() string { return secondsWords(say, v) })
			}}
		if largest(l.values) < 1 {
			l.unit, l.values = "ms", values(of, 1000)
			l.words = func(say page.Words, v float64) string {
				return orDash(v, func() string { return secondsWords(say, v/1000) })
			}
		}
		return l
	}
	wanted := values(func(p traffic.Point) traffic.Value { return p.Wanted }, 1)
	return []trafficLine{rate,
		{name: "errors", title: say.S("traffic.chart_errors"), unit: "%", calls: true,
			values: values(func(p traffic.Point) traffic.Value { return p.Errors }, 1),
			words: func(say page.Words, v float64) string {
				return orDash(v, func() string { return percentWords(say, v) })
			}},
		first("p50", func(p traffic.Point) traffic.Value { return p.FirstP50 }),
		first("p95", func(p traffic.Point) traffic.Value { return p.FirstP95 }),
		{name: "tokens", title: say.S("traffic.chart_tokens"), calls: true, unit: "/s", words: figureIn("/s"),
			values: values(func(p traffic.Point) traffic.Value { return p.Tokens }, 1)},
		{name: "queue", title: say.S("traffic.chart_queue"), words: figureOr,
			values: values(func(p traffic.Point) traffic.Value { return p.Queue }, 1)},
		{name: "ready", title: say.S("traffic.chart_ready"), words: figureOr, of: wanted,
			top:    4 * math.Ceil(largest(wanted)/4), // so that there are whole replicas beside the scale
			values: values(func(p traffic.Point) traffic.Value { return p.Ready }, 1)},
	}
}

// perMinute reports whether calls are told by the minute: there was never one a second.
func perMinute(f traffic.Figures) bool {
	for _, p := range f.Points {
		if p.Requests.Known && p.Requests.Is >= 1 {
			return false
		}
	}
	return true
}

func largest(values []float64) (most float64) {
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	return most
}

func trafficChart(say page.Words, f traffic.Figures, l trafficLine) workloadview.ChartModel {
	newest := 0
	for i, v := range l.values {
		if !math.IsNaN(v) {
			newest = i
		}
	}
	from, values := wholeSpan(f, l.values)
	ends := []gpumetrics.Point{{At: from}, {At: from.Add(f.Span.Long)}}
	return workloadview.ChartModel{Test: "chart-" + l.name, Title: l.title, Line: ui.ChartModel{Label: l.title,
		Before: say.S("workload.metrics.last"), Value: l.said(say, newest), Values: values, From: from,
		Step: f.Span.Step, Top: l.top, Unit: l.unit, Times: timesOf(say, gpuSpan(f.Span), ends)}}
}

// wholeSpan are values over all of a span, unknown at its ends, so that the times under a chart are round: 12:00, 18:00
// and not 12:15, 18:07.
func wholeSpan(f traffic.Figures, values []float64) (from time.Time, whole []float64) {
	from = f.Points[0].At.Add(-f.Span.Step)
	whole = append(append(make([]float64, 0, len(values)+2), math.NaN()), values...)
	for len(whole) < int(f.Span.Long/f.Span.Step)+1 {
		whole = append(whole, math.NaN())
	}
	return from, whole
}

// gpuSpan is the span by which times are written.
func gpuSpan(s traffic.Span) gpumetrics.Span {
	return gpumetrics.Span{Name: s.Name, Long: s.Long, Step: s.Step}
}

// figure has as many digits as say something.
func figure(say page.Words, v float64) string {
	digits := 0
	for ; digits < 2 && math.Abs(v) < 100 && v*math.Pow10(digits) != math.Trunc(v*math.Pow10(digits)); digits++ {
	}
	return ui.Number(say.Localizer, v, digits)
}

func figureOr(say page.Words, v float64) string {
	return orDash(v, func() string { return figure(say, v) })
}

func figureIn(unit string) func(page.Words, float64) string {
	return func(say page.Words, v float64) string {
		return orDash(v, func() string { return ui.InUnit(say.Localizer, figure(say, v), unit) })
	}
}

// orDash is what is known, in words.
func orDash(v float64, words func() string) string {
	if math.IsNaN(v) {
		return "–"
	}
	return words()
}

func percentWords(say page.Words, v float64) string {
	return ui.InUnit(say.Localizer, figure(say, v), "%")
}

// secondsWords are milliseconds below a second.
func secondsWords(say page.Words, v float64) string {
	if v < 1 {
		return ui.InUnit(say.Localizer, ui.Number(say.Localizer, math.Round(1000*v), 0), "ms")
	}
	return ui.InUnit(say.Localizer, figure(say, math.Round(10*v)/10), "s")
}
