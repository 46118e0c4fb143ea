package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
)

// JobRun is the last run of one of the leader's jobs.
type JobRun struct {
	Job      string     `json:"job"`
	Started  time.Time  `json:"startedAt"`
	Seconds  float64    `json:"durationSeconds"`
	Outcome  string     `json:"outcome" enum:"done,failed,skipped" doc:"Skipped: the clock or the database could not be trusted"`
	Error    string     `json:"error,omitempty"`
	LastDone *time.Time `json:"lastDoneAt,omitempty" doc:"When a run was last done; absent for never"`
	Failures int        `json:"failures" doc:"In a row"`
}

func jobRunView(r jobs.Run) JobRun {
	v := JobRun{Job: r.Job, Started: r.Started.UTC(), Seconds: r.Took.Seconds(), Outcome: string(r.Outcome),
		Error: r.Error, Failures: r.Failures}
	if !r.LastDone.IsZero() {
		v.LastDone = new(r.LastDone.UTC())
	}
	return v
}

func (a *API) jobs(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[JobRun]], error) {
	if !identity.Can(actor, identity.ReadMetrics, identity.Resource{}) {
		return nil, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	runs, err := a.deps.Jobs.JobRuns(ctx)
	views := make([]JobRun, len(runs))
	for i, r := range runs {
		views[i] = jobRunView(r)
	}
	return reply(list(views, ""), err)
}
