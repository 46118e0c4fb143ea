package forecast

import (
	"time"
)

// Basis is the kind of data that an estimate is made of.
type Basis string

// The bases.
const (
	Starts    Basis = "starts"    // how long starts of this size took
	Placed    Basis = "placed"    // how long they took from their place on
	Leases    Basis = "leases"    // the leases of those who hold what it could take
	Seats     Basis = "seats"     // the leases of those who hold license seats
	Decisions Basis = "decisions" // how long the team's requests waited for people
)

// Bases lists every basis of a start, for metrics.
func Bases() []Basis { return []Basis{Starts, Placed, Leases} }

// Missing says why there is no estimate.
type Missing string

// Why there is none.
const (
	FewStarts    Missing = "few_starts"    // too few were seen
	FewDecisions Missing = "few_decisions" // likewise
	Overdue      Missing = "overdue"       // it takes longer than nine of ten did
	Stuck        Missing = "stuck"         // it waits for something that no lease's end gives back
	Silent       Missing = "silent"        // what is known of the cluster is old
)

// Estimate is the range of time in which something will be ready. The zero value: nothing is awaited.
type Estimate struct {
	At           time.Time // when it was made
	From         time.Time // zero where there is none
	Until        time.Time // likewise
	Basis        Basis
	Missing      Missing       // why there is none; "" where there is one
	Count        int           // how many starts, leases or decisions it rests on, or were too few
	Median       time.Duration // half of the starts or decisions took no longer
	P90          time.Duration // nine of ten took no longer
	Position     int           // in the queue, from 1 on; 0: not queued
	Lease        time.Time     // the end of the lease that it waits for
	EarlyRelease time.Duration // how long before the end of a lease the size is released, on average
}

// Known reports whether there is one.
func (e Estimate) Known() bool { return !e.Until.IsZero() }

// Awaited reports whether there is something to say, if only that there is no estimate.
func (e Estimate) Awaited() bool { return e.Known() || e.Missing != "" }

// Waits reports whether it has to wait for a place first.
func (e Estimate) Waits() bool { return e.Position > 0 }

func none(why Missing, now time.Time) Estimate { return Estimate{At: now, Missing: why} }

// FromDurations estimates from the durations of earlier starts of the same kind.
func FromDurations(basis Basis, took Distribution, since, now time.Time) Estimate {
	if !took.Enough() {
		e := none(FewStarts, now)
		e.Count = took.Count
		return e
	}
	e := Estimate{At: now, Basis: basis, Count: took.Count, Median: took.Median, P90: took.P90,
		From: later(now, since.Add(took.Median)), Until: since.Add(max(took.P90, shortest))}
	if !e.Until.After(now) {
		return Estimate{At: now, Missing: Overdue, Count: took.Count, Median: took.Median, P90: took.P90}
	}
	return e
}

// shortest keeps a range from being empty.
const shortest = time.Second

// QueuePosition is a place in the queue for devices that leases release.
type QueuePosition struct {
	Basis        Basis
	Position     int           // from 1 on
	At           time.Time     // end of the lease that makes room; zero where none does
	Count        int           // how many leases have to end for that; others that end meanwhile make no room for it
	EarlyRelease time.Duration // how long before their end leases are released, on average
}

// unknownStart is allowed for a start of which too few were seen: a guess, the time after which the page of a workload
// calls a step stuck.
const unknownStart = 2 * time.Minute

// FromQueue estimates a start that is queued: first the lease that ends, then the duration of a start.
func FromQueue(l QueuePosition, start Distribution, now time.Time) Estimate {
	if l.At.IsZero() {
		e := none(Stuck, now)
		e.Position = l.Position
		return e
	}
	if !start.Enough() {
		start = Distribution{P90: unknownStart}
	}
	end := later(now, l.At)
	return Estimate{At: now, Basis: l.Basis, Position: l.Position, Count: l.Count, Lease: l.At,
		EarlyRelease: max(0, l.EarlyRelease),
		From:         later(now, end.Add(-max(0, l.EarlyRelease))).Add(start.Median),
		Until:        end.Add(max(start.P90, shortest))}
}

// FromDecisions estimates a request that needs approval and starts then.
func FromDecisions(took, start Distribution, asked, now time.Time) Estimate {
	if !took.Enough() {
		e := none(FewDecisions, now)
		e.Count = took.Count
		return e
	}
	e := FromDurations(Decisions, took, asked, now)
	if e.Known() && start.Enough() {
		e.From, e.Until = e.From.Add(start.Median), e.Until.Add(start.P90)
	}
	return e
}

// Outcome is whether a start was ready before, within or after its estimate.
type Outcome string

// The outcomes.
const (
	Before Outcome = "before"
	Within Outcome = "within"
	After  Outcome = "after"
)

// Outcomes lists every outcome.
func Outcomes() []Outcome { return []Outcome{Before, Within, After} }

// Evaluate is the error of an estimate: 0 within its range, else the distance to the nearer end.
func (e Estimate) Evaluate(ready time.Time) (off time.Duration, is Outcome) {
	switch {
	case ready.Before(e.From):
		return e.From.Sub(ready), Before
	case ready.After(e.Until):
		return ready.Sub(e.Until), After
	}
	return 0, Within
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
