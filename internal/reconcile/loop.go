package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/explain"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/trace"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// loop keeps one cluster. Clusters do not wait for each other: each has its own queue, workers and caches.
type loop struct {
	o           Options
	meter       *meter
	stats       *stats
	home        *Controller // knows which cluster a workload lives in, and of all of them
	name        string
	cluster     Cluster
	log         *slog.Logger
	queue       workqueue.TypedRateLimitingInterface[workload.ID]
	current     atomic.Pointer[caches]
	renew       trigger // the caches are to be filled anew
	writer      *writer
	status      *status
	tenants     *tenants
	edits       *edits
	patrol      *patrol
	gate        gate
	checkpoints *checkpoints
	drifted     trigger                                    // the cluster is to be compared with the database
	slots       chan struct{}                              // how many workloads are written to the cluster at once
	dirty       trigger                                    // nodes or pods changed
	volumes     trigger                                    // volumes are to be looked at
	runtimes    atomic.Pointer[[]inventory.ServingRuntime] // of KServe; nil while nobody could list them

	mu       sync.Mutex
	running  map[workload.ID]workload.Workload  // what is asked for its activity
	activity map[workload.ID]*workload.Activity // what it said last
	refused  map[workload.ID]nudge              // pods that the quota refused
	answered map[workload.ID]int64              // the spec by which it answered first
	starts   map[workload.ID]forecast.Start     // as far as they were written
	stock    *inventory.Snapshot                // the last one that was saved
	unseen   map[string]map[workload.ID]bool    // who waits until a namespace can be seen
}

func newLoop(c *Controller, cluster Cluster) *loop {
	l := &loop{o: c.o, meter: c.meter, stats: c.stats, home: c, name: cluster.Name, cluster: cluster,
		log:   c.o.Logger.With("cluster", cluster.Name),
		slots: make(chan struct{}, c.o.Workers), dirty: make(trigger, 1), volumes: make(trigger, 1), renew: make(trigger, 1),
		drifted: make(trigger, 1),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(newBackoff(),
			workqueue.TypedRateLimitingQueueConfig[workload.ID]{}),
		running: map[workload.ID]workload.Workload{}, activity: map[workload.ID]*workload.Activity{},
		refused: map[workload.ID]nudge{}, answered: map[workload.ID]int64{}, starts: map[workload.ID]forecast.Start{},
		unseen: map[string]map[workload.ID]bool{}}
	l.writer = &writer{client: cluster.Client, ledger: newLedger(), now: c.o.Now, log: l.log,
		wrote: func(verb Verb, kind string) { c.stats.writes.WithLabelValues(l.name, kind, string(verb)).Inc() }}
	l.edits, l.patrol = newEdits(), newPatrol()
	l.writer.onRepair = l.reportRepair
	l.status = newStatus(cluster.Name, c.o.Now)
	l.tenants, l.checkpoints = newTenants(l), &checkpoints{loop: l}
	return l
}

// prepare makes caches that are still empty.
func (l *loop) prepare() error {
	site := l.o.KubeSite(l.name)
	c, err := newCaches(l.cluster.Client, cachesOptions{stock: newStock(l.name, l.holder), access: site.Access,
		mine: func(o kube.Owner) bool { return o.Instance == site.Instance }, changed: l.onChange,
		inventoryChanged: l.dirty.fire,
		namespaceChanged: l.namespaceTold})
	if err == nil {
		l.current.Store(c)
	}
	return err
}

func (l *loop) caches() *caches { return l.current.Load() }

// watch fills the caches and keeps them up to date. After the API server was away they are filled anew: a watch that
// was cut waits for up to a minute before it tries again, and until then it would pass off what it knows as fresh.
func (l *loop) watch(ctx context.Context) {
	for ctx.Err() == nil {
		inner, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { l.caches().run(inner) })
		select {
		case <-ctx.Done():
		case <-l.renew:
		}
		stop()
		wg.Wait()
	}
}

