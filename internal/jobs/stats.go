package jobs

import "github.com/prometheus/client_golang/prometheus"

// stats are the metrics of the jobs; labels come from the list of jobs and from the outcomes.
type stats struct {
	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	done    *prometheus.GaugeVec
}

func newStats(registry prometheus.Registerer, jobs []Job) *stats {
	s := &stats{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_job_runs_total",
			Help: "Runs of the leader's jobs in this process, by outcome: done, failed or skipped."},
			[]string{"job", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gpu_portal_job_duration_seconds",
			Help: "Time that one run of a job took.", Buckets: []float64{.005, .05, .5, 5, 30, 120, 300}}, []string{"job"}),
		done: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gpu_portal_job_last_done_timestamp_seconds",
			Help: "When this process last completed a run of a job without an error; 0 before the first."}, []string{"job"}),
	}
	for _, j := range jobs { // so that a rate is there from the first run on
		s.done.WithLabelValues(j.Name)
		s.seconds.WithLabelValues(j.Name)
		for _, o := range []Outcome{Done, Failed, Skipped} {
			s.runs.WithLabelValues(j.Name, string(o))
		}
	}
	if registry != nil {
		registry.MustRegister(s.runs, s.seconds, s.done)
	}
	return s
}

func (s *stats) took(r Run) {
	s.runs.WithLabelValues(r.Job, string(r.Outcome)).Inc()
	s.seconds.WithLabelValues(r.Job).Observe(r.Took.Seconds())
	if r.Outcome == Done {
		s.done.WithLabelValues(r.Job).Set(float64(r.LastDone.UnixMilli()) / 1000)
	}
}
