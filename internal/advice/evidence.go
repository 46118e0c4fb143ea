package advice

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Day is what a cluster's pods did in a stretch of time, at most a day.
type Day struct {
	From, Until time.Time
	Uses        []gpumetrics.WindowSummary
	open        bool // samples of it may still come
}

// Evidence is what is known of a workload's use in a window of time.
type Evidence struct {
	From, Until time.Time     // the window; it begins no earlier than the workload
	Held        time.Duration // for how long of it the workload held its GPU, by its meter
	// for how long of that its memory and its engine were measured, whichever is less; of several devices the mean
	Measured  time.Duration
	Devices   int     // how many were seen at the same time at most
	PeakMiB   float64 // the highest memory use, of all devices together
	DeviceMiB float64 // and of one of them
	Mean      float64 // per cent of the engine, over the measured time, of all devices
	// per cent of the engine, of the busiest device on its busiest day; one sample in twenty was higher
	High     float64
	Busy     float64       // per cent, likewise, of all devices together: above 100 with several
	Full     time.Duration // for how long the memory was full
	Throttle time.Duration // for how long it is known whether the card was slowed down
	Slowed   time.Duration // and for how long it was
	Patchy   bool          // a value came that cannot be, or a part of the values is missing
}

// Coverage is which part of the time held was measured, 0 to 1.
func (e Evidence) Coverage() float64 {
	if e.Held <= 0 {
		return 0
	}
	return min(1, float64(e.Measured)/float64(e.Held))
}

// FullShare is which part of the measured time the memory was full, 0 to 1.
func (e Evidence) FullShare() float64 { return part(e.Full, e.Measured) }

// SlowedShare is which part of the time the card was slowed down; 0 where that is not told.
func (e Evidence) SlowedShare() float64 { return part(e.Slowed, e.Throttle) }

func part(of, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, float64(of)/float64(whole))
}

// Gather adds up the days. A day before the workload says nothing of it; one in which it was made says so only when
// no other workload of the same name ended in it (namesake, zero for none), for metrics know pods by name alone.
func Gather(w *workload.Workload, meter []usage.Interval, days []Day, namesake, now time.Time,
	window time.Duration) Evidence {
	e := Evidence{From: later(w.CreatedAt, now.Add(-window)), Until: now}
	if e.From.After(now) {
		e.From = now
	}
	e.Held = held(meter, e.From, now)
	var memory, engine, weight time.Duration
	var sum float64
	perPod := max(1, w.Size.Devices())
	for _, d := range days {
		if !d.Until.After(w.CreatedAt) || d.From.Before(w.CreatedAt) && namesake.After(d.From) ||
			!d.Until.After(now.Add(-window)) {
			continue
		}
		peak, busy, seen := map[string]float64{}, map[string]float64{}, map[string]int{}
		for _, u := range d.Uses {
			if u.Namespace != w.Namespace || !w.HasPod(u.Pod) {
				continue
			}
			seen[u.Pod]++
			if !u.MemoryPeak.Known() || !u.EngineMean.Known() || !u.EngineHigh.Known() {
				e.Patchy = true
				continue
			}
			peak[u.Pod], busy[u.Pod] = peak[u.Pod]+u.MemoryPeak.Value, busy[u.Pod]+u.EngineHigh.Value
			e.DeviceMiB, e.High = max(e.DeviceMiB, u.MemoryPeak.Value), max(e.High, u.EngineHigh.Value)
			memory, engine = memory+u.Memory, engine+u.Engine
			sum, weight = sum+u.EngineMean.Value*float64(u.Engine), weight+u.Engine
			e.Full, e.Throttle, e.Slowed = e.Full+u.Full, e.Throttle+u.Throttle, e.Slowed+u.Slowed
		}
		for pod, n := range seen {
			// A pod that was replaced on the same day under its own name (a notebook that was stopped and resumed) may have been
			// on several devices, one after the other: what it used of each is not added up beyond what it may hold at a time.
			e.Devices = max(e.Devices, min(n, perPod))
			if n > perPod {
				peak[pod], busy[pod] = min(peak[pod], e.DeviceMiB*float64(perPod)), min(busy[pod], e.High*float64(perPod))
			}
			e.PeakMiB, e.Busy = max(e.PeakMiB, peak[pod]), max(e.Busy, busy[pod])
		}
	}
	if weight > 0 {
		e.Mean = sum / float64(weight)
	}
	e.Measured = min(memory, engine) / time.Duration(perPod)
	e.Full, e.Throttle, e.Slowed = e.Full/time.Duration(perPod), e.Throttle/time.Duration(perPod),
		e.Slowed/time.Duration(perPod)
	return e
}

// held is how much of a stretch of time a meter covers. Time of which nobody can tell is none.
func held(meter []usage.Interval, from, until time.Time) time.Duration {
	var total time.Duration
	for _, i := range meter {
		end := i.Until
		if end.IsZero() || end.After(until) {
			end = until
		}
		if begin := later(i.From, from); end.After(begin) {
			total += time.Duration(i.Count()) * end.Sub(begin)
		}
	}
	return total
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
