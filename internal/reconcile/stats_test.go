package reconcile_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Each start counts once: a pod that fell over and came back is no new start, and one that was resumed is.
func TestTimeToReadyCountsEachStartOnce(t *testing.T) {
	w, registry := newWorld(t), prometheus.NewRegistry()
	nb := notebook("nb-a")
	w.store.Put(nb)
	c := w.run(func(o *reconcile.Options) { o.Metrics = registry })
	up := func(node string) {
		t.Helper()
		w.cluster.play(t, "nb-a", node, true)
		w.state(nb.ID, workload.Running)
	}
	within(t, 2*time.Minute, "the set", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	up("node-1")
	w.cluster.play(t, "nb-a", "node-1", false)
	w.state(nb.ID, workload.Starting)
	up("node-1")
	within(t, time.Minute, "the first start is counted once", func() bool { return starts(t, registry) == 1 })

	desired := func(change workload.Change) {
		t.Helper()
		if err := w.store.SetDesired(nb.ID, change, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	desired(workload.Stop)
	w.cluster.unplay(t, "nb-a")
	w.state(nb.ID, workload.Stopped)
	desired(workload.Start)
	w.state(nb.ID, workload.Queued)
	up("node-2")
	within(t, time.Minute, "the second start is counted", func() bool { return starts(t, registry) == 2 })
	if depth, ok := c.Waiting()[nb.Cluster]; !ok || depth > 1 {
		t.Errorf("want an empty queue of %s, got %d (%v)", nb.Cluster, depth, ok)
	}
}

// starts is how many starts of the size were counted, in seconds that can be.
func starts(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "gpu_portal_time_to_ready_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			if h.GetSampleSum() < 0 || h.GetSampleSum() > 600 {
				t.Errorf("want seconds of this test, got %v", h.GetSampleSum())
			}
			return int(h.GetSampleCount())
		}
	}
	return 0
}
