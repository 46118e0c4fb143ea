package reconcile

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Forecasts estimates when a pending workload will be ready.
type Forecasts interface {
	ForWorkload(ctx context.Context, w workload.Workload) (forecast.Estimate, error)
}

// startOf gives the record of a start where an observation has changed it: begun with an estimate, placed, ready. It is
// saved with what was observed, so that each start is counted once, whatever falls over in between. nil: nothing is
// new.
func (l *loop) startOf(ctx context.Context, after workload.Workload, now time.Time) (*forecast.Start, error) {
	if l.o.Forecasts == nil || after.Desired != workload.WantRunning {
		return nil, nil
	}
	s, known, err := l.startKnown(ctx, after)
	if err != nil || known && !s.Open() {
		return nil, err
	}
	changed := false
	if !known {
		if after.State == workload.Running { // it ran before anybody kept records, or was only told something new
			l.noteStart(forecast.Start{Workload: after.ID, Generation: after.Generation, Ready: now})
			return nil, nil
		}
		s, changed = forecast.NewStart(after, after.Observed.Decided(), l.estimate(ctx, asScheduled(after, now), now)), true
	}
	if s.Placed.IsZero() && after.Observed.Placed() > 0 {
		s, changed = s.MarkPlaced(now, l.estimate(ctx, onNode(after, now), now)), true
	}
	if after.State == workload.Running {
		s, changed = s.MarkReady(now), true
	}
	if !changed {
		return nil, nil
	}
	return &s, nil
}

// namespaceChanged is a workload as it was when it was told to run, for the estimate that goes with that.
func asScheduled(w workload.Workload, now time.Time) workload.Workload {
	if w.State == workload.Failed {
		return w
	}
	w.State, w.Reason.ID = workload.Queued, ""
	w.Observed = workload.Observation{At: now, Steps: w.Observed.Steps}
	return w
}

// onNode is a workload at the moment in which it was first seen on a node.
func onNode(w workload.Workload, now time.Time) workload.Workload {
	w.State, w.UpdatedAt, w.Observed.At, w.Observed.Steps = workload.Starting, now, now, nil
	return w
}

// estimate never stands in the way of what it is about.
func (l *loop) estimate(ctx context.Context, w workload.Workload, now time.Time) forecast.Estimate {
	if w.State == workload.Failed {
		return forecast.Estimate{At: now, Missing: forecast.Stuck}
	}
	e, err := l.o.Forecasts.ForWorkload(ctx, w)
	if err != nil {
		l.log.DebugContext(ctx, "no estimate", "workload", w.ID, "error", err)
		return forecast.Estimate{At: now, Missing: forecast.Silent}
	}
	return e
}

// startKnown is the record of the present spec's start, as it is remembered or kept.
func (l *loop) startKnown(ctx context.Context, w workload.Workload) (s forecast.Start, known bool, err error) {
	l.mu.Lock()
	s, known = l.starts[w.ID]
	l.mu.Unlock()
	if known && s.Matches(w) {
		return s, true, nil
	}
	s, err = l.o.Store.Start(ctx, w.ID, w.Generation)
	if fault.Is(err, fault.NotFound) {
		return forecast.Start{}, false, nil
	}
	if err == nil {
		l.noteStart(s)
	}
	return s, err == nil, err
}

func (l *loop) noteStart(s forecast.Start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts[s.Workload] = s
}

// startSaved is called after a record was written, or may have been: then the database has to be asked again.
func (l *loop) startSaved(s *forecast.Start, err error) {
	if s == nil {
		return
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.starts, s.Workload)
		return
	}
	l.noteStart(*s)
	for _, v := range s.Accuracies() {
		l.stats.estimated(v)
	}
}
