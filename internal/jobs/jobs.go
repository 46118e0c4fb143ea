package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Job is something that is done again and again.
type Job struct {
	Name  string        // stable: a label of metrics and the key of the last run
	Every time.Duration // from the end of a run to the next one, and up to a tenth more
	// Within is the deadline of one run; 0: usualWithin. What still runs Overrun later is hung.
	Within time.Duration
	// AtStart runs the job as soon as the process leads; else the first run comes after Every.
	AtStart bool
	// TrustedClock keeps the job from running while the clocks of portal and database disagree: it ends or deletes
	// something when its time has come.
	TrustedClock bool
	// WhileHeld lets the job run also while a cluster carries more than the database knows (internal/drift): it neither
	// ends anything nor tells anybody.
	WhileHeld bool
	// Soon asks for a run before its time; nil: nothing does.
	Soon <-chan struct{}
	Run  func(ctx context.Context) error
	// Stopped is called when the process does not lead any more; nil: nothing is to be done.
	Stopped func()
}

const usualWithin = 5 * time.Minute

func (j Job) within() time.Duration {
	if j.Within > 0 {
		return j.Within
	}
	return usualWithin
}

// Outcome is how a run ended.
type Outcome string

// How a run can end.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped" // the clock or the database could not be trusted
)

// Run is the last run of a job.
type Run struct {
	Job      string
	Started  time.Time
	Took     time.Duration
	Outcome  Outcome
	Error    string    // of a run that failed
	LastDone time.Time // when a run was last done; zero: never
	Failures int       // in a row
}

// Store keeps the last run of each job, so that every replica can show what the leader does.
type Store interface {
	JobRuns(ctx context.Context) ([]Run, error)
	SaveJobRun(ctx context.Context, r Run) error
}

// Options holds the dependencies and settings of a Runner.
type Options struct {
	Jobs     []Job
	Store    Store
	Watchdog *Watchdog
	// Trusted reports whether the time is beyond doubt; nil: it is.
	Trusted func(ctx context.Context) bool
	// Held reports whether the database may be older than a cluster; nil: it is not.
	Held    func() bool
	Now     func() time.Time
	Logger  *slog.Logger
	Metrics prometheus.Registerer // nil: none
}

// Runner runs jobs, each in a goroutine of its own: one that is slow or fails holds up no other, and none runs twice at
// once.
type Runner struct {
	o     Options
	stats *stats
}

// New makes a runner.
func New(o Options) *Runner {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Runner{o: o, stats: newStats(o.Metrics, o.Jobs)}
}

// Run runs the jobs until the context ends and waits for those under way.
func (r *Runner) Run(ctx context.Context) {
	last := r.known(ctx)
	var wg sync.WaitGroup
	for _, j := range r.o.Jobs {
		wg.Go(func() { r.repeat(ctx, j, last[j.Name]) })
	}
	wg.Wait()
}

// known is what former leaders left; without it the counts begin anew.
func (r *Runner) known(ctx context.Context) map[string]Run {
	runs, err := r.o.Store.JobRuns(ctx)
	if err != nil && ctx.Err() == nil {
		r.o.Logger.WarnContext(ctx, "read the last runs of the jobs", "error", err)
	}
	last := map[string]Run{}
	for _, run := range runs {
		last[run.Job] = run
	}
	return last
}

func (r *Runner) repeat(ctx context.Context, j Job, last Run) {
	loop := r.o.Watchdog.Begin(ctx, "job/"+j.Name, idleLimit)
	defer loop.End()
	if j.Stopped != nil {
		defer j.Stopped()
	}
	for due := j.AtStart; ; due = true {
		if due {
			last = r.once(ctx, loop, j, last)
		}
		if _, why := Await(ctx, loop, j.Soon, jitter(j.Every)); why == Ended {
			return
		}
	}
}

// once runs a job and tells how it went.
func (r *Runner) once(ctx context.Context, loop *Loop, j Job, last Run) Run {
	loop.Beat(ctx, j.within()+Overrun)
	begun := time.Now()
	run := Run{Job: j.Name, Started: r.o.Now(), Outcome: Done, LastDone: last.LastDone}
	inner, cancel := context.WithTimeout(ctx, j.within())
	defer cancel()
	if !r.may(inner, j) {
		run.Outcome, run.Failures = Skipped, last.Failures
	} else if err := r.safely(inner, j); err != nil {
		run.Outcome, run.Error, run.Failures = Failed, err.Error(), last.Failures+1
	}
	if ctx.Err() != nil {
		return last // cut off by the end of the lead, which says nothing about the job
	}
	run.Took = time.Since(begun)
	if run.Outcome == Done {
		run.LastDone = run.Started.Add(run.Took)
	}
	r.record(ctx, run)
	return run
}

func (r *Runner) may(ctx context.Context, j Job) bool {
	if !j.WhileHeld && r.o.Held != nil && r.o.Held() {
		return false
	}
	return !j.TrustedClock || r.o.Trusted == nil || r.o.Trusted(ctx)
}

// safely makes a panic the error of this run: the other jobs go on.
func (r *Runner) safely(ctx context.Context, j Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Logger.ErrorContext(ctx, "a job panicked", "job", j.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return j.Run(ctx)
}

func (r *Runner) record(ctx context.Context, run Run) {
	if run.Outcome == Failed {
		r.o.Logger.ErrorContext(ctx, "job", "job", run.Job, "error", run.Error, "failures", run.Failures)
	}
	r.stats.took(run)
	if err := r.o.Store.SaveJobRun(ctx, run); err != nil && ctx.Err() == nil {
		r.o.Logger.WarnContext(ctx, "save the last run of a job", "job", run.Job, "error", err)
	}
}

// jitter is d and up to a tenth more, so that jobs of one period do not march in step.
func jitter(d time.Duration) time.Duration { return max(1, d+rand.N(d/10+1)) }
