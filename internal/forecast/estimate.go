package forecast

import (
	"time"
)

// Basis is what an estimate rests on.
type Basis string

// The bases.
const (
	Starts    Basis = "starts"    // how long starts of this size took
	Placed    Basis = "placed"    // how long they took from their place on
	Leases    Basis = "leases"    // the leases of those who hold what it could take
	Seats     Basis = "seats"     // the leases of those who hold license seats
	Decisions Basis = "decisions" // how long the team's requests waited for people
)

// Bases lists every basis of a start, for those who count by it.
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

// Estimate is between when and when something will be ready. The zero value is that of what is not awaited.
type Estimate struct {
	At      time.Time // when it was made
	From    time.Time // zero where there is none
	Until   time.Time // likewise
	Basis   Basis
	Missing Missing       // why there is none; "" where there is one
	Count   int           // how many starts, leases or decisions it rests on, or were too few
	Usual   time.Duration // what half of the starts or decisions took at most
	Most    time.Duration // what nine of ten took at most
	Place   int           // in the line; 0 where it waits in none
	Lease   time.Time     // the end of the lease that it waits for
	Early   time.Duration // how much earlier than that such a one is given back, on average
}

// Known reports whether there is one.
func (e Estimate) Known() bool { return !e.Until.IsZero() }

// Awaited reports whether there is something to say, if only that there is no estimate.
func (e Estimate) Awaited() bool { return e.Known() || e.Missing != "" }

// Waits reports whether it has to wait for a place first.
func (e Estimate) Waits() bool { return e.Place > 0 }

func none(why Missing, now time.Time) Estimate { return Estimate{At: now, Missing: why} }

// Begin is the estimate for something under way since a moment, by how long others of its kind took.
func Begin(basis Basis, took Spread, since, now time.Time) Estimate {
	if !took.Enough() {
		e := none(FewStarts, now)
		e.Count = took.Count
		return e
	}
	e := Estimate{At: now, Basis: basis, Count: took.Count, Usual: took.Median, Most: took.Most,
		From: later(now, since.Add(took.Median)), Until: since.Add(max(took.Most, shortest))}
	if !e.Until.After(now) {
		return Estimate{At: now, Missing: Overdue, Count: took.Count, Usual: took.Median, Most: took.Most}
	}
	return e
}

// shortest keeps a range from being empty.
const shortest = time.Second

// Line is a line for something that leases give back.
type Line struct {
	Basis Basis
	Place int           // in it, from 1 on
	At    time.Time     // end of the lease that gives it its place; zero where no lease does
	Count int           // how many leases have to end for that; others that end meanwhile are of no use to it
	Early time.Duration // how much earlier than they end they are given back, on average
}

// unknownStart is allowed for a start of which too few were seen: a guess, the time after which the page of a workload
// calls a step stuck.
const unknownStart = 2 * time.Minute

// Wait is the estimate for something that stands in a line and then has to start.
func Wait(l Line, start Spread, now time.Time) Estimate {
	if l.At.IsZero() {
		e := none(Stuck, now)
		e.Place = l.Place
		return e
	}
	if !start.Enough() {
		start = Spread{Most: unknownStart}
	}
	end := later(now, l.At)
	return Estimate{At: now, Basis: l.Basis, Place: l.Place, Count: l.Count, Lease: l.At,
		Early: max(0, l.Early),
		From:  later(now, end.Add(-max(0, l.Early))).Add(start.Median), Until: end.Add(max(start.Most, shortest))}
}

// Ask is the estimate for a request that people have to decide, and that starts then.
func Ask(took, start Spread, asked, now time.Time) Estimate {
	if !took.Enough() {
		e := none(FewDecisions, now)
		e.Count = took.Count
		return e
	}
	e := Begin(Decisions, took, asked, now)
	if e.Known() && start.Enough() {
		e.From, e.Until = e.From.Add(start.Median), e.Until.Add(start.Most)
	}
	return e
}

// Outcome is where the moment of readiness lay.
type Outcome string

// The outcomes.
const (
	Before Outcome = "before"
	Within Outcome = "within"
	After  Outcome = "after"
)

// Outcomes lists them.
func Outcomes() []Outcome { return []Outcome{Before, Within, After} }

// Judge says by how much an estimate missed the moment; nothing for one within the range.
func (e Estimate) Judge(ready time.Time) (off time.Duration, is Outcome) {
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
