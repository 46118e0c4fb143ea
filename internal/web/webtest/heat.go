package webtest

import (
	"fmt"
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// works fills in what the devices of the fleet do: slices at work and idle ones, a whole card, a guest that is idle, a
// free card, and one that nobody measures. gpu-05 and gpu-06 have no metrics at all.
func (w *World) works() {
	at := Now.Add(-4 * time.Second)
	cell := func(use, gib, of float64, pods ...gpumetrics.Pod) gpumetrics.Cell {
		return gpumetrics.Cell{Part: 1, Engine: known(use, gpumetrics.Percent), Memory: known(gib*1024, gpumetrics.MiB),
			Total: known(of*1024, gpumetrics.MiB), Pods: pods}
	}
	slice := func(i int, c gpumetrics.Cell) gpumetrics.Cell {
		c.Instance, c.Profile, c.Part = fmt.Sprint(7+i), "1g.10gb", 1.0/7
		return c
	}
	cut := gpumetrics.CardUse{UUID: "GPU-0", Model: "NVIDIA H100 80GB HBM3", Cells: []gpumetrics.Cell{
		slice(0, cell(63, 7.1, 10, gpumetrics.Pod{Namespace: "gpu-vision", Name: "train-resnet-0"})),
		slice(1, cell(2, 0.4, 10, gpumetrics.Pod{Namespace: "batch", Name: "job-7"})),
		slice(2, cell(0, 0, 10)), slice(3, cell(31, 2, 10, gpumetrics.Pod{Namespace: "batch", Name: "job-8"}))}}
	blank := gpumetrics.Cell{Part: 1, Engine: gpumetrics.Reading{Unit: gpumetrics.Percent, Why: gpumetrics.TooOld,
		At: Now.Add(-9 * time.Minute)}, Pods: []gpumetrics.Pod{{Namespace: "gpu-speech", Name: "asr-train-0"}}}
	w.Fleets = map[string]*gpumetrics.Fleet{"local": {At: at, Nodes: []gpumetrics.Node{
		{Name: "gpu-01", Cards: []gpumetrics.CardUse{cut, {UUID: "GPU-1", Model: "NVIDIA H100 80GB HBM3",
			Cells: []gpumetrics.Cell{cell(0, 0, 80)}}}},
		{Name: "gpu-02", Cards: []gpumetrics.CardUse{{UUID: "GPU-3", Model: "NVIDIA H100 80GB HBM3",
			Cells: []gpumetrics.Cell{cell(88, 61, 80, gpumetrics.Pod{Namespace: "gpu-vision", Name: "llm-chat-0"})}}}},
		{Name: "gpu-03", Cards: []gpumetrics.CardUse{{UUID: "GPU-2", Model: "NVIDIA H100 80GB HBM3",
			Cells: []gpumetrics.Cell{blank}}}},
		{Name: "gpu-04", Cards: []gpumetrics.CardUse{{UUID: "GPU-4", Model: "NVIDIA A40-12Q",
			Cells: []gpumetrics.Cell{cell(1, 0.2, 12, gpumetrics.Pod{Namespace: "gpu-vision", Name: "render-farm-0"})}}}},
	}}}
	w.PodPasts = map[string]gpumetrics.Ranges{"train-resnet-0": PodPast(), "old-notes-0": PodPast()}
	w.Pasts = map[string]gpumetrics.Ranges{"train-resnet-0": Past(), gpumetrics.PodsOf("llm-chat"): {At: Now}}
	w.Used = usage.EngineUses{"w-train-resnet": used(24*60, 58), "w-llm-chat": used(9*60+36, 21),
		"w-render-farm": used(24*60, 2)}
}

// Unrecorded has metrics tell of a line of which no hour is recorded yet.
func (w *World) Unrecorded() {
	since := Now.Add(-49 * time.Minute)
	tail := usage.EngineTail{Cluster: "local", From: since, Until: Now}
	for _, i := range w.Metered("w-train-resnet") {
		tail.Lines = append(tail.Lines, usage.TailLine{Since: since, EngineLine: usage.EngineLine{Workload: i.Workload,
			Tenant: i.Tenant, Size: i.Size, PerHour: i.PerHour, EngineUse: used(49, 58)}})
	}
	w.Tail = []usage.EngineTail{tail}
}

// used is a use of so many minutes, in per cent.
func used(minutes int, mean float64) usage.EngineUse {
	measured := time.Duration(minutes) * time.Minute
	return usage.EngineUse{Measured: measured, Busy: time.Duration(mean / 100 * float64(measured))}
}

// PodPast is an hour of a pod that computes and loads data by turns, with the gap of Past.
func PodPast() gpumetrics.Ranges {
	span := gpumetrics.SpanOf("1h")
	r := gpumetrics.Ranges{At: Now.Add(-5 * time.Second), Span: span}
	n := int(span.Long/span.Step) + 1
	cpu := gpumetrics.Line{Name: gpumetrics.CPULine, Unit: gpumetrics.Cores, Points: make([]gpumetrics.Point, n)}
	network := gpumetrics.Line{Name: gpumetrics.NetworkLine, Unit: gpumetrics.BytesPerSecond,
		Points: make([]gpumetrics.Point, n)}
	for i := range n {
		at, known := Now.Truncate(span.Step).Add(time.Duration(i-n+1)*span.Step), !missed(i)
		cpu.Points[i], network.Points[i] = gpumetrics.Point{At: at}, gpumetrics.Point{At: at}
		if known {
			cpu.Points[i] = gpumetrics.Point{At: at, Known: true, Value: 1 + 0.75*math.Sin(float64(i)/9)}
			network.Points[i] = gpumetrics.Point{At: at, Known: true, Value: 4e6 - 3.5e6*math.Sin(float64(i)/9)}
		}
	}
	r.Lines = []gpumetrics.Line{cpu, network}
	return r
}

// wave is the utilization at each half minute of an hour of training that ends with 63 %: every quarter of an hour it
// writes a checkpoint and evaluates. Runs differ in when.
func wave(i, run int) float64 {
	switch at := (i + 7*run) % 30; {
	case i == 120:
		return 63
	case at < 2:
		return 22 + float64(Mix(i+run, 7))/6
	case at < 5:
		return 52 + float64(Mix(i+run, 11))/4
	}
	return 80 + float64(Mix(i*i+run, 13))/5
}

// warmth follows a utilization slowly, as temperature does: the mean of the five minutes before.
func warmth(i int) (mean float64) {
	for j := range 10 {
		mean += wave(max(0, i-j), 0) / 10
	}
	return mean
}

// missed says whether nothing was measured at that half minute.
func missed(i int) bool { return i >= 46 && i < 52 }

// cutPast is the same hour of GPU-0, whose slices of one seventh each are busy for 63, 2, 0 and 31 per cent:
// the engine of a card is busy for the mean of all its parts, and what is not partitioned does nothing.
func cutPast() gpumetrics.Ranges {
	r := Past()
	for i, l := range r.Lines {
		if l.Name == "engine" {
			for j := range l.Points {
				r.Lines[i].Points[j].Value *= (63.0 + 2 + 0 + 31) / 7 / 63
			}
		}
	}
	return r
}

// Past is an hour of a device that trains, with a gap of three minutes, a time in which it was too hot, and an
// error.
func Past() gpumetrics.Ranges {
	span := gpumetrics.SpanOf("1h")
	r := gpumetrics.Ranges{At: Now.Add(-5 * time.Second), Span: span, Devices: 1}
	n := int(span.Long/span.Step) + 1
	for _, l := range []struct {
		name  string
		unit  gpumetrics.Unit
		value func(i int) float64
	}{
		{"engine", gpumetrics.Percent, func(i int) float64 { return wave(i, 0) }},
		{"memory", gpumetrics.MiB, func(i int) float64 { return 7270 - 380*float64((135-i)/45) }},
		{"power", gpumetrics.Watt, func(i int) float64 { return 312 + 2.4*(wave(i, 0)-63) }},
		{"temperature", gpumetrics.Celsius, func(i int) float64 { return 58 + 0.4*(warmth(i)-warmth(120)) }},
		{"throttle", gpumetrics.Count, func(i int) float64 {
			if i > 80 && i < 95 {
				return 0x20
			}
			return 1
		}},
		{"xid", gpumetrics.Count, func(i int) float64 {
			if i > 100 {
				return 31
			}
			return 0
		}},
	} {
		line := gpumetrics.Line{Name: l.name, Unit: l.unit, Points: make([]gpumetrics.Point, n)}
		for i := range line.Points {
			at := Now.Truncate(span.Step).Add(time.Duration(i-n+1) * span.Step)
			line.Points[i] = gpumetrics.Point{At: at}
			if !missed(i) {
				line.Points[i].Value, line.Points[i].Known = l.value(i), true
			}
		}
		r.Lines = append(r.Lines, line)
	}
	r.Lines = append(r.Lines, gpumetrics.Line{Name: "tensor", Unit: gpumetrics.Percent,
		Points: make([]gpumetrics.Point, n)})
	return r
}
