package usage

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sharedSeats is what workloads held of the seats of two virtual machines over some months: up to five at once, each
// coming and going, some never leaving.
func sharedSeats(r *rand.Rand, most int64, tenants ...string) (list []SeatInterval) {
	for n := range 5 {
		at := storageBegin.Add(time.Duration(r.Int64N(20*24*3600e6)) * time.Microsecond)
		for range 8 {
			h := SeatInterval{Workload: fmt.Sprint("w-", n), Tenant: tenants[r.IntN(len(tenants))], Owner: "p-1", From: at,
				Seats: Seats{Pool: "vws", Count: 1, Group: []string{"vm-1", "vm-2"}[r.IntN(2)], Most: most}}
			at = at.Add(time.Duration(1+r.Int64N(20*24*3600e6)) * time.Microsecond)
			h.Until = at
			list = append(list, h)
			at = at.Add(time.Duration(r.IntN(2)*r.IntN(1e12)) * time.Microsecond)
		}
		if n == 0 {
			list[len(list)-1].Until = time.Time{}
		}
	}
	return list
}

// oneSeat are the stretches in which anybody held a seat of a group, as one workload that had it alone.
func oneSeat(held []SeatInterval, end time.Time) (list []SeatInterval) {
	for _, group := range []string{"vm-1", "vm-2"} {
		at := storageBegin
		for at.Before(end) {
			next := end
			here := false
			for _, h := range held {
				until := h.Until
				if until.IsZero() {
					until = end
				}
				if h.Seats.Group != group {
					continue
				}
				if !h.From.After(at) && until.After(at) {
					here = true
				}
				for _, b := range []time.Time{h.From, until} {
					if b.After(at) && b.Before(next) {
						next = b
					}
				}
			}
			if here {
				list = append(list, SeatInterval{Workload: group, Tenant: "vision", Seats: Seats{Pool: "vws", Count: 1}, From: at,
					Until: next})
			}
			at = next
		}
	}
	return list
}

func times(lines []Line) (held, seats time.Duration) {
	for _, l := range lines {
		held, seats = held+l.Held, seats+l.SeatTime()
	}
	return held, seats
}

// TestASharedSeatIsChargedOnce: several turns on one vGPU are one license. What their lines come to, in time to the
// microsecond and in money to the minor unit, is what one workload would be charged that had the seat alone, in every
// month and every day; however intervals are cut, and nobody's line ever goes back.
func TestASharedSeatIsChargedOnce(t *testing.T) {
	end := storageBegin.AddDate(0, 6, 0)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 29))
		prices := PriceList{{Kind: PriceSeat, Subject: "vws", Rate: UnitPrice(1 + r.IntN(9_000_000)), From: storageBegin,
			Until: storageBegin.AddDate(0, 2, 0)},
			{Kind: PriceSeat, Subject: "vws", Rate: UnitPrice(1 + r.IntN(9_000_000)), From: storageBegin.AddDate(0, 2, 3)}}
		held := sharedSeats(r, 1, "vision", "speech")
		one := oneSeat(held, end)
		for at := storageBegin; at.Before(end); {
			next := earlier(at.Add(time.Duration(1+r.Int64N(30*24*3600e6))*time.Microsecond), end)
			lines, alone := prices.Seats(held, Span{at, next}, "EUR"), prices.Seats(one, Span{at, next}, "EUR")
			if got, want := storageMinor(lines), storageMinor(alone); got != want {
				t.Fatalf("seed %d, %s to %s: want %d of one seat, got %d", seed, at, next, want, got)
			}
			_, got := times(lines)
			if want, _ := times(alone); got != want {
				t.Fatalf("seed %d: want %s of seats, got %s", seed, want, got)
			}
			for _, l := range lines {
				if l.Portion.Minor < 0 || l.Portion.Time < 0 || l.Portion.Time > l.Held {
					t.Fatalf("seed %d: %+v", seed, l)
				}
			}
			at = next
		}
	}
}

