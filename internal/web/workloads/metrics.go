package workloads

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// firstAnswer is how long a page waits for a history that nobody has asked for yet. After that it says that it is being
// read, and fills itself.
const firstAnswer = 2 * time.Second

// workloadMetrics answers: how hard has it worked, and did anything slow it down.
func (w *Pages) workloadMetrics(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	ctx, stop := context.WithTimeout(k.Ctx, firstAnswer)
	defer stop()
	span := gpumetrics.SpanOf(k.Get("range"))
	m := w.metricsModel(ctx, k, s.Workload, span)
	v := w.workloadView(k, s, workloadview.Metrics,
		workloadview.PageModel{Metrics: workloadview.MetricsTabModel{Ranges: rangeTabs(k, s.ID, span),
			Stream: page.StreamModel(k, page.WorkloadPath(s.ID)+"/metrics"), Charts: m}})
	v.Paused = page.Paused(k)
	v.Parts = append(v.Parts, page.Part{ID: m.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
		k.Words = say
		gone, stop := context.WithCancel(context.Background())
		stop() // a stream waits for nobody: it draws what is there
		return workloadview.Charts(w.metricsModel(gone, k, s.Workload, span))
	}})
	return v, nil
}

func rangeTabs(k page.Call, id workload.ID, current gpumetrics.Span) ui.TabsModel {
	var names []string
	for _, s := range gpumetrics.Spans() {
		names = append(names, s.Name)
	}
	return ranges(k, page.WorkloadPath(id)+"/metrics", names, current.Name)
}

// ranges are links to the same page with another range.
func ranges(k page.Call, path string, names []string, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("workload.metrics.range")}
	for _, name := range names {
		q := page.Cloned(k.Query)
		q.Del("id")
		q.Set("range", name)
		m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("workload.metrics.range_" + name),
			Href: page.WithQuery(path, q), Current: name == current, Test: "range-" + name})
	}
	return m
}

// podOf is the pod whose history is that of the workload, also while it is stopped. Those of an endpoint come and go.
func podOf(item workload.Workload) string {
	if item.Kind == catalog.Endpoint {
		return gpumetrics.PodsOf(item.PodsName())
	}
	return cmp.Or(item.Observed.Pod, item.Name+"-0")
}

func (w *Pages) metricsModel(ctx context.Context, k page.Call, item workload.Workload,
	span gpumetrics.Span) workloadview.ChartsModel {
	say := k.Words
	m := workloadview.ChartsModel{ID: "workload-metrics"}
	r, err := w.history(ctx, item, span)
	switch {
	case gpumetrics.Waiting(err):
		m.Words = say.S("workload.metrics.reading")
		return m
	case err != nil:
		m.Words = say.S("workload.metrics.unknown")
		return m
	}
	m.NoGPU = item.Size.Devices() == 0
	r = r.Since(item.CreatedAt.Truncate(span.Step)) // names are free again when a workload is gone
	r.Devices = min(r.Devices, item.Size.Devices()) // it may have had others before
	age := say.Age("Prometheus", r.At, page.HistoryEvery)
	m.Age = &age
	if age.Old {
		m.Since = say.S("workload.metrics.since", "Time", say.At(r.At).Exact)
	}
	if item.Size.SharesDevice() {
		m.Note = say.S("workload.metrics.shared")
	}
	for _, l := range r.Lines {
		if chart, ok := chartOf(say, r, l, item.Size); ok {
			m.Charts = append(m.Charts, chart)
		}
	}
	m.Slow, m.Errors = slowdowns(say, r), errorCodes(say, r)
	m.Table = historyTable(say, r)
	if len(m.Table.Rows) == 0 {
		m.Words = say.S("workload.metrics.nothing")
	}
	if len(m.Table.Rows) == 0 && m.NoGPU {
		m.Words, m.Charts = say.S("workload.metrics.no_gpu"), nil
	}
	return m
}

