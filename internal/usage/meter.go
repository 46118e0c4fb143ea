package usage

import "time"

// Allocation is what a workload is seen to hold at a moment: the input of the meter.
type Allocation struct {
	Workload    string
	Tenant      string
	Size        string
	PerHour     Money     // as approved: what it costs where the list has no price for it
	Prices      PriceList // nil for none
	SKU         SKU       // what to look for in the list
	PreviousSKU SKU       // likewise of the size that the open interval has, where that is another one; zero for unknown
	Seats       Seats     // license seats that it takes, with all replicas
	Placed      bool      // a pod is on a node, perhaps terminating: nobody else can have the GPU
	Replicas    int64     // pods that are on a node; 0 where there is never more than one
	SeenAt      time.Time // when the cluster last confirmed what was known before; zero when it never did
}

// LostFor is how long the cluster may be silent before the silence is no longer charged: a pod that is found gone after
// a longer one was last seen when the silence began, and nobody can tell when it left.
const LostFor = 3 * time.Minute

// price is what an hour costs at a moment.
func (h Allocation) price(at time.Time) Money {
	w := h.SKU
	w.Agreed = h.PerHour
	return h.Prices.PerHour(w, h.Tenant, at)
}

// parts is how much of cards all replicas hold.
func (h Allocation) parts() int64 { return max(1, h.Replicas) * h.SKU.Parts() }

// Meter says how the meter changes: nil for not at all, an Interval without Until to open one, one with Until to close
// the open one, and in its Then what follows at once. An interval is cut where another number of replicas is held, and
// where the price list changes the price, at that very moment, however late somebody looks. A closed interval never
// ends before it began, whatever clocks do.
func Meter(open *Interval, h Allocation, now time.Time) *Interval {
	switch {
	case open == nil && h.Placed:
		return &Interval{Workload: h.Workload, Tenant: h.Tenant, Size: h.Size, PerHour: h.price(now), Seats: h.Seats,
			Parts: h.parts(), Replicas: h.Replicas, From: now}
	case open == nil:
		return nil
	case !h.Placed:
		until := later(open.From, lastAllocated(h, now))
		pieces := h.split(*open, until)
		last := &pieces[len(pieces)-1]
		last.Until = later(last.From, until)
		if last.Until.Before(now) {
			last.UnknownUntil = now
		}
		return chain(pieces)
	}
	pieces := h.split(*open, now)
	last := &pieces[len(pieces)-1]
	if price := h.price(now); last.Size != h.Size || last.PerHour != price || last.Seats != h.seats(last.Seats) ||
		last.Count() != max(1, h.Replicas) {
		at := now
		if max(1, h.Replicas) < last.Count() { // nobody can tell when the others left
			at = lastAllocated(h, now)
		}
		last.Until = later(last.From, at)
		pieces = append(pieces, Interval{Workload: h.Workload, Tenant: h.Tenant, Size: h.Size, PerHour: price,
			Seats: h.seats(last.Seats),
			Parts: h.parts(), Replicas: h.Replicas, From: last.Until})
	}
	if len(pieces) == 1 {
		return nil
	}
	return chain(pieces)
}

// seats are those that are held now, beside those that were: a limit that was known for the same group stays while
// nobody tells it.
func (h Allocation) seats(before Seats) Seats {
	now := h.Seats
	if now.Most == 0 && now.Group == before.Group {
		now.Most = before.Most
	}
	return now
}

// split ends an interval where its price changes before a moment, and goes on at the new one; the last piece is open.
func (h Allocation) split(i Interval, before time.Time) []Interval {
	w := h.SKU
	w.Agreed = h.PerHour
	if i.Size != h.Size { // it was resized since somebody looked
		w = h.PreviousSKU
	}
	if w.Size != i.Size {
		return []Interval{i} // nobody knows what is in it
	}
	return h.Prices.Split(i, w, before)
}

// Split ends an open interval of a SKU where the list changes its price before a moment, and goes on at the new one;
// the last piece is open. The first keeps the price that it began with.
func (l PriceList) Split(i Interval, w SKU, before time.Time) []Interval {
	pieces := []Interval{i}
	for at := l.Change(i.From); !at.IsZero() && at.Before(before); at = l.Change(at) {
		last := &pieces[len(pieces)-1]
		if price := l.PerHour(w, i.Tenant, at); price != last.PerHour {
			last.Until = at
			next := i
			next.PerHour, next.From = price, at
			pieces = append(pieces, next)
		}
	}
	return pieces
}

// chain makes one change of several pieces that follow each other.
func chain(pieces []Interval) *Interval {
	for n := len(pieces) - 1; n > 0; n-- {
		pieces[n-1].Then = &pieces[n]
	}
	return &pieces[0]
}

func lastAllocated(h Allocation, now time.Time) time.Time {
	if !h.SeenAt.IsZero() && now.Sub(h.SeenAt) > LostFor {
		return h.SeenAt
	}
	return now
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
