package usage

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Use is what one workload held of one size at one price: a line of the ledger, cut to a span. Times are those of one
// replica, added up: two replicas for an hour are two hours.
//
// Amounts are whole minor units, and yet every part must add up to its whole. So a line is never rounded by itself: it
// costs what has been held up to the end of the span, rounded, less what had been held before it, rounded. What one
// month loses in rounding the next one carries, and months, days or hours of a line always add up to what the line
// costs as a whole. All sums (by person, by team, of everything) are sums of lines, so they agree to the minor unit
// whichever way they are grouped.
type Use struct {
	Workload string // "" for storage
	Tenant   string
	Size     string
	PerHour  Money
	Before   time.Duration // held before the span
	Held     time.Duration // held in the span
	Unknown  time.Duration // of the span: the cluster was silent, and nobody can tell whether it was held. Not charged

	Volume string    // the storage that was held; "" for all else
	GiB    int64     // of the storage
	Rate   UnitPrice // of a GiB of storage, or a seat, for a month of 730 hours
	Seats  Seats     // the license seats that were held; zero for all else
	// what of seats that a group held the line is charged for; zero for seats of its own and for all else
	Portion Portion
}

// Portion is a part of what several workloads held together, in a span.
type Portion struct {
	Time  time.Duration // of seats
	Minor int64         // of their cost, in minor units
}

// Monthly reports whether a line is priced by the month: storage and license seats are.
func (u Use) Monthly() bool { return u.Volume != "" || u.Seats.Pool != "" }

// Cost is what the time in the span costs.
func (u Use) Cost() Money {
	if u.Seats.Group != "" {
		return Money{Minor: u.Portion.Minor, Currency: u.PerHour.Currency}
	}
	if u.Monthly() {
		return Money{Minor: u.monthlyCost(u.Before+u.Held) - u.monthlyCost(u.Before), Currency: u.PerHour.Currency}
	}
	before, all := u.PerHour.For(u.Before), u.PerHour.For(u.Before+u.Held)
	return Money{Minor: all.Minor - before.Minor, Currency: all.Currency}
}

// useKey is what makes a line its own.
type useKey struct {
	workload, tenant, size string
	perHour                Money
}

// Uses cuts intervals to a span, in the order workload, size, price. What is still open is held until the end of the
// span: end it now with Span.To.
func Uses(intervals []Interval, s Span) []Use {
	var places map[useKey]int // in uses; a workload that never changed has one line, and needs none
	if len(intervals) > 1 {
		places = make(map[useKey]int, len(intervals))
	}
	uses, past := make([]Use, 0, len(intervals)), Span{Until: s.From}
	for i := range intervals {
		is := &intervals[i]
		key := useKey{is.Workload, is.Tenant, is.Size, is.PerHour}
		at, known := places[key]
		if !known {
			at = len(uses)
			uses = append(uses, is.use())
			if places != nil {
				places[key] = at
			}
		}
		uses[at].add(is, s, past)
	}
	uses = slices.DeleteFunc(uses, func(u Use) bool { return u.Held <= 0 && u.Unknown <= 0 })
	slices.SortFunc(uses, compareUses)
	return uses
}

// soleUse is the one line of Uses of one interval; false where it has none.
func soleUse(is *Interval, s Span) (u Use, ok bool) {
	u = is.use()
	u.add(is, s, Span{Until: s.From})
	return u, u.Held > 0 || u.Unknown > 0
}

// use is the line of the interval, without its time.
func (i *Interval) use() Use {
	return Use{Workload: i.Workload, Tenant: i.Tenant, Size: i.Size, PerHour: i.PerHour}
}

// add adds the time of an interval in a span, and in the past before it.
func (u *Use) add(is *Interval, s, past Span) {
	until := is.Until
	if until.IsZero() {
		until = later(is.From, s.Until)
	}
	u.Before += is.times(past.overlap(is.From, until))
	u.Held += is.times(s.overlap(is.From, until))
	u.Unknown += is.times(s.overlap(until, later(until, is.UnknownUntil)))
}

func compareUses(a, b Use) int {
	return cmp.Or(strings.Compare(a.Workload, b.Workload), strings.Compare(a.Size, b.Size),
		strings.Compare(a.PerHour.Currency, b.PerHour.Currency),
		cmp.Compare(a.PerHour.Minor, b.PerHour.Minor), strings.Compare(a.Tenant, b.Tenant),
		strings.Compare(a.Volume, b.Volume), cmp.Compare(a.GiB, b.GiB), cmp.Compare(a.Rate, b.Rate),
		strings.Compare(a.Seats.Pool, b.Seats.Pool), cmp.Compare(a.Seats.Count, b.Seats.Count),
		strings.Compare(a.Seats.Group, b.Seats.Group))
}

// Kind is what is counted: hours of one kind and hours of another are never added. The zero Kind is a size without a
// GPU.
type Kind struct {
	Technology string `json:"technology"` // as in the catalog: "full", "mig", "time-slicing"
	Model      string `json:"model"`      // the card: "H100 80GB"
	Profile    string `json:"profile"`    // of a slice or a vGPU: "1g.10gb"
	Known      bool   `json:"known"`      // false: the workload's size has changed since, and what it was is not on record
}

