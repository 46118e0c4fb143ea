package reconcile

import (
	"context"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// probesAtOnce bounds how many notebooks are asked at the same time.
const probesAtOnce = 16

// probeAlways asks running notebooks what they do. The answer goes into the next observation, so that one place writes
// a workload.
func (l *loop) probeAlways(ctx context.Context) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/activity", oneProbe+jobs.Overrun)
	defer beat.End()
	for jobs.Sleep(ctx, beat, jitter(l.o.Every.Activity)) {
		if !l.status.ok() {
			continue
		}
		places := make(chan struct{}, probesAtOnce)
		var wg sync.WaitGroup
		for _, w := range l.asked() {
			beat.Beat(ctx, oneProbe+jobs.Overrun)
			places <- struct{}{}
			wg.Go(func() {
				defer func() { <-places }()
				l.probeOne(ctx, w)
			})
		}
		beat.Beat(ctx, oneProbe+jobs.Overrun)
		wg.Wait()
	}
}

func (l *loop) asked() []workload.Workload {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]workload.Workload, 0, len(l.running))
	for _, w := range l.running {
		list = append(list, w)
	}
	return list
}

// probeOne keeps the answer of one notebook; without an answer what it said before stays, with its time.
func (l *loop) probeOne(ctx context.Context, w workload.Workload) {
	ctx, cancel := context.WithTimeout(ctx, oneProbe)
	defer cancel()
	activity, err := l.o.Prober.Probe(ctx, w)
	if err != nil || activity == nil {
		return
	}
	l.mu.Lock()
	_, still := l.running[w.ID]
	if still {
		l.activity[w.ID] = activity
	}
	l.mu.Unlock()
	if still && (!sameKernels(activity, w.Observed.Activity) || w.Observed.Activity == nil) {
		l.queue.Add(w.ID)
	}
}

func (l *loop) lastActivity(id workload.ID) *workload.Activity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.activity[id]
}
