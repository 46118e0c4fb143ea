package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// DidDaily says what a workload's pod did on each of the last days.
func (w *World) DidDaily(name string, days int, peakMiB, mean, high float64, full time.Duration) {
	const day = 24 * time.Hour
	measured := func(v float64, unit gpumetrics.Unit) gpumetrics.Reading {
		return gpumetrics.Reading{Value: v, Unit: unit, Source: gpumetrics.Measured, At: w.Clock}
	}
	midnight := w.Clock.Truncate(day)
	for i := range days {
		w.Days = append(w.Days, advice.Day{From: midnight.Add(time.Duration(i-days) * day),
			Until: midnight.Add(time.Duration(i-days+1) * day),
			Uses: []gpumetrics.WindowSummary{{Namespace: "gpu-vision", Pod: name + "-0", UUID: "GPU-" + name,
				MemoryPeak: measured(peakMiB, gpumetrics.MiB), EngineMean: measured(mean, gpumetrics.Percent),
				EngineHigh: measured(high, gpumetrics.Percent), Memory: 23*time.Hour + 40*time.Minute, Engine: 23*time.Hour +
					40*time.Minute, Full: full}}})
	}
}

// advised is a world with two sizes too large and one too small.
func advised(s Scope) *World {
	w := Busy(s)
	const day = 24 * time.Hour
	w.Add(w.Workload("digits", Anna, "h100").Running("gpu-03", 20*day, 3*day).Volume(50))
	w.DidDaily("digits", 14, 6*1024, 3.4, 11, 0)
	w.Add(w.Workload("tokens", Anna, "mig-1g.10gb").Running("gpu-01", 9*day, 3*day))
	w.DidDaily("tokens", 9, 9900, 42, 77, 5*time.Hour)
	w.Add(w.Workload("segment", Ben, "mig-3g.40gb").Running("gpu-01", 12*day, 3*day))
	w.DidDaily("segment", 12, 7*1024, 8, 21, 0)
	return w
}

// putAway is advised with one of them put away.
func putAway(s Scope) *World {
	w := advised(s)
	have(w.Advice.Dismiss(bg, w.Actor(Anna), "w-digits"))
	return w
}
