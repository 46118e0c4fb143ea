// Package session is what the connections of people into their workloads have in common, terminals and tunnels: how
// many there may be, how long they last, and when they end. Nothing of what they pass is known here.
//
// Pool counts the sessions of a person and of the process, and ends them all when the process stops. Begin gives one
// its Life: a context that ends with the session, whose cause says why. A Life ends by the times of Limits, when the
// right or the sign-in of its person is gone, when what it leads to is gone, or when its owner says so.
package session

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Limits are the bounds of a site.
type Limits struct {
	Idle      time.Duration // in which nothing passes
	Longest   time.Duration
	Most      int // sessions at once in this process
	PerPerson int // of those, of one person
}

// Reason is why a session ended.
type Reason string

// The reasons that every session can have.
const (
	Left     Reason = "left"      // the client went away
	Idle     Reason = "idle"      // nothing passed for long
	TooLong  Reason = "too_long"  // the longest time is over
	NoLonger Reason = "no_longer" // the right or the sign-in ended
	PodGone  Reason = "pod_gone"  // or another one is in its place
	Slow     Reason = "slow"      // a side took no bytes
	Stopping Reason = "stopping"  // the portal stops
)

// Words are what a Pool says to those whom it turns away.
type Words struct {
	TooMany  func(most int) i18n.Text // of one person
	Full     func(most int) i18n.Text // of the process
	Stopping i18n.Text
}

// Options holds the settings of a pool.
type Options struct {
	Limits Limits
	Words  Words
	Alive  func(ctx context.Context) bool // whether the caller is still signed in, as when the session began; nil: always
	Every  time.Duration                  // between two looks at the right and the pod; 3 s where 0
}

// Pool has the sessions of a process.
type Pool struct {
	o       Options
	closing context.Context
	close   context.CancelFunc

	mu   sync.Mutex
	all  int
	open map[identity.PersonID]int
	none chan struct{} // closed when no session is left after Close
}

// NewPool makes one without sessions.
func NewPool(o Options) *Pool {
	o.Every = cmp.Or(o.Every, 3*time.Second)
	if o.Alive == nil {
		o.Alive = func(context.Context) bool { return true }
	}
	p := &Pool{o: o, open: map[identity.PersonID]int{}, none: make(chan struct{})}
	p.closing, p.close = context.WithCancel(context.Background())
	return p
}

// Close ends all sessions, since the process stops, and waits until each has given its place back. After it there are
// no others.
func (p *Pool) Close(ctx context.Context) {
	p.mu.Lock()
	if p.closing.Err() == nil {
		p.close()
		p.empty()
	}
	p.mu.Unlock()
	select {
	case <-p.none:
	case <-ctx.Done():
	}
}

// empty tells Close that it need not wait; the lock is held.
func (p *Pool) empty() {
	if p.all == 0 && p.closing.Err() != nil {
		close(p.none)
	}
}

// Running is how many sessions there are.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// Enter takes a place. Leave gives it back, once however often it is called. Faults: TooMany, Unavailable after Close.
func (p *Pool) Enter(id identity.PersonID) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var words i18n.Text
	switch l := p.o.Limits; {
	case p.closing.Err() != nil:
		return nil, fault.New(fault.Unavailable, p.o.Words.Stopping)
	case p.open[id] >= l.PerPerson:
		words = p.o.Words.TooMany(l.PerPerson)
	case p.all >= l.Most:
		words = p.o.Words.Full(l.Most)
	}
	if !words.IsZero() {
		return nil, &fault.Error{Kind: fault.TooMany, Sentence: words, RetryAfter: time.Minute}
	}
	p.open[id]++
	p.all++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.open[id]--; p.open[id] <= 0 {
			delete(p.open, id)
		}
		p.empty()
	}), nil
}

// Check looks again whether a session may go on: NoLonger, PodGone, or "" where it may.
type Check func(ctx context.Context) Reason

// Visits writes down who is inside workloads; see store.Store.
type Visits interface {
	SaveVisits(ctx context.Context, visits []workload.Visit) error
}

// Present is a check that writes down as well, from time to time, that somebody is inside a workload, as the gateway
// does for those who come through it. What cannot be written is tried again with the next look.
func Present(check Check, visits Visits, who identity.PersonID, where workload.ID, now func() time.Time) Check {
	if visits == nil {
		return check
	}
	var written time.Time
	return func(ctx context.Context) Reason {
		reason, at := check(ctx), now()
		if reason == "" && at.Sub(written) >= workload.Inside/3 &&
			visits.SaveVisits(ctx, []workload.Visit{{Workload: where, Person: who, At: at}}) == nil {
			written = at
		}
		return reason
	}
}

// Denied reports whether an error says that there is no right any more. Others say nothing: a store that is away ends
// no session.
func Denied(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden) }

// Life is the time of one session.
type Life struct {
	pool *Pool
	ctx  context.Context
	end  context.CancelCauseFunc
	idle *time.Timer
	free []func() bool
}

// Begin starts the clocks and the looks. Stop must be called.
func (p *Pool) Begin(ctx context.Context, check Check) *Life {
	l := &Life{pool: p}
	l.ctx, l.end = context.WithCancelCause(ctx)
	l.idle = time.AfterFunc(p.o.Limits.Idle, func() { l.End(Idle) })
	longest := time.AfterFunc(p.o.Limits.Longest, func() { l.End(TooLong) })
	l.free = []func() bool{l.idle.Stop, longest.Stop, context.AfterFunc(p.closing, func() { l.End(Stopping) })}
	go l.guard(check)
	return l
}

// Context ends with the session.
func (l *Life) Context() context.Context { return l.ctx }

// Stir says that something passed.
func (l *Life) Stir() { l.idle.Reset(l.pool.o.Limits.Idle) }

// End ends the session; the first reason counts.
func (l *Life) End(r Reason) { l.end(over{r}) }

// Stop stops the clocks and the looks.
func (l *Life) Stop() {
	for _, free := range l.free {
		free()
	}
	l.end(context.Canceled)
}

// Reason is why it ended, and whether it has. A session whose context was cancelled from outside was left.
func (l *Life) Reason() (Reason, bool) {
	var o over
	if errors.As(context.Cause(l.ctx), &o) {
		return o.reason, true
	}
	return Left, l.ctx.Err() != nil
}

// over is the cause of a session's end.
type over struct{ reason Reason }

func (o over) Error() string { return string(o.reason) }

// guard ends a session when who has it may no longer, or its pod went away.
func (l *Life) guard(check Check) {
	tick := time.NewTicker(l.pool.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		r := check(l.ctx)
		if r != NoLonger && !l.pool.o.Alive(l.ctx) {
			r = NoLonger
		}
		if r != "" {
			l.End(r)
		}
	}
}