// history is what the devices of a workload did, with the CPU and the network of its pods where those are known.
func (w *Pages) history(ctx context.Context, item workload.Workload, span gpumetrics.Span) (gpumetrics.Ranges, error) {
	var r gpumetrics.Ranges
	if item.Size.Devices() > 0 {
		var err error
		if r, err = w.Metrics.Ranges(ctx, item.Cluster, item.Namespace, podOf(item), span); err != nil {
			return r, err
		}
	}
	pods, err := w.Metrics.PodRanges(ctx, item.Cluster, item.Namespace, podOf(item), span)
	if item.Size.Devices() == 0 {
		return pods, err
	}
	if slices.ContainsFunc(pods.Lines, gpumetrics.Line.Known) {
		r = r.With(pods)
	}
	return r, nil
}

// scaleOf is the top of a chart that has one, 0 for the others, and what it is.
func scaleOf(say page.Words, l gpumetrics.Line, size catalog.Size) (top float64, what string) {
	switch l.Name {
	case "engine", "tensor":
		return 100, ""
	case "memory":
		if all := size.Accelerator.MemoryGiB * float64(size.Devices()); all > 0 {
			return all, say.S("workload.metrics.memory_top", "Total", say.GiB(all))
		}
	case gpumetrics.CPULine:
		if q, err := resource.ParseQuantity(size.CPU); err == nil && q.Sign() > 0 {
			all := q.AsApproximateFloat64()
			return all, say.S("workload.metrics.memory_top", "Total", say.S("idle.cores", "N", say.Number(all)))
		}
	}
	return 0, ""
}

// hourChart is the GPU use of the last hour.
func hourChart(say page.Words, points []gpumetrics.Point, now gpumetrics.Reading) *ui.ChartModel {
	line := blocks.Sparkline(say, points, now)
	m := &ui.ChartModel{Label: line.Label, Value: line.Value, Values: line.Values, Top: line.Max,
		Unit: string(gpumetrics.Percent), From: points[0].At, Times: timesOf(say, gpumetrics.SpanOf("1h"), points)}
	if len(points) > 1 {
		m.Step = points[1].At.Sub(points[0].At)
	}
	return m
}

// timesShown is how many times stand under a chart.
const timesShown = 5

// timesOf are evenly spaced: of the day, and over several days the days.
func timesOf(say page.Words, s gpumetrics.Span, points []gpumetrics.Point) []ui.TimeModel {
	times := make([]ui.TimeModel, timesShown)
	first, last := points[0].At, points[len(points)-1].At
	for i := range times {
		at := first.Add(last.Sub(first) * time.Duration(i) / (timesShown - 1))
		times[i] = say.At(at) // a day needs no date: its hours tell themselves apart
		times[i].Words, times[i].Mode = ui.Clock(at, time.UTC)+" UTC", ui.TimeOfDay
		if s.Long > 24*time.Hour {
			times[i] = ui.TimeModel{Words: say.Day(at, time.UTC)}
		}
	}
	return times
}

