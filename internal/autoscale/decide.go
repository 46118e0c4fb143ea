package autoscale

import (
	"math"
	"time"
)

// Tolerance is how far the load may be from what the replicas are there for before their number changes.
const Tolerance = 0.1

// MaxGap is how far two measurements may lie apart before what was in between counts as unknown.
const MaxGap = 45 * time.Second

// Load is what was measured of an endpoint, all replicas together. What was not measured is not zero: see Known and
// Quiet.
type Load struct {
	At    time.Time
	Value float64 // of the policy's metric
	Known bool    // Value was measured
	// Quiet reports that every gateway told of the endpoint, and that no request is under way anywhere.
	Quiet       bool
	LastRequest time.Time // the newest that any gateway saw; zero for none
}

// Usable reports whether the value was measured, and can be one.
func (l Load) Usable() bool {
	return l.Known && !math.IsNaN(l.Value) && !math.IsInf(l.Value, 0) && l.Value >= 0
}

// Scale is what there is and what there may be.
type Scale struct {
	Min, Max int // replicas; Min 0 lets it sleep
	Current  int // wanted now, at least 1
	// ReadySince is when the first replica answered; zero while none does. What waits for a GPU or loads its model has had
	// no chance to get a request.
	ReadySince time.Time
}

// History is what would have been enough at each measurement of the stabilization window. The zero History knows of
// nothing, as after a restart: nothing is taken away before a window is full again.
type History []Point

// Point is how many replicas were enough at one moment.
type Point struct {
	At     time.Time
	Enough int
}

// Reason says what a decision rests on.
type Reason string

// The reasons.
const (
	Steady    Reason = "steady"    // within the tolerance, or inside of the window
	Up        Reason = "up"        // more is needed
	Down      Reason = "down"      // less was enough in all of the window
	Sleep     Reason = "sleep"     // no requests
	Unknown   Reason = "unknown"   // not measured
	Beginning Reason = "beginning" // no replica answers yet
)

// Decide says how many replicas there should be, and what is to be kept for the next decision.
func Decide(p Policy, s Scale, l Load, h History) (wanted int, why Reason, next History) {
	if s.ReadySince.IsZero() {
		return s.Current, Beginning, nil
	}
	if p.quiet(s, l) {
		return 0, Sleep, nil
	}
	if !p.Automatic() {
		return s.Current, Steady, nil
	}
	if !l.Usable() {
		return s.Current, Unknown, nil
	}
	enough := p.enough(s, l.Value)
	next = h.with(Point{l.At, enough}, p.ScaleDownAfter.Std())
	switch {
	case enough > s.Current:
		return enough, Up, next
	case enough == s.Current || !next.covers(l.At, p.ScaleDownAfter.Std()):
		return bounded(s.Current, s), Steady, next
	}
	if most := next.most(); most < s.Current {
		return most, Down, next
	}
	return bounded(s.Current, s), Steady, next
}

// quiet reports whether an endpoint may sleep. The time counts from the last request, and from when it could have
// answered one at all.
func (p Policy) quiet(s Scale, l Load) bool {
	if p.ToZeroAfter <= 0 || s.Min > 0 || !l.Quiet {
		return false
	}
	since := s.ReadySince
	if l.LastRequest.After(since) {
		since = l.LastRequest
	}
	return l.At.Sub(since) >= p.ToZeroAfter.Std()
}

// enough is how many replicas bring a load down to the target, within the bounds.
func (p Policy) enough(s Scale, value float64) int {
	if p.Target <= 0 {
		return bounded(s.Current, s)
	}
	if there := p.Target * float64(s.Current); math.Abs(value-there) <= Tolerance*there+1e-9 {
		return bounded(s.Current, s)
	}
	n := math.Ceil(value/p.Target - 1e-9)
	return bounded(int(min(n, float64(s.Max))), s)
}

// bounded keeps a number within the range; one replica is the least of what does not sleep.
func bounded(n int, s Scale) int { return min(max(n, s.Min, 1), max(s.Max, s.Min, 1)) }

// with adds a measurement and forgets what is over. A gap, or a clock that was set back, begins anew.
func (h History) with(p Point, window time.Duration) History {
	if n := len(h); n > 0 {
		if gap := p.At.Sub(h[n-1].At); gap < 0 || gap > MaxGap {
			h = nil
		}
	}
	first := 0
	for first < len(h) && first+1 < len(h) && !h[first+1].At.After(p.At.Add(-window)) {
		first++ // the one before the window's beginning stays: it shows that the window is whole
	}
	return append(append(History(nil), h[first:]...), p)
}

// covers reports whether all of a window was measured.
func (h History) covers(now time.Time, window time.Duration) bool {
	return len(h) > 0 && !h[0].At.After(now.Add(-window))
}

func (h History) most() (n int) {
	for _, p := range h {
		n = max(n, p.Enough)
	}
	return n
}
