package jobs

import (
	"context"
	"slices"
	"testing"
	"time"
)

// dog is a watchdog with a clock of its own and a count of renewals.
func dog() (d *Watchdog, pass func(time.Duration), renewals *int) {
	now, n := time.Unix(0, 0), 0
	d = NewWatchdog(func(context.Context) error { n++; return nil }, 3*time.Second)
	d.now = func() time.Time { return now }
	return d, func(by time.Duration) { now = now.Add(by) }, &n
}

func hung(d *Watchdog) (names []string) {
	for _, c := range d.Checks() {
		if c.Hung {
			names = append(names, c.Name)
		}
	}
	return names
}

// Any loop renews the lease when that is due, and none does while another one hangs: a leader with a loop that hangs
// loses its lease.
func TestLoopsRenewTheLeaseUnlessOneHangs(t *testing.T) {
	d, pass, renewals := dog()
	ctx := t.Context()
	a, b := d.Begin(ctx, "a", 10*time.Second), d.Begin(ctx, "b", 10*time.Second)
	if *renewals != 1 {
		t.Fatalf("want the first sign of life to renew, got %d", *renewals)
	}
	pass(2 * time.Second)
	a.Beat(ctx, 10*time.Second)
	if *renewals != 1 {
		t.Error("renewed before it was due")
	}
	for range 4 { // b hangs from here on
		pass(2 * time.Second)
		a.Beat(ctx, 10*time.Second)
	}
	if *renewals != 3 || len(hung(d)) > 0 {
		t.Errorf("b is late by 10 s, which is no more than its limit: %d renewals, hung %v", *renewals, hung(d))
	}
	for range 10 {
		pass(2 * time.Second)
		a.Beat(ctx, 10*time.Second)
	}
	if *renewals != 3 || !slices.Equal(hung(d), []string{"b"}) {
		t.Errorf("b hangs and the lease is renewed: %d renewals, hung %v", *renewals, hung(d))
	}
	b.Beat(ctx, 10*time.Second)
	if *renewals != 4 || len(hung(d)) > 0 {
		t.Errorf("b lives again: %d renewals, hung %v", *renewals, hung(d))
	}
	b.End()
	pass(11 * time.Second)
	if !slices.Equal(hung(d), []string{"a"}) {
		t.Errorf("b has ended and hangs no more: %v", hung(d))
	}
}

// A process in which nothing runs renews nothing: there is no goroutine of the watchdog's own.
func TestNobodyElseRenews(t *testing.T) {
	d, pass, renewals := dog()
	d.Begin(t.Context(), "a", time.Second)
	pass(time.Hour)
	d.Checks()
	if *renewals != 1 {
		t.Errorf("renewed without a sign of life: %d", *renewals)
	}
}

// A loop that waits is alive for as long as it waits, and without a watchdog everything works as well.
func TestAwait(t *testing.T) {
	d := NewWatchdog(nil, 0)
	for name, l := range map[string]*Loop{"watched": d.Begin(t.Context(), "a", time.Hour),
		"not watched": (*Watchdog)(nil).Begin(t.Context(), "b", time.Hour)} {
		c := make(chan int, 1)
		c <- 7
		if v, why := Await(t.Context(), l, c, 0); v != 7 || why != Rung {
			t.Errorf("%s: got %d %v", name, v, why)
		}
		if _, why := Await(t.Context(), l, c, time.Millisecond); why != Elapsed {
			t.Errorf("%s: got %v", name, why)
		}
		close(c)
		if _, why := Await(t.Context(), l, c, 0); why != Ended {
			t.Errorf("%s: got %v", name, why)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if Sleep(over, l, time.Hour) {
			t.Errorf("%s: slept on after the end", name)
		}
		l.End()
	}
	if n := len(d.Checks()); n != 0 {
		t.Errorf("want no loop left, got %d", n)
	}
}
