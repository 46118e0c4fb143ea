package blocks

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// WorkloadNames are living workloads by id. They belong to all who ask and must not be changed.
type WorkloadNames map[workload.ID]*workload.Workload

// Of is what a workload is called, "" for one that is not among them.
func (n WorkloadNames) Of(id workload.ID) string {
	if w, ok := n[id]; ok {
		return w.Name
	}
	return ""
}

// WorkloadNames are those that the reader may see.
func (w *Blocks) WorkloadNames(k page.Call) (WorkloadNames, error) {
	items, err := w.Workloads.Living(k.Ctx, k.Actor, func(*workload.Workload) bool { return true })
	names := make(WorkloadNames, len(items))
	for _, item := range items {
		names[item.ID] = item
	}
	return names, err
}

// stateKinds gives each state its colour and icon; the word is "state.<state>".
var stateKinds = map[workload.State]ui.Kind{
	workload.Queued: ui.Waiting, workload.Starting: ui.Progress, workload.Running: ui.OK, workload.Stopping: ui.Progress,
	workload.Asleep:  ui.Off,
	workload.Stopped: ui.Off, workload.Failed: ui.Danger, workload.Succeeded: ui.OK, workload.Ended: ui.Off,
}

func stateWord(s workload.State) i18n.Text { return i18n.T("state." + string(s)) }

// StateModel is the state of a workload with its reason.
func StateModel(say page.Words, w workload.Workload) ui.StateModel {
	return ui.StateModel{Kind: stateKinds[w.State], Word: say.Say(stateWord(w.State)), Detail: say.Text(w.Reason)}
}

// FirstSentence is what a row has room for of a reason: what is the case. The rest is what to do about it.
func FirstSentence(reason string) (first, rest string) {
	for _, end := range []string{". ", "。"} {
		if first, rest, more := strings.Cut(reason, end); more {
			return first + strings.TrimSpace(end), rest
		}
	}
	return reason, ""
}

// WorkloadRow is the line of a workload in a list.
func (w *Blocks) WorkloadRow(k page.Call, item workload.Workload, cost usage.Money) workloadview.RowModel {
	say := k.Words
	row := workloadview.RowModel{
		ID: "w-" + page.Slug(string(item.ID)), Kind: rowKind(item),
		Name: ui.StackModel{Title: item.Name, Href: page.WorkloadPath(item.ID), Detail: w.rowDetail(k, item),
			Icon: string(item.Kind)},
		State: StateModel(say, item),
		Size:  SizeModel(say, item.Size),
		Use:   w.UseModel(k, item),
		Lease: LeaseModel(say, item),
		Cost:  say.Money(cost), Price: say.MoneyPerHour(item.Size.PricePerHour),
	}
	if item.State == workload.Queued && cost.Minor == 0 { // as of a request that waits
		row.Cost = "–"
	}
	if item.State == workload.Queued || item.State == workload.Starting || item.State == workload.Failed {
		row.State.Detail, _ = FirstSentence(row.State.Detail) // what to do about it stands on its page
	}
	row.Forecast, row.Open, row.Again = BriefOutlook(w.Outlook(k, item)), w.OpenPath(k, item), w.StartAgain(k, item)
	if item.CanStart() && identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()) &&
		!item.Lease.Over(k.Words.Now) {
		row.Resume = page.WorkloadPath(item.ID) + "/start"
	}
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

func (w *Blocks) rowDetail(k page.Call, item workload.Workload) string {
	if item.Owner != k.Actor.Person.ID { // of somebody else's workload one wants to know whose it is
		return OwnerDetail(k.Words, item)
	}
	return k.Words.Say(i18n.T("kind."+string(item.Kind))) + " · " + k.Words.ImageTitle(item.Image)
}

// OwnerDetail is the line under the name of a workload that says whose it is, first of all.
func OwnerDetail(say page.Words, item workload.Workload) string {
	return item.OwnerName + " · " + say.Say(i18n.T("kind."+string(item.Kind)))
}

