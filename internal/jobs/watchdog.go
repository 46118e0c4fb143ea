package jobs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// beatEvery is how often a loop that waits says that it lives, and idleLimit how long it may be late with that.
	beatEvery = 2 * time.Second
	idleLimit = 10 * time.Second
	// Overrun is how long after its deadline a pass may still run before it counts as hung: its context is over.
	Overrun = 10 * time.Second
)

// Watchdog knows the loops of a process and when each of them has to give the next sign of life. The loops themselves
// renew the leader's lease with it: none does while one of them is late, so a leader with a loop that hangs loses its
// lease, and a process that stands still renews nothing. Safe for concurrent use.
type Watchdog struct {
	renew func(ctx context.Context) error
	every time.Duration
	now   func() time.Time // monotonic

	mu       sync.Mutex
	loops    map[*Loop]struct{}
	renewed  time.Time // when the last renewal began
	renewing bool
}

// NewWatchdog makes a watchdog. Renew is called by loops, one at a time and at most so often; nil: there is no lease.
func NewWatchdog(renew func(ctx context.Context) error, every time.Duration) *Watchdog {
	return &Watchdog{renew: renew, every: every, now: time.Now, loops: map[*Loop]struct{}{}}
}

// Loop is one loop, or one pass of a worker. All methods do nothing on nil, for loops that nobody watches.
type Loop struct {
	dog  *Watchdog
	name string

	// guarded by dog.mu
	beat  time.Time // the last sign of life
	limit time.Duration
}

// Begin adds a loop that will beat or end within the limit. Nil where there is no watchdog.
func (d *Watchdog) Begin(ctx context.Context, name string, limit time.Duration) *Loop {
	if d == nil {
		return nil
	}
	l := &Loop{dog: d, name: name}
	d.mu.Lock()
	d.loops[l] = struct{}{}
	d.mu.Unlock()
	l.Beat(ctx, limit)
	return l
}

// Beat is a sign of life; the next one has to come within the limit. It renews the lease where that is due.
func (l *Loop) Beat(ctx context.Context, limit time.Duration) {
	if l == nil {
		return
	}
	l.dog.mu.Lock()
	l.beat, l.limit = l.dog.now(), limit
	l.dog.mu.Unlock()
	l.dog.renewWhenDue(ctx)
}

// End takes the loop off the list.
func (l *Loop) End() {
	if l == nil {
		return
	}
	l.dog.mu.Lock()
	defer l.dog.mu.Unlock()
	delete(l.dog.loops, l)
}

func (d *Watchdog) renewWhenDue(ctx context.Context) {
	if !d.takeRenewal(ctx) {
		return
	}
	_ = d.renew(ctx) // the store logs it, and ends the term when it cannot be renewed in time
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renewing = false
}

func (d *Watchdog) takeRenewal(ctx context.Context) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.renew == nil || d.renewing || ctx.Err() != nil || now.Sub(d.renewed) < d.every || len(d.late(now)) > 0 {
		return false
	}
	d.renewing, d.renewed = true, now
	return true
}

// Check is what is known of one loop.
type Check struct {
	Name  string
	Since time.Duration // since the last sign of life
	Hung  bool          // it is late
}

// Checks lists the loops by name.
func (d *Watchdog) Checks() []Check {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	list := make([]Check, 0, len(d.loops))
	for l := range d.loops {
		since := now.Sub(l.beat)
		list = append(list, Check{Name: l.name, Since: since, Hung: since > l.limit})
	}
	slices.SortFunc(list, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (d *Watchdog) late(now time.Time) (names []string) {
	for l := range d.loops {
		if now.Sub(l.beat) > l.limit {
			names = append(names, l.name)
		}
	}
	return names
}

// Woken is why a wait is over.
type Woken int

// Reasons why a wait is over.
const (
	Ended   Woken = iota // the context ended, or the channel was closed
	Rung                 // a value came
	Elapsed              // the time passed
)

// Await waits for a value of c, at most for d, and beats meanwhile; 0 waits for as long as it takes.
func Await[T any](ctx context.Context, l *Loop, c <-chan T, d time.Duration) (v T, why Woken) {
	var elapsed <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		elapsed = timer.C
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		l.Beat(ctx, idleLimit)
		select {
		case <-ctx.Done():
			return v, Ended
		case v, open := <-c:
			if !open {
				return v, Ended
			}
			return v, Rung
		case <-elapsed:
			return v, Elapsed
		case <-tick.C:
		}
	}
}

// Sleep waits and beats meanwhile; false when the context ended before.
func Sleep(ctx context.Context, l *Loop, d time.Duration) bool {
	_, why := Await[struct{}](ctx, l, nil, max(d, 1))
	return why == Elapsed
}
