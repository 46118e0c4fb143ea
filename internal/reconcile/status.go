package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
)

// status says whether a cluster answers. Nothing is written, stopped or charged while it does not.
type status struct {
	now func() time.Time

	mu      sync.Mutex
	current ClusterStatus
	lost    bool // of the probing goroutine alone: it did not answer since the caches were filled
}

var (
	errNotAsked    = errors.New("the cluster has not been asked yet")
	errNotCompared = errors.New("the cluster was not compared with the database yet")
	errListing     = errors.New("what the cluster has is still being listed")
)

func newStatus(name string, now func() time.Time) *status {
	return &status{now: now, current: ClusterStatus{Name: name, Since: now(), Err: errNotAsked.Error()}}
}

func (s *status) get() ClusterStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

func (s *status) ok() bool { return s.get().OK }

// set notes the outcome of a probe and reports whether the cluster has just come back.
func (s *status) set(err error) (back bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.current.OK
	s.current.OK, s.current.Err = err == nil, ""
	if err != nil {
		s.current.Err = err.Error()
	}
	if was != s.current.OK {
		s.current.Since = s.now()
	}
	return !was && s.current.OK
}

// watch probes until the context ends. When the cluster comes back, everything is looked at: specs have queued up. The
// client's own rate keeps the peak in bounds, and each workload waits its turn in the queue.
func (s *status) watch(ctx context.Context, l *loop) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/probe", l.o.Every.Probe+jobs.Overrun)
	defer beat.End()
	for {
		beat.Beat(ctx, l.o.Every.Probe+jobs.Overrun)
		l.passLocks()
		err := l.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		was := s.ok()
		if err == nil && (!was || !l.gate.wasChecked()) {
			beat.Beat(ctx, passWithin+jobs.Overrun)
			if err = bounded(ctx, l.verify); err != nil && ctx.Err() == nil {
				l.log.WarnContext(ctx, "compare the checkpoint of the cluster with the database", "error", err)
			}
			if err != nil && ctx.Err() == nil {
				err = errNotCompared
			}
		}
		beat.Beat(ctx, databaseWithin)
		if s.set(err) {
			l.log.InfoContext(ctx, "the cluster answers")
			l.tenants.invalidateAll()
			l.home.compare(ctx)
			l.dirty.fire()
			l.patrol.trigger.fire()
		} else if was && err != nil {
			l.log.WarnContext(ctx, "the cluster does not answer", "error", err)
		}
		pause := l.o.Every.Probe
		switch {
		case errors.Is(err, errListing):
			pause = min(pause, 100*time.Millisecond)
		case errors.Is(err, errNotCompared):
			pause = min(pause, time.Second)
		}
		if !jobs.Sleep(ctx, beat, jitter(pause)) {
			return
		}
	}
}

// passLocks waits for each lock that the workers share, so that a deadlock among them ends the loop's signs of life.
func (l *loop) passLocks() {
	for _, mu := range []sync.Locker{&l.mu, &l.home.mu, &l.tenants.mu} {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // only to have had it
	}
}

// probe asks the API server whether it is ready, and the caches whether they have been filled since it was away.
func (l *loop) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.Every.Probe)
	defer cancel()
	if err := ready(ctx, l.cluster.Client); err != nil {
		l.status.lost = true
		return err
	}
	if l.status.lost {
		if err := l.prepare(); err != nil {
			return err
		}
		l.status.lost = false
		l.renew.fire()
		return errListing
	}
	if err := l.caches().learn(ctx, l.o.Now()); err != nil {
		return err
	}
	if !l.caches().synced() {
		return errListing
	}
	return nil
}

func ready(ctx context.Context, client kubernetes.Interface) error {
	if c := client.Discovery().RESTClient(); c != nil {
		_, err := c.Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	}
	_, err := client.Discovery().ServerVersion() // a fake has no REST client
	return err
}