// TestSharedSeatsAreSplitFairly: everybody pays an equal part of each moment, to within two minor units of the exact
// fraction over half a year; statements of parts add up to the whole, line by line; cut intervals change nothing.
func TestSharedSeatsAreSplitFairly(t *testing.T) {
	end := storageBegin.AddDate(0, 6, 0)
	whole := Span{storageBegin, end}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 30))
		most := int64(1 + r.IntN(3))
		prices := PriceList{{Kind: PriceSeat, Subject: "vws", Rate: UnitPrice(1 + r.IntN(9_000_000)), From: storageBegin}}
		held := sharedSeats(r, most, "vision")
		lines := prices.Seats(held, whole, "EUR")
		exact := fairTimes(held, most, end)
		for _, l := range lines {
			want := exact[l.Workload+" "+l.Seats.Group]
			cost := new(big.Rat).Mul(want, big.NewRat(int64(prices[0].Rate), int64(billingMonth/time.Microsecond)*1000))
			got, _ := new(big.Rat).Sub(big.NewRat(l.Cost().Minor, 1), cost).Float64()
			if got < -2 || got > 2 {
				t.Errorf("seed %d, %s: charged %f more than its part %s", seed, l.Workload, got, cost.FloatString(3))
			}
			if off, _ := new(big.Rat).Sub(big.NewRat(l.SeatTime().Microseconds(), 1), want).Float64(); off < -1000 ||
				off > 1000 {
				t.Errorf("seed %d, %s: %f microseconds more than its part", seed, l.Workload, off)
			}
		}
		var split []SeatInterval
		for _, h := range held {
			middle := h.From.Add(later(h.From, h.Until).Sub(h.From) / 2).Truncate(time.Microsecond)
			first, then := h, h
			first.Until, then.From = middle, middle
			split = append(split, then, first)
		}
		if diff := cmp.Diff(lines, prices.Seats(split, whole, "EUR")); diff != "" {
			t.Fatalf("seed %d: split intervals differ (-want +got)\n%s", seed, diff)
		}
		sums := map[string]int64{}
		for at := storageBegin; at.Before(end); {
			next := earlier(at.Add(time.Duration(1+r.Int64N(9*24*3600e6))*time.Microsecond), end)
			for _, l := range prices.Seats(held, Span{at, next}, "EUR") {
				sums[l.Workload+l.Seats.Group] += l.Cost().Minor
			}
			at = next
		}
		for _, l := range lines {
			if got := sums[l.Workload+l.Seats.Group]; got != l.Cost().Minor {
				t.Errorf("seed %d, %s: parts come to %d, the whole to %d", seed, l.Workload, got, l.Cost().Minor)
			}
		}
		own := []SeatInterval{}
		for _, h := range held {
			h.Sharer = h.Workload != "w-1"
			own = append(own, h)
		}
		var want []Line
		for _, l := range lines {
			if l.Workload == "w-1" {
				want = append(want, l)
			}
		}
		if diff := cmp.Diff(want, prices.Seats(own, whole, "EUR")); diff != "" {
			t.Errorf("seed %d: one's own statement differs (-want +got)\n%s", seed, diff)
		}
	}
}

// fairTimes is what time of seats each should be charged for, in microseconds, by an independent sum over every moment
// at which somebody comes or goes.
func fairTimes(held []SeatInterval, most int64, end time.Time) map[string]*big.Rat {
	exact := map[string]*big.Rat{}
	for _, h := range held {
		key := h.Workload + " " + h.Seats.Group
		if exact[key] == nil {
			exact[key] = new(big.Rat)
		}
		until := h.Until
		if until.IsZero() {
			until = end
		}
		for at := h.From; at.Before(until); {
			next, there := until, int64(0)
			for _, o := range held {
				last := o.Until
				if last.IsZero() {
					last = end
				}
				if o.Seats.Group != h.Seats.Group {
					continue
				}
				if !o.From.After(at) && last.After(at) {
					there++
				}
				for _, b := range []time.Time{o.From, last} {
					if b.After(at) && b.Before(next) {
						next = b
					}
				}
			}
			part := big.NewRat(next.Sub(at).Microseconds(), 1)
			exact[key].Add(exact[key], part.Mul(part, big.NewRat(min(most, there), there)))
			at = next
		}
	}
	return exact
}

// TestALimitThatIsNotToldStays: how many vGPUs a node has is not known for a moment after a restart; the meter is not
// split for that, and it is cut where the workload is found on another node.
func TestALimitThatIsNotToldStays(t *testing.T) {
	on := func(group string, most int64) Seats { return Seats{Pool: "vws", Count: 1, Group: group, Most: most} }
	h := Allocation{Workload: "w-1", Tenant: "vision", Size: "turn", PerHour: Money{Minor: 100, Currency: "EUR"},
		Placed: true,
		Seats:  on("vm-1", 1), SeenAt: storageBegin}
	open := Meter(nil, h, storageBegin)
	for sentence, c := range map[string]struct{ now, want Seats }{
		"not told":        {on("vm-1", 0), Seats{}},
		"the same":        {on("vm-1", 1), Seats{}},
		"another number":  {on("vm-1", 2), on("vm-1", 2)},
		"another machine": {on("vm-2", 0), on("vm-2", 0)},
		"alone":           {on("", 0), on("", 0)},
	} {
		h.Seats = c.now
		cut := Meter(open, h, storageBegin.Add(time.Hour))
		if c.want == (Seats{}) != (cut == nil) || cut != nil && cut.Then.Seats != c.want {
			t.Errorf("%s: want %+v, got %+v", sentence, c.want, cut)
		}
	}
}
