package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/fault"
)

// stats are the controller's own metrics. Labels come from the configured clusters and from closed lists.
type stats struct {
	passes *prometheus.HistogramVec
	writes *prometheus.CounterVec
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
	if registry != nil {
		registry.MustRegister(s.passes, s.writes)
	}
	return s
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
