package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// memory keeps runs and tells of each.
type memory struct {
	mu    sync.Mutex
	last  map[string]jobs.Run
	count map[string]int
}

func newMemory() *memory { return &memory{last: map[string]jobs.Run{}, count: map[string]int{}} }

func (m *memory) JobRuns(context.Context) ([]jobs.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []jobs.Run
	for _, r := range m.last {
		list = append(list, r)
	}
	return list, nil
}

func (m *memory) SaveJobRun(_ context.Context, r jobs.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[r.Job] = r
	m.count[r.Job]++
	return nil
}

func (m *memory) get(job string) (jobs.Run, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[job], m.count[job]
}

// start runs jobs until the test ends.
func start(t *testing.T, o jobs.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r := jobs.New(o)
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

var within = waittest.For

// A job that is slow, one that fails and one that panics hold up no other, and none runs twice at once.
func TestAJobHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	m, registry := newMemory(), prometheus.NewRegistry()
	release, slow := make(chan struct{}), atomic.Int64{}
	start(t, jobs.Options{Store: m, Metrics: registry, Jobs: []jobs.Job{
		{Name: "slow", Every: time.Millisecond, AtStart: true, Run: func(ctx context.Context) error {
			slow.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		}},
		{Name: "broken", Every: time.Millisecond, Run: func(context.Context) error { return errors.New("no answer") }},
		{Name: "panics", Every: time.Millisecond, Run: func(context.Context) error { panic("index") }},
		{Name: "fine", Every: time.Millisecond, Run: func(context.Context) error { return nil }},
	}})
	within(t, "the others go on", func() bool {
		_, fine := m.get("fine")
		broken, _ := m.get("broken")
		panics, _ := m.get("panics")
		return fine > 20 && broken.Failures > 3 && panics.Failures > 3
	})
	if n := slow.Load(); n != 1 {
		t.Errorf("the slow one runs %d times at once", n)
	}
	if r, _ := m.get("broken"); r.Outcome != jobs.Failed || r.Error != "no answer" || !r.LastDone.IsZero() {
		t.Errorf("got %+v", r)
	}
	if r, _ := m.get("panics"); r.Error != "panic: index" {
		t.Errorf("got %+v", r)
	}
	close(release)
	within(t, "the slow one is told of", func() bool {
		r, n := m.get("slow")
		return n > 0 && r.Outcome == jobs.Done && !r.LastDone.IsZero() && r.Took > 0
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "gpu_portal_job_last_done_timestamp_seconds" && len(f.GetMetric()) != 4 {
			t.Errorf("want a time for each job, got %d", len(f.GetMetric()))
		}
	}
	if len(families) != 3 {
		t.Errorf("want three families, got %d", len(families))
	}
}

// What ends something by time waits while the clocks disagree, and is called skipped; a run that was asked for comes at
// once.
func TestTrustedClockAndSoon(t *testing.T) {
	t.Parallel()
	m, ran, trusted := newMemory(), atomic.Int64{}, atomic.Bool{}
	soon := make(chan struct{})
	start(t, jobs.Options{Store: m, Trusted: func(context.Context) bool { return trusted.Load() }, Jobs: []jobs.Job{
		{Name: "purge", Every: time.Hour, TrustedClock: true, Soon: soon,
			Run: func(context.Context) error { ran.Add(1); return nil }},
	}})
	soon <- struct{}{}
	within(t, "it is skipped", func() bool { r, _ := m.get("purge"); return r.Outcome == jobs.Skipped })
	if ran.Load() != 0 {
		t.Error("it ran by a clock that is wrong")
	}
	trusted.Store(true)
	soon <- struct{}{}
	within(t, "it runs", func() bool { r, _ := m.get("purge"); return r.Outcome == jobs.Done && ran.Load() == 1 })
}

// While a cluster carries more than the database knows, only what ends nothing runs.
func TestOnlyWhatEndsNothingRunsWhileHeld(t *testing.T) {
	t.Parallel()
	m, ran := newMemory(), atomic.Int64{}
	start(t, jobs.Options{Store: m, Held: func() bool { return true }, Jobs: []jobs.Job{
		{Name: "expire", Every: time.Hour, AtStart: true, Run: func(context.Context) error { ran.Add(1); return nil }},
		{Name: "poll", Every: time.Hour, AtStart: true, WhileHeld: true, Run: func(context.Context) error { return nil }},
	}})
	within(t, "both are told of", func() bool {
		expire, _ := m.get("expire")
		poll, _ := m.get("poll")
		return expire.Outcome == jobs.Skipped && poll.Outcome == jobs.Done
	})
	if ran.Load() != 0 {
		t.Error("something ended by a database that may be old")
	}
}

// A former leader's counts go on: an alert on failures in a row does not begin anew with each leader.
func TestFailuresGoOnAfterAnotherLeader(t *testing.T) {
	t.Parallel()
	m := newMemory()
	done := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	m.last["settle"] = jobs.Run{Job: "settle", Outcome: jobs.Failed, Failures: 7, LastDone: done}
	start(t, jobs.Options{Store: m, Jobs: []jobs.Job{{Name: "settle", Every: time.Hour, AtStart: true,
		Run: func(context.Context) error { return errors.New("still no answer") }}}})
	within(t, "it ran", func() bool { _, n := m.get("settle"); return n == 1 })
	if r, _ := m.get("settle"); r.Failures != 8 || !r.LastDone.Equal(done) {
		t.Errorf("got %+v", r)
	}
}

// A run has a deadline; one that ends by it failed, and the next one comes.
func TestARunHasADeadline(t *testing.T) {
	t.Parallel()
	m := newMemory()
	start(t, jobs.Options{Store: m, Jobs: []jobs.Job{{Name: "poll", Every: time.Millisecond, Within: time.Millisecond,
		Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}}})
	within(t, "it was cut off twice", func() bool { r, _ := m.get("poll"); return r.Failures >= 2 })
}

func TestClocks(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		off  time.Duration
		err  error
		want bool
	}{
		"agree":                     {0, nil, true},
		"five minutes behind":       {-5 * time.Minute, nil, true},
		"five minutes ahead":        {5 * time.Minute, nil, true},
		"a second more":             {5*time.Minute + time.Second, nil, false},
		"a day behind":              {-24 * time.Hour, nil, false},
		"the database says nothing": {0, errors.New("away"), false},
	} {
		clocks := jobs.Clocks{Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
			Database: func(context.Context) (time.Time, error) { return now.Add(c.off), c.err }}
		if got := clocks.Trusted(t.Context()); got != c.want {
			t.Errorf("%s: want %v, got %v", name, c.want, got)
		}
	}
}