// chartOf draws a line; what was never measured has none, and is said to be unknown.
func chartOf(say page.Words, r gpumetrics.Ranges, l gpumetrics.Line,
	size catalog.Size) (workloadview.ChartModel, bool) {
	if l.Name == "throttle" || l.Name == "xid" { // no amounts: they are told in words
		return workloadview.ChartModel{}, false
	}
	c := workloadview.ChartModel{Test: "chart-" + l.Name, Title: say.S("workload." + l.Name)}
	if !l.Known() {
		c.None = say.S("workload.metrics.never")
		return c, true
	}
	values, last := make([]float64, len(l.Points)), gpumetrics.Point{}
	for i, p := range l.Points {
		values[i] = math.NaN()
		if p.Known {
			values[i], last = inUnit(l, p.Value), p
		}
	}
	c.Line = ui.ChartModel{Label: c.Title, Before: say.S("workload.metrics.last"), Value: pointWords(say, l, last),
		Values: values, From: l.Points[0].At, Step: r.Span.Step, Unit: unitOf(l), Times: timesOf(say, r.Span, l.Points)}
	c.Line.Top, c.Line.TopWords = scaleOf(say, l, size)
	if mean, peak, ok := meanAndPeak(l.Points); ok {
		c.Line.Over = say.S("workload.metrics.over", "Mean", shortWords(say, l, mean), "Peak", shortWords(say, l, peak))
	}
	if end := l.Points[len(l.Points)-1].At; end.Sub(last.At) > 4*r.Span.Step && end.Sub(last.At) > 5*time.Minute {
		c.Line.Before = ""
		c.Line.Value = say.S("workload.metrics.unknown_since", "Time", clockWords(say, r.Span, last.At))
	}
	if id := manyWords[l.Name]; r.Devices > 1 && id != "" {
		c.Note = say.S("workload.metrics."+id, "Count", r.Devices)
	}
	if (l.Name == "power" || l.Name == "temperature") && partOfCard(size) {
		c.Line.Of = say.S("workload.metrics.whole_card")
	}
	return c, true
}

// meanAndPeak are the mean and the largest of the points that are known; false for fewer than two.
func meanAndPeak(points []gpumetrics.Point) (mean, peak gpumetrics.Point, ok bool) {
	n := 0
	for _, p := range points {
		if !p.Known {
			continue
		}
		if n++; n == 1 || p.Value > peak.Value {
			peak = p
		}
		mean.Value += p.Value
	}
	if n < 2 {
		return gpumetrics.Point{}, gpumetrics.Point{}, false
	}
	mean.Known, mean.Value = true, mean.Value/float64(n)
	return mean, peak, true
}

// partOfCard reports whether a size is a slice or a share of a card. NVML and DCGM measure power and temperature of the
// card alone, whatever it is cut into.
func partOfCard(size catalog.Size) bool { return size.Accelerator.Profile != "" || size.SharesDevice() }

// manyWords say how the values of several devices became one.
var manyWords = map[string]string{"engine": "mean_of", "tensor": "mean_of", "memory": "sum_of", "power": "sum_of",
	"temperature": "largest_of"}

func inUnit(l gpumetrics.Line, v float64) float64 {
	switch l.Unit {
	case gpumetrics.MiB:
		return v / 1024
	case gpumetrics.BytesPerSecond:
		per, _ := throughput(l)
		return v / per
	}
	return v
}

func unitOf(l gpumetrics.Line) string {
	switch l.Unit {
	case gpumetrics.MiB:
		return "GiB"
	case gpumetrics.Cores: // the number says it
		return ""
	case gpumetrics.BytesPerSecond:
		_, unit := throughput(l)
		return unit
	}
	return string(l.Unit)
}

// throughput is the unit in which the largest value of a line reads best, and how many bytes a second it is.
func throughput(l gpumetrics.Line) (float64, string) {
	most := 0.0
	for _, p := range l.Points {
		most = max(most, p.Value)
	}
	switch {
	case most >= 1e9:
		return 1e9, "GB/s"
	case most >= 1e6:
		return 1e6, "MB/s"
	}
	return 1e3, "kB/s"
}

func pointWords(say page.Words, l gpumetrics.Line, p gpumetrics.Point) string {
	switch {
	case !p.Known:
		return say.S("web.unknown")
	case l.Unit == gpumetrics.Cores:
		return say.S("idle.cores", "N", ui.Number(say.Localizer, p.Value, 2))
	case l.Unit == gpumetrics.BytesPerSecond:
		per, unit := throughput(l)
		return ui.Number(say.Localizer, p.Value/per, 1) + " " + unit
	}
	return say.Amount(gpumetrics.Reading{Value: p.Value, Unit: l.Unit, Source: gpumetrics.Measured})
}