// Line is a Use with names, kind of GPU and utilization.
type Line struct {
	Use
	Name      string // of the workload
	Owner     string // id of the person
	OwnerName string
	SizeTitle string
	Kind      Kind
	Devices   int     // GPUs or parts of one that it held at a time; 0 without a GPU, 1 where it is not known
	Cards     float64 // the same in whole cards: a seventh of one is 1/7; 0 where it is not known
	Engine    EngineUse
	// where nothing of Engine is recorded yet: from when on it is what the metrics tell now
	LiveSince time.Time
}

// GPUTime is device time of the line's kind: two GPUs for an hour are two hours.
func (l Line) GPUTime() time.Duration { return time.Duration(l.Devices) * l.Held }

// Statement is the usage in a span, line by line, and its cost.
type Statement struct {
	Month Month
	Whole Span // the month
	Span  Span // what of it is over: the whole month, or up to now
	Lines []Line
	Known *KnownSums // of a statement that is shared; nil: none
}

// Sort puts the lines in the order workload, size, price.
func (s Statement) Sort() {
	slices.SortFunc(s.Lines, func(a, b Line) int { return compareUses(a.Use, b.Use) })
}

// Final reports whether the month is over, so that only what was open can still be found to have ended earlier.
func (s Statement) Final() bool { return s.Span == s.Whole }

// Ahead is what of the month is still to come.
func (s Statement) Ahead() Span { return Span{From: s.Span.Until, Until: s.Whole.Until} }

// Sum is the total of lines. Money of different currencies stays apart, as hours of different kinds do.
type Sum struct {
	Key       string
	Lines     []Line
	Cost      []Money // one for each currency, in the order of their codes
	GPU       []KindTime
	Unknown   time.Duration
	Storage   GiBTime
	Seats     []PoolTime // one for each license pool, in the order of their names
	Use       CardUse
	LiveSince time.Time // of its lines the earliest, where none that was measured is recorded yet
	// what of Cost is known to be for GPUs that did nothing, one for each currency; empty where nothing was measured
	Idle []Money
}

// KindTime is device time of one kind.
type KindTime struct {
	Kind Kind
	Time time.Duration
}

// Total sums the whole statement.
func (s Statement) Total() Sum {
	return s.Known.of("", func() []Sum { return []Sum{sum("", s.Lines)} })[0]
}

// By groups the statement, dearest group first. The groups add up to Total.
func (s Statement) By(key func(Line) string) []Sum {
	groups := map[string][]Line{}
	for _, l := range s.Lines {
		groups[key(l)] = append(groups[key(l)], l)
	}
	sums := make([]Sum, 0, len(groups))
	for k, lines := range groups {
		sums = append(sums, sum(k, lines))
	}
	slices.SortFunc(sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(minor(b), minor(a)),
			strings.Compare(a.Key, b.Key))
	})
	return sums
}

// Groupings are what a statement can be grouped by.
var Groupings = map[string]func(Line) string{
	"workload": func(l Line) string {
		if l.Volume != "" {
			return volumeKey + l.Volume
		}
		return l.Workload
	},
	"person": func(l Line) string { return l.Owner },
	"team":   func(l Line) string { return l.Tenant },
	"size":   func(l Line) string { return l.Size },
}

func minor(s Sum) (all int64) {
	for _, m := range s.Cost {
		all += m.Minor
	}
	return all
}

func sum(key string, lines []Line) Sum {
	s := Sum{Key: key, Lines: lines}
	recorded := false
	cost, idle, times, seats := map[string]Money{}, map[string]Money{}, map[Kind]time.Duration{},
		map[string]time.Duration{}
	for _, l := range lines {
		c := l.Cost()
		cost[c.Currency] = cost[c.Currency].Add(c)
		s.Unknown += l.Unknown
		s.Storage += l.GiBTime()
		s.Use = s.Use.add(l)
		if l.Seats.Pool != "" {
			seats[l.Seats.Pool] += l.SeatTime()
		}
		if l.Devices > 0 {
			times[l.Kind] += l.GPUTime()
		}
		if l.Engine.Measured > 0 {
			idle[c.Currency] = idle[c.Currency].Add(l.IdleCost())
			recorded = recorded || l.LiveSince.IsZero()
			s.LiveSince = earliest(s.LiveSince, l.LiveSince)
		}
	}
	if recorded {
		s.LiveSince = time.Time{}
	}
	s.Cost, s.Idle = monies(cost), monies(idle)
	for kind, t := range times {
		s.GPU = append(s.GPU, KindTime{kind, t})
	}
	for _, pool := range slices.Sorted(maps.Keys(seats)) {
		s.Seats = append(s.Seats, PoolTime{pool, seats[pool]})
	}
	slices.SortFunc(s.GPU, func(a, b KindTime) int { return compareKinds(a.Kind, b.Kind) })
	return s
}

// earliest is the earlier of two times; the zero time is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// monies are amounts in the order of their currencies.
func monies(of map[string]Money) []Money {
	list := slices.Collect(maps.Values(of))
	slices.SortFunc(list, func(a, b Money) int { return strings.Compare(a.Currency, b.Currency) })
	return list
}

func compareKinds(a, b Kind) int {
	return cmp.Or(strings.Compare(a.Model, b.Model), strings.Compare(a.Technology, b.Technology),
		strings.Compare(a.Profile, b.Profile))
}

// Filter limits a statement to a span, tenants and an owner.
type Filter struct {
	Span    Span
	Month   Month    // whose use of GPUs belongs to it; zero for none
	Tenants []string // nil for all; an empty list for none
	Owner   string   // id of a person; "" for all
}