// OpenPath is the address at which a workload opens: for what speaks the routes of OpenAI, whose server has no page,
// the tab where it is tried; "" when there is nothing to open, or this person may not.
func (w *Blocks) OpenPath(k page.Call, item workload.Workload) string {
	address := w.AppURL(item.Name)
	if !item.CanOpen() && !item.Asleep() || address == "" ||
		!identity.Can(k.Actor, identity.OpenWorkload, item.ResourceAt(k.Words.Now)) {
		return ""
	}
	if item.Image.SpeaksOpenAI() {
		return page.TryPath(item.ID)
	}
	return OpenAddress(address, item.Image.OpenPath)
}

// OpenAddress is the address of a workload with the path at which its image opens.
func OpenAddress(base, path string) string {
	if path == "" || path[0] != '/' {
		return base
	}
	for len(base) > 0 && base[len(base)-1] == '/' {
		base = base[:len(base)-1]
	}
	return base + path
}

// UseID is the id of the element that shows the GPU use of a workload.
func UseID(id workload.ID) string { return "use-" + page.Slug(string(id)) }

// UseModel is the GPU use of the last hour. Where nothing is known the words say so; a line is never drawn at zero for
// want of a value.
func (w *Blocks) UseModel(k page.Call, item workload.Workload) workloadview.UseModel {
	m := workloadview.UseModel{ID: UseID(item.ID)}
	switch {
	case item.Size.Devices() == 0:
		m.Words = k.Words.S("web.no_gpu")
		return m
	case item.Observed.Pod == "" || item.State != workload.Running:
		m.Words = "–"
		return m
	}
	points := w.Metrics.History(k.Ctx, item.Cluster, item.Namespace, item.Observed.Pod)
	now := MeanEngine(w.Metrics.Live(item.Cluster, item.Namespace, item.Observed.Pod))
	m.Spark = Sparkline(k.Words, points, now)
	if !now.Known() && !AnyKnown(points) {
		m.Words = k.Words.S("web.use_unknown")
	} else if now.Known() && now.Value < 0.5 && !worked(points) {
		m.Spark.Kind = ui.Warning
	}
	return m
}

// MeanEngine is the use of all devices of a pod: the mean of those that are known.
func MeanEngine(l gpumetrics.Live) gpumetrics.Reading {
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

// AnyKnown reports whether at least one point was measured.
func AnyKnown(points []gpumetrics.Point) bool {
	for _, p := range points {
		if p.Known {
			return true
		}
	}
	return false
}

// worked reports whether at least one point was above zero, as a whole number of per cent.
func worked(points []gpumetrics.Point) bool {
	return slices.ContainsFunc(points, func(p gpumetrics.Point) bool { return p.Known && p.Value >= 0.5 })
}

// Sparkline draws the last hour, in per cent; gaps stay gaps.
func Sparkline(say page.Words, points []gpumetrics.Point, now gpumetrics.Reading) ui.SparklineModel {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.Value
		if !p.Known {
			values[i] = math.NaN()
		}
	}
	return ui.SparklineModel{Label: say.S("web.use_last_hour"), Value: say.Reading(now, "%"), Values: values, Max: 100}
}

// LeaseModel is a bar of what is left, with the words over it.
func LeaseModel(say page.Words, w workload.Workload) workloadview.LeaseModel {
	whole := w.Lease.Until.Sub(w.Lease.From)
	switch {
	case w.State == workload.Ended || w.Desired == workload.WantDeleted || w.Lease.Until.IsZero(), w.Over():
		return workloadview.LeaseModel{Words: "–"}
	case w.Lease.Over(say.Now):
		return workloadview.LeaseModel{Words: say.S("web.lease_over")}
	case w.PlacedAt.IsZero() && w.Desired == workload.WantRunning:
		return workloadview.LeaseModel{Words: say.S("web.lease_later", "Duration", say.Duration(whole))}
	}
	left := say.Left(w.Lease.Until)
	if w.State == workload.Failed { // nobody uses what is left
		return workloadview.LeaseModel{Left: &left}
	}
	fill := ui.FillUsed
	if w.Ending() {
		fill = ui.FillWarning
	}
	return workloadview.LeaseModel{Left: &left, Bar: ui.MeterModel{
		Label: say.S("web.lease_left"), Value: left.Words, Bare: true,
		Segments: []ui.SegmentModel{{Fill: fill, Share: ratio(w.Lease.Left(say.Now), whole)}},
	}}
}

func ratio(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
