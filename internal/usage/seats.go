package usage

import "time"

// Seats are seats of a license pool that a workload holds, as many as the product's counting rule says (package
// license). The zero Seats are none.
type Seats struct {
	Pool  string
	Count int64
}

// SeatSize is the name that the seats of a pool have among sizes; no size can be called so.
func SeatSize(pool string) string { return "seats/" + pool }

// Seated is a stretch of time in which a workload held seats: from when it had a place on a node until it gave it back,
// as its GPU. What is only reserved, because it waits for a place, costs no seat as it costs no GPU. Until is zero
// while it still holds them. It has no price: the list knows what counted when.
type Seated struct {
	Workload  string
	Name      string // of the workload; "" where it is gone
	Tenant    string
	Owner     string // id of the person
	OwnerName string
	Seats     Seats
	From      time.Time
	Until     time.Time
}

// PoolTime is seat time of one pool: two seats for an hour are two hours.
type PoolTime struct {
	Pool string
	Time time.Duration
}

// SeatTime is how long seats were held; 0 for what is none.
func (u Use) SeatTime() time.Duration { return time.Duration(u.Seats.Count) * u.Held }

// Seats cuts the time of seats to a span and at every change of their price; what the list has no price for is no line.
// A line is rounded as all are: see Use.
func (l PriceList) Seats(held []Seated, s Span, currency string) []Line {
	lines := monthly{list: l, span: s, lines: map[monthlyKey]*Line{}}
	for _, h := range held {
		size := SeatSize(h.Seats.Pool)
		lines.add(PriceSeat, h.Seats.Pool, h.From, h.Until,
			Line{Use: Use{Workload: h.Workload, Tenant: h.Tenant, Size: size, PerHour: Money{Currency: currency},
				Seats: h.Seats}, Name: h.Name,
				Owner: h.Owner, OwnerName: h.OwnerName, SizeTitle: size, Kind: Kind{Technology: SeatTechnology, Known: true}})
	}
	return lines.sorted()
}

// SeatsOf are the seats that workloads held by their meters, as Seats has them.
func (l PriceList) SeatsOf(intervals []Interval, s Span, currency string) []Line {
	var held []Seated
	for _, i := range intervals {
		if i.Seats.Count > 0 {
			held = append(held, Seated{Workload: i.Workload, Tenant: i.Tenant, Seats: i.Seats, From: i.From, Until: i.Until})
		}
	}
	return l.Seats(held, s, currency)
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

// Ahead is what a start would cost, beside what its size costs: the storage and the seats, each at what the list says
// of the time from a moment on. Zero where it has no price.
type Ahead struct {
	Storage Money
	Seats   Money
}

// Ahead prices what a workload would hold from a moment on.
func (l PriceList) Ahead(tenant string, gib int64, seats Seats, s Span, currency string) Ahead {
	total := func(lines []Line) Money {
		sum := Money{Currency: currency}
		for _, line := range lines {
			sum = sum.Add(line.Cost())
		}
		return sum
	}
	a := Ahead{Storage: Money{Currency: currency}, Seats: Money{Currency: currency}}
	if gib > 0 {
		a.Storage = total(l.Storage([]Kept{{Volume: StorageSize, Tenant: tenant, GiB: gib, From: s.From, Until: s.Until}}, s,
			currency))
	}
	if seats.Count > 0 {
		a.Seats = total(l.Seats([]Seated{{Tenant: tenant, Seats: seats, From: s.From, Until: s.Until}}, s, currency))
	}
	return a
}
