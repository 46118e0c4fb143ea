package reconcile

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
)

// tenants makes each tenant's namespace with its rules before anything is put into it: once for each state of tenant
// and catalog, again when something of it changes in the cluster, and every few minutes.
type tenants struct {
	loop  *loop
	queue workqueue.TypedRateLimitingInterface[string]

	mu     sync.Mutex
	states map[string]*tenantState
}

type tenantState struct {
	doubted atomic.Bool // something of it changed in the cluster

	mu     sync.Mutex
	looked time.Time // when the configuration was last looked at
	now    string    // what it is to be made from, as of then
	print  string    // of what it was made from
	fresh  time.Time // until when it is taken as right
	err    error     // a refusal, kept for as long
}

const (
	tenantFresh   = 5 * time.Minute
	tenantRefused = 10 * time.Second
	tenantKnown   = time.Second // what a tenant is made from: working it out costs a millisecond with a big catalog
)

func newTenants(l *loop) *tenants {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, longestRepair)
	return &tenants{loop: l, states: map[string]*tenantState{}, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// work puts right what somebody changed of a tenant's own objects, also while none of its workloads asks for it.
func (t *tenants) work(ctx context.Context) {
	for {
		name, stop := t.queue.Get()
		if stop {
			return
		}
		again, err := time.Duration(0), error(nil)
		if t.loop.acts() && t.loop.gate.open() {
			again, err = t.pass(ctx, name)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			t.loop.log.WarnContext(ctx, "keep the tenant's own objects", "tenant", name, "error", err)
			t.queue.AddRateLimited(name)
		default:
			t.queue.Forget(name)
			if again > 0 {
				t.invalidate(name, again)
			}
		}
		t.queue.Done(name)
	}
}

// pass is one ensure with a deadline.
func (t *tenants) pass(ctx context.Context, name string) (time.Duration, error) {
	beat := t.loop.o.Watchdog.Begin(ctx, "cluster/"+t.loop.name+"/tenant", passWithin+jobs.Overrun)
	defer beat.End()
	ctx, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	return t.ensure(ctx, name)
}

func (t *tenants) state(name string) *tenantState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.states[name]
	if s == nil {
		s = &tenantState{}
		t.states[name] = s
	}
	return s
}

// invalidate lets one tenant be looked at again, soon; doubt lets all, when they are next needed. A tenant that nothing
// runs for is not looked at.
func (t *tenants) invalidate(name string, soon time.Duration) {
	t.mu.Lock()
	s := t.states[name]
	t.mu.Unlock()
	if s != nil {
		s.doubted.Store(true)
		t.queue.AddAfter(name, soon)
	}
}

// revise looks at what each tenant is to be made from, as soon as that is not taken as known any more.
func (t *tenants) revise() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.states {
		t.queue.AddAfter(name, tenantKnown+tenantKnown/10)
	}
}

func (t *tenants) invalidateAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states = map[string]*tenantState{}
}

// ensure makes what the tenant needs. Workloads of one tenant wait for each other here, those of different tenants do
// not. The time is when a repair that was held back is due.
func (t *tenants) ensure(ctx context.Context, name string) (again time.Duration, err error) {
	s := t.state(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := t.loop.o.Now()
	if now.Sub(s.looked) > tenantKnown || now.Before(s.looked) {
		print, err := t.loop.tenantPrint(name)
		if err != nil {
			return 0, err
		}
		s.now, s.looked = print, now
	}
	print := s.now
	if !s.doubted.Swap(false) && s.print == print && now.Before(s.fresh) {
		return 0, s.err
	}
	objects, err := t.loop.tenantObjects(name)
	if err != nil {
		return 0, err
	}
	again, err = t.loop.settleTenant(ctx, name, objects)
	s.print, s.fresh, s.err = "", time.Time{}, nil
	switch trouble := applyErrorOf(err); {
	case err == nil:
		s.print, s.fresh = print, now.Add(sooner(tenantFresh, again)) // a repair that was held back is not right yet
	case trouble.terminal:
		s.print, s.fresh, s.err = print, now.Add(tenantRefused), fmt.Errorf("tenant %s: %w", name, err)
	}
	return again, err
}

func unknownTenant(name string) error {
	return fault.New(fault.NotFound, i18n.T("reconcile.tenant_unknown", "Tenant", name))
}
