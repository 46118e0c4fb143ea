package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// oracle gives a range around now for what waits, and another for what is on its node.
type oracle struct{ now func() time.Time }

func (o oracle) ForWorkload(_ context.Context, w workload.Workload) (forecast.Estimate, error) {
	now := o.now()
	if w.State == workload.Starting {
		return forecast.Estimate{At: now, From: now, Until: now.Add(time.Hour), Basis: forecast.Placed}, nil
	}
	return forecast.Estimate{At: now, From: now.Add(time.Hour), Until: now.Add(2 * time.Hour), Basis: forecast.Leases,
		Position: 1}, nil
}

// What was estimated outlives the controller that estimated it, and each start is judged once.
func TestEstimatesAreKeptAndJudgedOnce(t *testing.T) {
	w, registry := newWorld(t), prometheus.NewRegistry()
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Forecasts = oracle{o.Now} })
	var first forecast.Start
	within(t, 2*time.Minute, "an estimate is kept", func() bool {
		var err error
		first, err = w.store.Start(t.Context(), nb.ID, nb.Generation)
		return err == nil
	})
	if !first.Waited || first.AtRequest.Basis != forecast.Leases || !first.Placed.IsZero() || !first.Open() ||
		first.Size != nb.Size.Name {
		t.Errorf("want the record of one that waits, got %+v", first)
	}
	w.stop()
	<-w.done
	w.run(func(o *reconcile.Options) { o.Forecasts, o.Metrics = oracle{o.Now}, registry })
	w.cluster.play(t, "nb-a", "node-1", false)
	w.state(nb.ID, workload.Starting)
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	within(t, time.Minute, "both estimates are judged", func() bool {
		return judged(t, registry, "leases", "before") == 1 && judged(t, registry, "placed", "within") == 1
	})
	w.cluster.play(t, "nb-a", "node-1", false)
	w.state(nb.ID, workload.Starting)
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	last, err := w.store.Start(t.Context(), nb.ID, nb.Generation)
	if err != nil || last.Open() || last.AtRequest != first.AtRequest || last.AtPlacement.Basis != forecast.Placed ||
		last.Ready.Before(last.Placed) || last.Placed.Before(last.RequestedAt) {
		t.Errorf("want the same record with its end, got %+v %v", last, err)
	}
	if n := judged(t, registry, "leases", "before"); n != 1 {
		t.Errorf("one that fell over is no new start, got %v", n)
	}
}

// judged is how many estimates of a kind had an outcome.
func judged(t *testing.T, registry *prometheus.Registry, basis, outcome string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); f.GetName() == "gpu_portal_start_estimates_total" && l[0].GetValue() == basis &&
				l[1].GetValue() == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
