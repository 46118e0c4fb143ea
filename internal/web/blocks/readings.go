package blocks

import (
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// Readings is what the devices of a workload do now, with what its size says of them: of a shared device nobody can
// tell which part is whose, unless the exporter does.
func (w *Blocks) Readings(item workload.Workload) gpumetrics.Live {
	return w.PodReadings(item, item.Observed.Pod)
}

// PodReadings are those of one of a workload's pods.
func (w *Blocks) PodReadings(item workload.Workload, pod string) gpumetrics.Live {
	now := w.Metrics.Live(item.Cluster, item.Namespace, pod)
	if item.Size.SharesDevice() {
		return now.OnSharedCards()
	}
	return now
}

// SampleTime is when the oldest known engine value was measured; without one, when the source last answered.
func SampleTime(l gpumetrics.Live) time.Time {
	at := l.At
	for _, d := range l.Devices {
		if d.Engine.Known() && d.Engine.At.Before(at) {
			at = d.Engine.At
		}
	}
	return at
}

// DeviceModel is what one device of a workload does.
func DeviceModel(say page.Words, d gpumetrics.Device) workloadview.DeviceModel {
	title := d.Model
	if d.Profile != "" {
		title += " · MIG " + d.Profile
	}
	if d.Node != "" {
		title += " · " + d.Node
	}
	m := workloadview.DeviceModel{Title: title, UUID: d.UUID, Tiles: []ui.TileModel{
		ownTile(say, "engine", d.OwnEngine, d.Engine, gpumetrics.Reading{Value: 100, Unit: gpumetrics.Percent,
			Source: gpumetrics.Measured}),
		ownTile(say, "memory", d.OwnMemory, d.MemoryUsed, d.MemoryTotal),
		powerTile(say, d),
		cardTile(say, "temperature", d),
	}}
	if readings := []gpumetrics.Reading{d.OwnEngine, d.OwnMemory, d.Power, d.Temperature}; oneRest(readings) {
		m.Rests = m.Tiles[0].Rests
		for i := range m.Tiles {
			m.Tiles[i].Rests = nil
		}
	}
	return m
}

// oneRest reports whether all values are known, came about in the same way and at the same time: it is said once then.
func oneRest(readings []gpumetrics.Reading) bool {
	return !slices.ContainsFunc(readings, func(r gpumetrics.Reading) bool {
		return !r.Known() || r.Source != readings[0].Source || !r.At.Equal(readings[0].At)
	})
}

// ownTile is the workload's own part of what the device does. Where that is not all, the whole stands below it: it is
// what the others see as well.
func ownTile(say page.Words, name string, own, whole, most gpumetrics.Reading) ui.TileModel {
	t := readingTile(say, name, own)
	switch {
	case whole.Known() && !same(own, whole):
		t.Detail = say.S("workload.whole_device", "Value", say.Amount(whole))
	case own.Known() && name == "memory" && most.Known() && most.Value > 0:
		t.Detail = say.S("workload.memory_of", "Total", say.Amount(most))
	}
	if most.Known() {
		t.Meter = readingBar(t.Label, own, most.Value)
	}
	return t
}

// powerTile shows the card's power: nobody measures the part of a slice, so that its share of it comes second.
func powerTile(say page.Words, d gpumetrics.Device) ui.TileModel {
	t := cardTile(say, "power", d)
	if d.OwnPower.Source == gpumetrics.Apportioned {
		t.Detail = say.S("workload.power_part", "Value", say.Amount(d.OwnPower))
	}
	return t
}

// cardTile is a value that belongs to the card, also where others use it too.
func cardTile(say page.Words, name string, d gpumetrics.Device) ui.TileModel {
	r := d.Temperature
	if name == "power" {
		r = d.Power
	}
	t := readingTile(say, name, r)
	if d.CardShared && r.Known() {
		t.Detail = say.S("workload.metrics.whole_card")
	}
	return t
}

// ReplicaRows are what the GPUs of each replica do, by the names of their pods; none for a single one.
func (w *Blocks) ReplicaRows(say page.Words, item workload.Workload) (rows []workloadview.ReplicaRowModel) {
	pods := item.Observed.Pods
	if len(pods) < 2 {
		return nil
	}
	for _, p := range pods {
		engine, memory := w.PodReadings(item, p.Pod).Totals()
		rows = append(rows, workloadview.ReplicaRowModel{Pod: p.Pod, Node: p.Node, Ready: p.Ready,
			Engine: say.Amount(engine), Memory: say.Amount(memory)})
	}
	slices.SortFunc(rows, func(a, b workloadview.ReplicaRowModel) int { return strings.Compare(a.Pod, b.Pod) })
	return rows
}

func same(a, b gpumetrics.Reading) bool { return a.Source == b.Source && a.Value == b.Value }

// readingTile is one value with its unit, where it comes from and how old it is.
func readingTile(say page.Words, name string, r gpumetrics.Reading) ui.TileModel {
	return ui.TileModel{Label: say.S("workload." + name), Value: say.Amount(r), Unknown: !r.Known(),
		Rests: RestsOn(say, r), Test: name}
}

// whyWords are the causes for which a value is unknown.
var whyWords = map[gpumetrics.Why]string{gpumetrics.NoSeries: "no_series", gpumetrics.NoValue: "no_value",
	gpumetrics.TooOld: "too_old", gpumetrics.NoAnswer: "no_answer", gpumetrics.OneForAll: "one_for_all"}

// RestsOn says how a value came about and when it was measured; of one that is not known, why, and since when.
func RestsOn(say page.Words, r gpumetrics.Reading) *ui.AgeModel {
	m := say.Age(say.S("workload.source."+r.Source.String()), r.At, page.ReadingEvery)
	if !r.Known() {
		m.Source = say.S("workload.why." + whyWords[r.Why])
		if !r.At.IsZero() && r.Why != gpumetrics.OneForAll {
			m.Time.Words, m.Time.Mode = say.S("workload.unknown_since", "Time", say.Since(r.At).Words), ui.TimeFixed
		}
	}
	return &m
}

// readingBar is nil where there is nothing to draw: an empty bar would look like a zero.
func readingBar(label string, r gpumetrics.Reading, most float64) *ui.MeterModel {
	if !r.Known() || most <= 0 {
		return nil
	}
	return &ui.MeterModel{Label: label, Bare: true,
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: r.Value / most}}}
}