// run works until the context ends.
func (l *loop) run(ctx context.Context) {
	ctx = logging.With(ctx, logging.Cluster, l.name)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { l.watch(ctx) })
	wg.Go(func() { l.status.watch(ctx, l) })
	wg.Go(func() { l.takeStock(ctx) })
	wg.Go(func() { l.lookForRuntimes(ctx) })
	wg.Go(func() { l.tidy(ctx) })
	wg.Go(func() { l.patrolAlways(ctx) })
	wg.Go(func() { l.watchDrift(ctx) })
	wg.Go(func() { l.checkpointAlways(ctx) })
	if l.o.Prober != nil {
		wg.Go(func() { l.probeAlways(ctx) })
	}
	for range 4 * l.o.Workers { // more than write to the cluster at once: most of the time others wait for the database
		wg.Go(func() { l.work(ctx) })
	}
	wg.Go(func() { l.tenants.work(ctx) })
	<-ctx.Done()
	l.queue.ShutDown()
	l.tenants.queue.ShutDown()
}

func (l *loop) work(ctx context.Context) {
	for {
		id, stop := l.queue.Get()
		if stop {
			return
		}
		l.attend(ctx, id)
		l.queue.Done(id)
	}
}

// attend looks after one workload and says when to look again.
func (l *loop) attend(ctx context.Context, id workload.ID) {
	if ctx.Err() != nil {
		return
	}
	ctx = logging.With(ctx, logging.Workload, string(id))
	begun := time.Now()
	again, err := l.pass(ctx, id)
	l.stats.took(l.name, err, time.Since(begun))
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !fault.Is(err, fault.Conflict) && !errors.Is(err, errListingNamespace) {
			l.log.WarnContext(ctx, "reconcile", "error", err)
		}
		l.queue.AddRateLimited(id)
	default:
		l.queue.Forget(id)
		if again > 0 {
			l.queue.AddAfter(id, again)
		}
	}
}

// pass is one reconcile with a deadline.
func (l *loop) pass(ctx context.Context, id workload.ID) (time.Duration, error) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/workload", passWithin+jobs.Overrun)
	defer beat.End()
	ctx, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	return l.reconcile(ctx, id)
}

