package usage

import (
	"maps"
	"slices"
	"time"
)

// Seats are seats of a license pool that a workload holds, as many as the product's counting rule says (package
// license). The zero Seats are none.
//
// Where the license belongs to something that several workloads use together (the vGPU of a virtual machine that the
// device plugin time-slices, or a concurrent user), those workloads are a Group: together they hold no more than Most
// seats at a time. See PriceList.Seats for how they are charged.
type Seats struct {
	Pool  string
	Count int64  // that the workload would hold alone
	Group string // with whom it shares them; "" with nobody. The largest Most of a group's holders is its limit
	Most  int64  // 0: not known, and no limit
}

// SeatSize is the name that the seats of a pool have among sizes; no size can be called so.
func SeatSize(pool string) string { return "seats/" + pool }

// SeatInterval is a stretch of time in which a workload held seats: from when it had a place on a node until it gave it
// back, as its GPU. What is only reserved, because it waits for a place, costs no seat as it costs no GPU. Until is
// zero while it still holds them. It has no price: the list knows what counted when.
type SeatInterval struct {
	Workload  string
	Name      string // of the workload; "" where it is gone
	Tenant    string
	Owner     string // id of the person
	OwnerName string
	Seats     Seats
	From      time.Time
	Until     time.Time
	Sharer    bool // it is only told because others share seats with it, and gets no line
}

// PoolTime is seat time of one pool: two seats for an hour are two hours.
type PoolTime struct {
	Pool string
	Time time.Duration
}

// SeatTime is the time of seats that a line is charged for: two seats for an hour are two hours, and an hour of a seat
// that two workloads hold is half an hour for each. 0 for what is none.
func (u Use) SeatTime() time.Duration {
	if u.Seats.Group != "" {
		return u.Portion.Time
	}
	return time.Duration(u.Seats.Count) * u.Held
}

// Seats cuts the time of seats to a span and at every change of their price; what the list has no price for is no line.
// A line is rounded as all are: see Use.
//
// Seats that a group holds together are charged once. At each moment the group is charged for as many as its holders
// would take alone, at most for its limit, and every holder for an equal part of that (by the seats that it would take
// alone, where these differ). The parts of the time add up to the time of the seats, to the microsecond, and where all
// pay one price the lines add up to what the seats cost, to the minor unit; a line that has ended never changes.
func (l PriceList) Seats(held []SeatInterval, s Span, currency string) []Line {
	lines := monthly{list: l, span: s, lines: map[monthlyKey]*Line{}}
	groups := map[Seats][]SeatInterval{}
	for _, h := range held {
		if h.Seats.Group != "" {
			g := Seats{Pool: h.Seats.Pool, Group: h.Seats.Group}
			groups[g] = append(groups[g], h)
			continue
		}
		lines.add(PriceSeat, h.Seats.Pool, h.From, h.Until, h.line(currency))
	}
	for _, sharers := range groups {
		lines.share(sharers, currency)
	}
	return lines.sorted()
}

// line is one that charges for the seats, without time and rate.
func (h SeatInterval) line(currency string) Line {
	size := SeatSize(h.Seats.Pool)
	h.Seats.Most = 0
	return Line{Use: Use{Workload: h.Workload, Tenant: h.Tenant, Size: size, PerHour: Money{Currency: currency},
		Seats: h.Seats}, Name: h.Name, Owner: h.Owner, OwnerName: h.OwnerName, SizeTitle: size,
		Kind: Kind{Technology: SeatTechnology, Known: true}}
}

// Sharers are the stretches of the meter in which seats were held together, by Seats.Group: those of everybody, for
// what one is charged depends on who else held them.
type Sharers map[string][]Interval

// SeatsOf are the seats that workloads held by their meters, as Seats has them.
func (l PriceList) SeatsOf(intervals []Interval, sharers Sharers, s Span, currency string) []Line {
	if !slices.ContainsFunc(intervals, func(i Interval) bool { return i.Seats.Count > 0 }) {
		return nil
	}
	var held []SeatInterval
	own, groups := map[string]bool{}, map[string]bool{}
	add := func(i Interval, sharer bool) {
		held = append(held, SeatInterval{Workload: i.Workload, Tenant: i.Tenant, Seats: i.Seats, From: i.From, Until: i.Until,
			Sharer: sharer})
	}
	for _, i := range intervals {
		if i.Seats.Count > 0 {
			add(i, false)
			own[i.Workload], groups[i.Seats.Group] = true, true
		}
	}
	delete(groups, "")
	for group := range groups {
		for _, i := range sharers[group] {
			if !own[i.Workload] {
				add(i, true)
			}
		}
	}
	return l.Seats(held, s, currency)
}

// SeatGroups are the groups in which intervals share seats, in order.
func SeatGroups(intervals []Interval) []string {
	groups := map[string]bool{}
	for _, i := range intervals {
		if i.Seats.Group != "" {
			groups[i.Seats.Group] = true
		}
	}
	return slices.Sorted(maps.Keys(groups))
}

// SeatTechnology is what stands in place of a technology in a line of seats.
const SeatTechnology = "license-seat"

// First is when the first price of a kind begins; false where the list has none.
func (l PriceList) First(kind PriceKind) (first time.Time, ok bool) {
	for _, p := range l {
		if p.Kind == kind && (!ok || p.From.Before(first)) {
			first, ok = p.From, true
		}
	}
	return first, ok
}

// ExtraCosts are what a start would cost, beside what its size costs: the storage and the seats, each at what the list
// says of the time from a moment on. Zero where it has no price.
type ExtraCosts struct {
	Storage Money
	Seats   Money
}

// ExtraCosts prices what a workload would hold from a moment on.
func (l PriceList) ExtraCosts(tenant string, gib int64, seats Seats, s Span, currency string) ExtraCosts {
	total := func(lines []Line) Money {
		sum := Money{Currency: currency}
		for _, line := range lines {
			sum = sum.Add(line.Cost())
		}
		return sum
	}
	a := ExtraCosts{Storage: Money{Currency: currency}, Seats: Money{Currency: currency}}
	if gib > 0 {
		a.Storage = total(l.Storage([]StorageInterval{{Volume: StorageSize, Tenant: tenant, GiB: gib, From: s.From,
			Until: s.Until}}, s,
			currency))
	}
	if seats.Count > 0 {
		a.Seats = total(l.Seats([]SeatInterval{{Tenant: tenant, Seats: seats, From: s.From, Until: s.Until}}, s, currency))
	}
	return a
}
