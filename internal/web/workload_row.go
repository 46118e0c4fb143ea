package web

import (
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// stateKinds gives each state its colour and icon; the word is "state.<state>".
var stateKinds = map[workload.State]ui.Kind{
	workload.Queued: ui.Waiting, workload.Starting: ui.Progress, workload.Running: ui.OK, workload.Stopping: ui.Progress,
	workload.Stopped: ui.Off, workload.Failed: ui.Danger, workload.Ended: ui.Off,
}

func stateWord(s workload.State) i18n.Text { return i18n.T("state." + string(s)) }

func stateModel(say words, w workload.Workload) ui.StateModel {
	return ui.StateModel{Kind: stateKinds[w.State], Word: say.Say(stateWord(w.State)), Detail: say.say(w.Reason),
		Test: "state"}
}

func workloadPath(id workload.ID) string { return "/workloads/" + string(id) }

// workloadRow is the line of a workload in a list.
func (w *Web) workloadRow(k call, item workload.Workload, cost usage.Money) workloadview.RowModel {
	say := k.words
	row := workloadview.RowModel{
		Row: ui.RowModel{ID: "w-" + slug(string(item.ID)), Kind: rowKind(item), Test: "workload-row",
			Attrs: map[string]any{"data-name": item.Name}},
		Name: ui.StackModel{Title: item.Name, Href: workloadPath(item.ID), Detail: w.rowDetail(k, item),
			Icon: string(item.Kind)},
		State: stateModel(say, item),
		Size:  sizeModel(say, item.Size),
		Use:   w.useModel(k, item),
		Lease: leaseModel(say, item),
		Cost:  say.money(cost), Price: say.moneyPerHour(item.Size.PricePerHour),
	}
	row.Forecast, row.Actions = brief(w.outlook(k, item)), w.rowActions(k, item)
	return row
}

func rowKind(w workload.Workload) ui.Kind {
	switch {
	case w.State == workload.Failed:
		return ui.Danger
	case w.Ending():
		return ui.Warning
	}
	return ""
}

func (w *Web) rowDetail(k call, item workload.Workload) string {
	detail := k.words.Say(i18n.T("kind."+string(item.Kind))) + " · " + item.Image.Title
	if item.Owner != k.actor.Person.ID {
		detail += " · " + item.OwnerName
	}
	return detail
}

// rowActions are Open first, and otherwise the way to the page.
func (w *Web) rowActions(k call, item workload.Workload) []ui.ActionModel {
	if open := w.openButton(k, item); open != nil {
		return []ui.ActionModel{{Link: open}}
	}
	if item.CanStart() && identity.Can(k.actor, identity.ChangeWorkload, item.Resource()) &&
		!item.Lease.Over(k.words.now) {
		return []ui.ActionModel{{Post: &ui.PostButtonModel{Action: workloadPath(item.ID) + "/start", Button: ui.ButtonModel{
			Label: k.words.S("workload.resume"), Icon: "play", Test: "resume", Small: true}}}}
	}
	return []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.words.S("workload.details"), Href: workloadPath(item.ID),
		Small: true, Test: "details"}}}
}

// openButton is nil when there is nothing to open, or this person may not.
func (w *Web) openButton(k call, item workload.Workload) *ui.LinkButtonModel {
	address := w.appURL(item.Name)
	if !item.CanOpen() || address == "" || !identity.Can(k.actor, identity.OpenWorkload, item.Resource()) {
		return nil
	}
	return &ui.LinkButtonModel{Label: k.words.S("workload.open"), Href: openAddress(address, item.Image.OpenPath),
		Icon: "external", Small: true, Test: "open"}
}

func openAddress(base, path string) string {
	if path == "" || path[0] != '/' {
		return base
	}
	for len(base) > 0 && base[len(base)-1] == '/' {
		base = base[:len(base)-1]
	}
	return base + path
}

func useID(id workload.ID) string { return "use-" + slug(string(id)) }

// useModel is the GPU use of the last hour. Where nothing is known the words say so; a line is never drawn at zero for
// want of a value.
func (w *Web) useModel(k call, item workload.Workload) workloadview.UseModel {
	m := workloadview.UseModel{ID: useID(item.ID)}
	switch {
	case item.Size.Devices() == 0:
		m.Words = k.words.S("web.no_gpu")
		return m
	case item.Observed.Pod == "" || item.State != workload.Running:
		m.Words = "–"
		return m
	}
	points := w.Metrics.History(k.ctx, item.Cluster, item.Namespace, item.Observed.Pod)
	now := engine(w.Metrics.Live(item.Cluster, item.Namespace, item.Observed.Pod))
	m.Spark = sparkline(k.words, points, now)
	if !now.Known() && !anyKnown(points) {
		m.Words = k.words.S("web.use_unknown")
	}
	return m
}

// engine is the use of all devices of a pod: the mean of those that are known.
func engine(l gpumetrics.Live) gpumetrics.Reading {
	var mean gpumetrics.Reading
	n := 0.0
	for _, d := range l.Devices {
		if d.Engine.Known() {
			n++
			mean.Value += d.Engine.Value
			mean.At, mean.Unit, mean.Source = d.Engine.At, d.Engine.Unit, max(mean.Source, d.Engine.Source)
		}
	}
	if n > 0 {
		mean.Value /= n
	}
	return mean
}

func anyKnown(points []gpumetrics.Point) bool {
	for _, p := range points {
		if p.Known {
			return true
		}
	}
	return false
}

func sparkline(say words, points []gpumetrics.Point, now gpumetrics.Reading) ui.SparklineModel {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.Value
		if !p.Known {
			values[i] = math.NaN()
		}
	}
	return ui.SparklineModel{Label: say.S("web.use_last_hour"), Value: say.reading(now, "%"), Values: values, Max: 100}
}

// leaseModel is a bar of what is left, with the words over it.
func leaseModel(say words, w workload.Workload) workloadview.LeaseModel {
	whole := w.Lease.Until.Sub(w.Lease.From)
	switch {
	case w.State == workload.Ended || w.Desired == workload.WantDeleted || w.Lease.Until.IsZero():
		return workloadview.LeaseModel{Words: "–"}
	case w.Lease.Over(say.now):
		return workloadview.LeaseModel{Words: say.S("web.lease_over")}
	case w.PlacedAt.IsZero() && w.Desired == workload.WantRunning:
		return workloadview.LeaseModel{Words: say.S("web.lease_later", "Duration", say.duration(whole))}
	}
	left, ends := say.left(w.Lease.Until), say.at(w.Lease.Until)
	fill := ui.FillUsed
	if w.Ending() {
		fill = ui.FillWarning
	}
	return workloadview.LeaseModel{Left: &left, Ends: &ends, Bar: ui.MeterModel{
		Label: say.S("web.lease_left"), Value: left.Words, Bare: true,
		Segments: []ui.SegmentModel{{Fill: fill, Share: ratio(w.Lease.Left(say.now), whole)}},
	}}
}

func ratio(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