// reconcile brings one workload and its cluster together: read the spec, carry it out, observe, advance, save what is
// new.
func (l *loop) reconcile(ctx context.Context, id workload.ID) (again time.Duration, err error) {
	w, err := l.o.Store.Workload(ctx, id)
	if fault.Is(err, fault.NotFound) {
		l.untrack(id)
		l.drifted.fire() // an object names it
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if home := l.home.assign(w); home != l {
		l.untrack(id)
		if home != nil {
			home.queue.Add(id)
			return 0, nil
		}
		return l.cleanUp(ctx, w)
	}
	if w.Unsettled() { // what only is confirmed from minute to minute is no news
		var span trace.Span
		ctx, span = l.o.Traces.Begin(ctx, "reconcile", w.Trace)
		span.Set("workload", string(w.ID), "cluster", l.name, "generation", strconv.FormatInt(w.Generation, 10), "state",
			string(w.State))
		defer func() { span.End(err) }()
	}
	next, events := w, []audit.Event(nil)
	now := l.o.Now()
	seen, trouble := l.carryOut(ctx, w)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if seen.known {
		now = l.o.Now()
		next, events = workload.Advance(w, seen.observation, now)
		if after, ended := workload.EndLease(next, l.o.Warnings, now); len(ended) > 0 {
			if l.home.trusted(ctx) {
				next, events = after, append(events, ended...)
			} else {
				seen.again = sooner(seen.again, clockRetry)
			}
		}
	}
	if err := l.save(ctx, w, next, events, seen.known, now); err != nil {
		return 0, err
	}
	if l.firstReady(w, next) {
		l.stats.observeReady(next, now)
	}
	l.track(next)
	if trouble != nil {
		return 0, trouble
	}
	if next.Generation != w.Generation || next.Deadline() != w.Deadline() {
		return time.Millisecond, nil
	}
	return l.soonest(next, seen.again, now), nil
}

// cleanUp removes what is there of a workload that has ended: a leader that was asleep can have made it after the end,
// and nobody else would look at it again.
func (l *loop) cleanUp(ctx context.Context, w workload.Workload) (again time.Duration, err error) {
	if w.State != workload.Ended || w.Cluster != l.name {
		return 0, nil
	}
	if !l.may(drift.Workload, string(w.ID)) {
		return lastingRetry, nil
	}
	if l.visible(w) != nil {
		return lastingRetry, nil
	}
	return l.settleObjects(ctx, w)
}

// save writes what is new in one transaction, and nothing when nothing is.
func (l *loop) save(ctx context.Context, before, after workload.Workload, events []audit.Event, observed bool,
	now time.Time) error {
	var change *usage.Interval
	if observed {
		var err error
		if change, err = l.meter.change(ctx, before, after, now); err != nil {
			return err
		}
	}
	var start *forecast.Start
	if observed {
		var err error
		if start, err = l.startOf(ctx, after, now); err != nil {
			return err
		}
	}
	var starts []forecast.Start
	if start != nil {
		starts = append(starts, *start)
	}
	if len(events) == 0 && change == nil && start == nil && !worthSaving(before, after, l.o.Every.Confirm) {
		return nil
	}
	failed := l.home.expect(after.ID)
	err := l.o.Store.SaveObserved(ctx, after, events, change, starts...)
	l.meter.saved(after, change, err)
	l.startSaved(start, err)
	if err != nil {
		failed()
	}
	return err
}

// soonest is when a workload must be looked at again though nothing happens: a lease that ends is not left to chance.
func (l *loop) soonest(w workload.Workload, again time.Duration, now time.Time) time.Duration {
	least := again
	if w.Desired == workload.WantRunning && !w.Lease.Until.IsZero() {
		if warn := l.o.Warnings.Next(w.Lease, w.WarnedAt); !warn.IsZero() {
			least = sooner(least, warn.Sub(now))
		}
		least = sooner(least, w.Lease.Until.Sub(now))
	}
	if at := w.Deadline(); w.Image.NeedsJobSet() && w.Desired == workload.WantRunning && !at.IsZero() {
		least = sooner(least, max(at.Sub(now), time.Second))
	}
	if r := w.Revisions.Rollout; r != nil {
		least = sooner(least, max(r.Deadline.Sub(now), time.Millisecond))
	}
	if w.Observed.PodPresent || w.Desired == workload.WantRunning {
		least = sooner(least, jitter(l.o.Every.Confirm))
	}
	if w.Desired == workload.WantDeleted && w.State != workload.Ended {
		// the last of it may go unnoticed: an event of a pod whose owner is gone leads to nobody
		least = sooner(least, jitter(l.o.Every.Confirm/6))
	}
	return least
}

// outcome is what applying the desired objects has shown.
type outcome struct {
	observation workload.Observation
	known       bool          // false: the cluster could not be asked, and what was known before stays
	again       time.Duration // when to look again; 0 for nothing special
}

// carryOut makes the cluster what the workload wants and says what it is now. Nothing is concluded while the cluster
// does not answer, or is held. The error asks for another try.
func (l *loop) carryOut(ctx context.Context, w workload.Workload) (outcome, error) {
	if !l.may(drift.Workload, string(w.ID)) {
		return outcome{}, nil
	}
	var s outcome
	err := l.prepareTenant(ctx, w)
	if err == nil {
		err = l.visible(w)
	}
	if err == nil {
		s.again, err = l.settleObjects(ctx, w)
	}
	t := applyErrorOf(err)
	if t.unreachable {
		return outcome{}, err
	}
	if unseen := l.visible(w); unseen != nil {
		return l.unseenNow(w, errors.Join(err, unseen))
	}
	l.recheckRights(w, t)
	m := l.gather(w)
	if s.observation, s.known = l.observe(ctx, w, m, t); !s.known {
		return s, errors.Join(err, errCannotTell)
	}
	if unseen := l.visible(w); unseen != nil { // the namespace went while it was looked at
		return outcome{}, unseen
	}
	if late := l.confirm(ctx, w, s.observation, m); late != nil {
		return outcome{}, errors.Join(err, late)
	}
	s.again = sooner(s.again, l.nudgeRefused(ctx, w, m))
	s.again = sooner(s.again, explain.SchedulerGrace(m.pod(), l.o.Now()))
	if t.terminal {
		s.again = lastingRetry
		return s, nil
	}
	return s, err
}

// prepareTenant makes the namespace before anything starts in it. A workload that shall stop does not need a tenant
// that is in order.
func (l *loop) prepareTenant(ctx context.Context, w workload.Workload) error {
	if w.Desired == workload.WantDeleted || w.Desired == workload.Finished {
		return nil
	}
	_, err := l.tenants.ensure(ctx, w.Tenant)
	if w.Desired == workload.WantStopped && applyErrorOf(err).terminal && l.caches().within(w.Namespace) != nil {
		return nil
	}
	return err
}

// sooner is the shorter of two pauses; 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// lastingRetry is the pause after a refusal that somebody must do something about.
const lastingRetry = time.Minute

var errCannotTell = errors.New("the cluster did not say what is there")

// settleObjects applies the difference. The time it returns is when a write that was held back is due.
func (l *loop) settleObjects(ctx context.Context, w workload.Workload) (time.Duration, error) {
	desired, err := l.wanted(ctx, w)
	if err != nil {
		return 0, err
	}
	if desired, err = l.served(w, desired); err != nil {
		return 0, err
	}
	desired.Old = l.replaced(w, desired)
	found := l.existing(slices.Concat(desired.Objects, desired.Old))
	l.edits.show(w.ID, desired, found, l.podEdits(w))
	steps := Diff(desired, found)
	if len(steps) == 0 {
		return 0, nil
	}
	if err := l.stillWanted(ctx, w, steps); err != nil {
		return 0, err
	}
	if err := l.checkpoints.cover(ctx, w.Namespace); err != nil {
		return 0, err
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return l.writer.apply(ctx, steps)
}

// stillWanted reads the row again before anything is changed or deleted: a leader that was asleep may hold an old spec.
// What it falls asleep over after that is for the version in each step.
func (l *loop) stillWanted(ctx context.Context, w workload.Workload, steps []Step) error {
	for _, s := range steps {
		if s.Verb == Create {
			continue
		}
		fresh, err := l.o.Store.Workload(ctx, w.ID)
		if err == nil && fresh.Generation != w.Generation {
			err = errOutdated
		}
		return err
	}
	return nil
}

var errOutdated = errors.New("the spec has changed meanwhile")

// firstSeen reports whether a workload answers for the first time since it was told to run: one that fell over and came
// back has not been started anew.
func (l *loop) firstReady(before, after workload.Workload) bool {
	if after.State != workload.Running {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.answered[after.ID] == after.Generation
	l.answered[after.ID] = after.Generation
	return !known && before.State != workload.Running
}

// track keeps what the activity probe needs, and forgets what has ended.
func (l *loop) track(w workload.Workload) {
	if w.State == workload.Ended {
		l.untrack(w.ID)
		l.home.assign(w)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.State == workload.Running && w.Image.Auth == "token" {
		l.running[w.ID] = w
		return
	}
	delete(l.running, w.ID)
	delete(l.activity, w.ID)
}

func (l *loop) untrack(id workload.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, id)
	delete(l.activity, id)
	delete(l.refused, id)
	delete(l.answered, id)
	delete(l.starts, id)
	l.edits.forget(id)
}