// shortWords are those of a point beside another that says what is counted.
func shortWords(say page.Words, l gpumetrics.Line, p gpumetrics.Point) string {
	if l.Unit == gpumetrics.Cores {
		return ui.Number(say.Localizer, p.Value, 2)
	}
	return pointWords(say, l, p)
}

// clockWords is the time of day, and where a span is of several days, the day.
func clockWords(say page.Words, s gpumetrics.Span, at time.Time) string {
	if s.Long <= 24*time.Hour {
		return ui.Clock(at, time.UTC) + " UTC"
	}
	return say.At(at).Exact
}

// period is a time in which something was so.
type period struct {
	from, until time.Time
	value       float64
}

// stretches joins points of the same value; those that are nothing and those in a gap are left out.
func stretches(l gpumetrics.Line, none func(float64) bool) []period {
	var out []period
	open := false
	for _, p := range l.Points {
		switch {
		case !p.Known || none(p.Value):
			open = false
			continue
		case open && out[len(out)-1].value == p.Value:
			out[len(out)-1].until = p.At
		default:
			out = append(out, period{p.At, p.At, p.Value})
		}
		open = true
	}
	return out
}

// mostStretches keeps a card that flickers from filling the page: the newest count.
const mostStretches = 20

func stretchModels(say page.Words, r gpumetrics.Ranges, all []period,
	words func(float64) string) []workloadview.StretchModel {
	var out []workloadview.StretchModel
	for _, s := range slices.Backward(all) {
		if len(out) == mostStretches {
			break
		}
		out = append(out, workloadview.StretchModel{From: clockWords(say, r.Span, s.from),
			Until: clockWords(say, r.Span, s.until), What: words(s.value)})
	}
	return out
}

// slowdowns are the times in which a card ran slower than it could, and why.
func slowdowns(say page.Words, r gpumetrics.Ranges) workloadview.StretchesModel {
	l := r.Line("throttle")
	m := workloadview.StretchesModel{Known: l.Known()}
	m.Rows = stretchModels(say, r, stretches(l, func(v float64) bool { return len(gpumetrics.ReasonsOf(v)) == 0 }),
		func(v float64) string {
			var all []string
			for _, reason := range gpumetrics.ReasonsOf(v) {
				all = append(all, say.S("gpumetrics.throttle."+reason.Name))
			}
			return strings.Join(all, " ")
		})
	return m
}

// errorCodes are the XID errors. A series keeps the last one until the driver is loaded again: the first time it is
// seen is when it happened, or longer ago.
func errorCodes(say page.Words, r gpumetrics.Ranges) workloadview.StretchesModel {
	l := r.Line("xid")
	m := workloadview.StretchesModel{Known: l.Known()}
	m.Rows = stretchModels(say, r, stretches(l, func(v float64) bool { return v == 0 }), func(v float64) string {
		return say.S("workload.metrics.xid_words", "Code", int(v), "Class", say.Text(gpumetrics.XIDWords(int(v))))
	})
	return m
}

// historyTable is the same in numbers, newest first. Points of which nothing is known are one row for each gap.
func historyTable(say page.Words, r gpumetrics.Ranges) workloadview.TableModel {
	m := workloadview.TableModel{Title: say.S("workload.metrics.as_table")}
	var lines []gpumetrics.Line
	for _, l := range r.Lines {
		if l.Name != "throttle" && l.Name != "xid" && l.Known() {
			lines = append(lines, l)
			m.Heads = append(m.Heads, say.S("workload."+l.Name))
		}
	}
	if len(lines) == 0 {
		return m
	}
	gap := false
	for i := len(lines[0].Points) - 1; i >= 0; i-- {
		row := workloadview.TableRowModel{Time: clockWords(say, r.Span, lines[0].Points[i].At)}
		known := false
		for _, l := range lines {
			known = known || l.Points[i].Known
			row.Values = append(row.Values, pointWords(say, l, l.Points[i]))
		}
		if known || !gap {
			m.Rows = append(m.Rows, row)
		}
		gap = !known
	}
	return m
}
