package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// overdue is a workload whose lease is over.
func overdue() workload.Workload {
	nb := notebook("nb-a")
	nb.PlacedAt = nb.CreatedAt
	nb.Lease = workload.Lease{From: time.Now().Add(-9 * time.Hour), Until: time.Now().Add(-time.Hour)}
	return nb
}

// TestNoLeaseEndsWhileClocksDisagree: T-CLOCK. A portal whose clock is wrong, or a database's that has jumped, would
// stop what people still have time for. The last step says how far apart they may be.
func TestNoLeaseEndsWhileClocksDisagree(t *testing.T) {
	for name, clock := range map[string]func() (time.Time, error){
		"the database is a day behind":  func() (time.Time, error) { return time.Now().Add(-24 * time.Hour), nil },
		"it is six minutes ahead":       func() (time.Time, error) { return time.Now().Add(6 * time.Minute), nil },
		"it does not say what it knows": func() (time.Time, error) { return time.Time{}, errors.New("away") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			nb := overdue()
			w.store.Put(nb)
			var asked atomic.Int64
			var right atomic.Bool
			w.run(func(o *reconcile.Options) {
				o.Trusted = jobs.Clocks{Now: o.Now, Logger: slog.New(slog.DiscardHandler),
					Database: func(context.Context) (time.Time, error) {
						asked.Add(1)
						if right.Load() {
							return o.Now().Add(4 * time.Minute), nil // a little is tolerated
						}
						return clock()
					}}.Trusted
			})
			within(t, 2*time.Minute, "the time is asked for", func() bool { return asked.Load() > 0 })
			// The pass that asked first is over when another one has asked.
			w.store.Put(w.store.Get(nb.ID))
			within(t, 2*time.Minute, "the time is asked for again", func() bool { return asked.Load() > 1 })
			if got := w.store.Get(nb.ID); got.Desired != workload.WantRunning {
				t.Fatalf("it was stopped: %s", got.Reason.ID)
			}
			right.Store(true)
			w.store.Put(w.store.Get(nb.ID))
			within(t, 2*time.Minute, "the lease has ended",
				func() bool { return w.store.Get(nb.ID).Desired == workload.WantStopped })
		})
	}
}

// passes counts how often a pass began.
type passes struct {
	*reconciletest.Store
	begun atomic.Int64
}

func (p *passes) Workload(ctx context.Context, id workload.ID) (workload.Workload, error) {
	p.begun.Add(1)
	return p.Store.Workload(ctx, id)
}

// TestNothingEndsWhileTheClusterIsAway: what was last seen is old. A lease ends when the cluster answers again, so that
// quota and budget are not free before the GPU is.
func TestNothingEndsWhileTheClusterIsAway(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	counted := &passes{Store: w.store}
	c := w.run(func(o *reconcile.Options) { o.Store = counted })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	within(t, 2*time.Minute, "a cluster that answers is known to, and no other", func() bool {
		return c.Fresh(reconciletest.Cluster) && !c.Fresh("elsewhere")
	})

	w.cluster.setAway(true)
	within(t, 2*time.Minute, "it is noticed", func() bool { return !c.Status()[0].OK })
	if c.Fresh(reconciletest.Cluster) {
		t.Error("a cluster that is away is said to answer: storage in it would be reclaimed")
	}
	late := w.store.Get(nb.ID)
	late.Lease = workload.Lease{From: time.Now().Add(-9 * time.Hour), Until: time.Now().Add(-time.Hour)}
	w.store.Put(late)
	// One workload has one pass at a time: the first that saw the new lease is over when two more have begun.
	for range 3 {
		before := counted.begun.Load()
		w.store.Put(w.store.Get(nb.ID))
		within(t, 2*time.Minute, "a pass begins", func() bool { return counted.begun.Load() > before })
	}
	if got := w.store.Get(nb.ID); got.Desired != workload.WantRunning {
		t.Fatalf("it was stopped: %s", got.Reason.ID)
	}
	w.cluster.setAway(false)
	within(t, 2*time.Minute, "the lease has ended",
		func() bool { return w.store.Get(nb.ID).Desired == workload.WantStopped })
}
