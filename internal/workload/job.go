package workload

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Job has the fields of a workload that only a job has: the program that runs to completion. A Job has one pod at a
// time, a JobSet as many as there are replicas, all together.
type Job struct {
	Command   []string          `json:"command,omitempty"` // in place of the image's; empty: the image's own
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Retries   int               `json:"retries,omitempty"`   // how often it is started again after a failure
	TimeLimit catalog.Duration  `json:"timeLimit,omitempty"` // from its first place on a node on; 0: the lease alone
}

// Result is how a job ended.
type Result struct {
	Succeeded bool      `json:"succeeded"`
	ExitCode  *int32    `json:"exitCode,omitempty"` // of the last attempt; nil where no program ended by itself
	Attempts  int       `json:"attempts,omitempty"` // pods that ran
	StartedAt time.Time `json:"startedAt,omitzero"` // of the last attempt
	At        time.Time `json:"at"`
}

// Duration is how long the last attempt ran; 0 where that is not known.
func (r Result) Duration() time.Duration {
	if r.StartedAt.IsZero() {
		return 0
	}
	return max(0, r.At.Sub(r.StartedAt))
}

// IsJob reports whether it ends by itself.
func (w Workload) IsJob() bool { return w.Kind == catalog.Job }

// Over reports whether a job will never run again: it has ended, or was stopped. What it gave back is not its own any
// more, its storage among it.
func (w Workload) Over() bool {
	return w.IsJob() && (w.Desired == Finished || w.State == Stopped || w.State == Ended)
}

// Deadline is when a job's time limit is reached; zero for none, or while it has not been placed.
func (w Workload) Deadline() time.Time {
	if w.Job == nil || w.Job.TimeLimit <= 0 || w.PlacedAt.IsZero() {
		return time.Time{}
	}
	return w.PlacedAt.Add(w.Job.TimeLimit.Std())
}

// conclude notes that a job has ended. Its exit code may be seen later than its end.
func (w *Workload) conclude(obs Observation) {
	switch {
	case !w.IsJob() || obs.Result == nil || w.Desired == WantDeleted:
	case w.Desired != Finished:
		result := *obs.Result
		w.Desired, w.Result = Finished, &result
	case w.Result != nil && w.Result.ExitCode == nil && obs.Result.ExitCode != nil:
		result := *obs.Result
		w.Result = &result
	}
}
