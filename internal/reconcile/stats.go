package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// stats are the controller's own metrics. Labels come from the configured clusters and from closed lists.
type stats struct {
	passes *prometheus.HistogramVec
	writes *prometheus.CounterVec
	ready  *prometheus.HistogramVec
	off    *prometheus.HistogramVec
	ranges *prometheus.CounterVec
	// foreign edits by what became of them; spoofed objects that are there now
	foreign *prometheus.CounterVec
	spoofed *prometheus.GaugeVec
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
	s.foreign = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gpu_portal_foreign_edits_total", Help: "Edits of others to fields that the portal renders: removed, or " +
			"refused where the cluster does not let them be taken back.",
	}, []string{"cluster", "kind", "outcome"})
	s.spoofed = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gpu_portal_spoofed_objects", Help: "Objects that carry the portal's labels and are not the portal's.",
	}, []string{"cluster", "kind"})
	s.ready = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gpu_portal_time_to_ready_seconds",
		Help: "Time from the decision, or the request to resume, until the workload " +
			"answered. Each start counts once.",
		Buckets: []float64{2, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600, 4 * 3600, 24 * 3600},
	}, []string{"cluster", "size"})
	s.off = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gpu_portal_start_estimate_error_seconds", Help: "By how much the estimated range missed the moment in which " +
			"a workload answered, 0 within it, by what the estimate rested on.",
		Buckets: []float64{0, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600},
	}, []string{"basis"})
	s.ranges = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gpu_portal_start_estimates_total", Help: "Starts that had an estimate and answered, by what it rested on: " +
			"before, within or after the range.",
	}, []string{"basis", "outcome"})
	for _, basis := range forecast.Bases() { // so that a rate is there from the first one on
		s.off.WithLabelValues(string(basis))
		for _, is := range forecast.Outcomes() {
			s.ranges.WithLabelValues(string(basis), string(is))
		}
	}
	if registry != nil {
		registry.MustRegister(s.passes, s.writes, s.ready, s.off, s.ranges, s.foreign,
			s.spoofed)
	}
	return s
}

// observeReady notes that a workload which was told to run at a time answers now.
func (s *stats) observeReady(w workload.Workload, now time.Time) {
	if told := w.Observed.Decided(); !told.IsZero() {
		s.ready.WithLabelValues(w.Cluster, w.Size.Name).Observe(max(0, now.Sub(told).Seconds()))
	}
}

// estimated notes how good an estimate was.
func (s *stats) estimated(v forecast.Accuracy) {
	s.off.WithLabelValues(string(v.Basis)).Observe(v.Error.Seconds())
	s.ranges.WithLabelValues(string(v.Basis), string(v.Outcome)).Inc()
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
