package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

var jobCases = cases{
	"of each job the last run is kept whole": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first := jobs.Run{Job: "settle", Started: later(0), Took: 1500 * time.Microsecond, Outcome: jobs.Failed,
			Error: "no answer", LastDone: later(-60), Failures: 3}
		filled(t, first)
		other := jobs.Run{Job: "expire", Started: later(5), Took: time.Second, Outcome: jobs.Done, LastDone: later(6)}
		must(t, s.SaveJobRun(ctx, first))
		must(t, s.SaveJobRun(ctx, other))
		equal(t, []jobs.Run{other, first}, got(s.JobRuns(ctx))(t))
		again := jobs.Run{Job: "settle", Started: later(60), Outcome: jobs.Skipped}
		must(t, s.SaveJobRun(ctx, again))
		equal(t, []jobs.Run{other, again}, got(s.JobRuns(ctx))(t))
	},
	"an error of a job is kept whatever it holds": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveJobRun(ctx, jobs.Run{Job: "settle", Started: later(0), Outcome: jobs.Failed, Failures: 1,
			Error: "a\x00b\xff" + strings.Repeat("ü", 5000)}))
		runs := got(s.JobRuns(ctx))(t)
		if len(runs) != 1 || !strings.HasPrefix(runs[0].Error, "abü") || len(runs[0].Error) > 2000 {
			t.Errorf("got %d runs, %q", len(runs), runs[0].Error)
		}
	},
}
