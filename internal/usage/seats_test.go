package usage

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seatPrices is a list with a price for seats of a pool that changes, one for a team that ends, one for another pool,
// and one of something else.
func seatPrices(r *rand.Rand) PriceList {
	list := storagePrices(r)
	for n := range list[:3] {
		list[n].Kind, list[n].Subject = PriceSeat, "vws"
	}
	return append(list, Price{ID: "p-5", Kind: PriceSeat, Subject: "vcs", Rate: 4_000_000, From: storageBegin})
}

// seatsHeld is what workloads of two teams held of three pools, one of which has no price.
func seatsHeld(r *rand.Rand) (list []SeatInterval) {
	for n, id := range []string{"w-1", "w-2", "w-3"} {
		at := storageBegin.Add(time.Duration(r.Int64N(20*24*3600e6)) * time.Microsecond)
		for range 6 {
			s := SeatInterval{Workload: id, Name: "train", Tenant: []string{"vision", "speech", "vision"}[n], Owner: "p-1",
				OwnerName: "Anna", Seats: Seats{Pool: []string{"vws", "vcs", "free"}[r.IntN(3)],
					Count: int64(1 + r.IntN(4))}, From: at}
			at = at.Add(time.Duration(1+r.Int64N(20*24*3600e6)) * time.Microsecond)
			s.Until = at
			list = append(list, s)
			at = at.Add(time.Duration(r.IntN(2)*r.IntN(1e10)) * time.Microsecond)
		}
		if r.IntN(2) == 0 {
			list[len(list)-1].Until = time.Time{}
		}
	}
	return list
}

// TestSplitSeatsCostTheWhole: however intervals and statements are cut, seats cost what they cost as a whole, in every
// grouping, to the minor unit.
func TestSplitSeatsCostTheWhole(t *testing.T) {
	end := storageBegin.AddDate(0, 6, 0)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 28))
		prices, held := seatPrices(r), seatsHeld(r)
		whole := prices.Seats(held, Span{storageBegin, end}, "EUR")
		var split []SeatInterval
		for _, h := range held {
			until := h.Until
			if until.IsZero() {
				until = end
			}
			middle := h.From.Add(time.Duration(r.Int64N(until.Sub(h.From).Microseconds()+1)) * time.Microsecond)
			first, then := h, h
			first.Until, then.From = middle, middle
			split = append(split, first, then)
		}
		if diff := cmp.Diff(whole, prices.Seats(split, Span{storageBegin, end}, "EUR")); diff != "" {
			t.Fatalf("seed %d: split intervals differ (-want +got)\n%s", seed, diff)
		}
		sum := int64(0)
		for at := storageBegin; at.Before(end); {
			next := at.Add(time.Duration(1+r.Int64N(30*24*3600e6)) * time.Microsecond)
			if next.After(end) {
				next = end
			}
			sum += storageMinor(prices.Seats(held, Span{at, next}, "EUR"))
			at = next
		}
		if sum != storageMinor(whole) {
			t.Fatalf("seed %d: statements add up to %d of %d", seed, sum, storageMinor(whole))
		}
		for name, key := range Groupings {
			by := int64(0)
			for _, g := range (Statement{Lines: whole}).By(key) {
				by += storageMinor(g.Lines)
			}
			if by != sum {
				t.Fatalf("seed %d by %s: %d of %d", seed, name, by, sum)
			}
		}
	}
}

func TestSeatsCost(t *testing.T) {
	hours := func(n int) time.Time { return storageBegin.Add(time.Duration(n) * time.Hour) }
	prices := PriceList{{Kind: PriceSeat, Subject: "vws", Rate: 4_000_000, From: hours(0)},
		{Kind: PriceSeat, Subject: "vws", Rate: 8_000_000, From: hours(365), Tenant: "vision"}}
	for sentence, c := range map[string]struct {
		held SeatInterval
		want int64
	}{
		"a seat for a month": {SeatInterval{Tenant: "speech", Seats: Seats{Pool: "vws", Count: 1}, From: hours(0),
			Until: hours(730)}, 4000},
		"three of them": {SeatInterval{Tenant: "speech", Seats: Seats{Pool: "vws", Count: 3}, From: hours(0),
			Until: hours(730)}, 12000},
		"what is still held": {SeatInterval{Tenant: "speech", Seats: Seats{Pool: "vws", Count: 1}, From: hours(365)}, 2000},
		"the price changes for the team": {SeatInterval{Tenant: "vision", Seats: Seats{Pool: "vws", Count: 1}, From: hours(0),
			Until: hours(730)}, 6000},
		"a pool without a price": {SeatInterval{Tenant: "vision", Seats: Seats{Pool: "vcs", Count: 1}, From: hours(0),
			Until: hours(730)}, 0},
	} {
		if got := storageMinor(prices.Seats([]SeatInterval{c.held}, Span{hours(0), hours(730)}, "EUR")); got != c.want {
			t.Errorf("%s: want %d, got %d", sentence, c.want, got)
		}
	}
	a := prices.ExtraCosts("speech", 100, Seats{Pool: "vws", Count: 1}, Span{hours(0), hours(73)}, "EUR")
	if want := (ExtraCosts{Storage: Money{0, "EUR"}, Seats: Money{400, "EUR"}}); a != want {
		t.Errorf("ahead: want %v, got %v", want, a)
	}
}

// TestSeatsAreMetered: the meter knows which seats went with a GPU, and is cut where that changes; the cut itself costs
// nothing.
func TestSeatsAreMetered(t *testing.T) {
	one, two := Seats{Pool: "vws", Count: 1}, Seats{Pool: "vws", Count: 2}
	h := Allocation{Workload: "w-1", Tenant: "vision", Size: "vgpu", PerHour: Money{100, "EUR"}, Seats: one, Placed: true,
		SeenAt: storageBegin}
	open := Meter(nil, h, storageBegin)
	if open == nil || open.Seats != one {
		t.Fatalf("want an interval with a seat, got %+v", open)
	}
	if change := Meter(open, h, storageBegin.Add(time.Hour)); change != nil {
		t.Errorf("nothing has changed, got %+v", change)
	}
	h.Seats = two
	cut := Meter(open, h, storageBegin.Add(time.Hour))
	if cut == nil || cut.Seats != one || cut.Then == nil || cut.Then.Seats != two || !cut.Until.Equal(cut.Then.From) {
		t.Errorf("want a cut from one seat to two, got %+v", cut)
	}
}
