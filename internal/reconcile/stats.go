package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// stats are the controller's own metrics. Labels come from the configured clusters and from closed lists.
type stats struct {
	passes *prometheus.HistogramVec
	writes *prometheus.CounterVec
	ready  *prometheus.HistogramVec
}

func newStats(registry prometheus.Registerer) *stats {
	s := &stats{
		passes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gpu_portal_reconcile_duration_seconds", Help: "Time that one pass over one workload took.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10},
		}, []string{"cluster", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gpu_portal_cluster_writes_total", Help: "Objects written to a cluster.",
		}, []string{"cluster", "kind", "verb"}),
	}
	s.ready = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gpu_portal_time_to_ready_seconds", Help: "Time from the decision, or the wish to resume, until the workload answered. Each start counts once.",
		Buckets: []float64{2, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600, 4 * 3600, 24 * 3600},
	}, []string{"cluster", "size"})
	if registry != nil {
		registry.MustRegister(s.passes, s.writes, s.ready)
	}
	return s
}

// answers notes that a workload which was told to run at a time answers now.
func (s *stats) answers(w workload.Workload, now time.Time) {
	if told := w.Observed.Decided(); !told.IsZero() {
		s.ready.WithLabelValues(w.Cluster, w.Size.Name).Observe(max(0, now.Sub(told).Seconds()))
	}
}

func (s *stats) took(cluster string, err error, d time.Duration) {
	outcome := "done"
	switch {
	case fault.Is(err, fault.Conflict):
		outcome = "overtaken"
	case err != nil:
		outcome = "again"
	}
	s.passes.WithLabelValues(cluster, outcome).Observe(d.Seconds())
}
