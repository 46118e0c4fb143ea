package budget_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// priced gives the world a list that it looks at anew each time.
func (w *world) priced() *usage.PriceList {
	list := &usage.PriceList{}
	w.service.Prices = func() usage.PriceList { return *list }
	return list
}

// costs is a price for the size slice, in minor units.
func costs(id string, minor int64, tenant string, from time.Time) usage.Price {
	return usage.Price{ID: id, Kind: usage.PriceSize, Subject: slice.Name, Tenant: tenant,
		Rate: usage.UnitPrice(1000 * minor),
		From: from, At: from}
}

// perMonth is a price of a seat, or of a GiB of storage, for a month of 730 hours, in minor units.
func perMonth(id string, kind usage.PriceKind, minor int64, tenant string, from time.Time) usage.Price {
	subject := ""
	if kind == usage.PriceSeat {
		subject = seats.Pool
	}
	return usage.Price{ID: id, Kind: kind, Subject: subject, Tenant: tenant, Rate: usage.UnitPrice(1000 * minor),
		From: from,
		At:   from}
}

var seats = usage.Seats{Pool: "vws", Count: 2}

// seated is the claim of a workload that takes seats.
func seated(c budget.Claim) budget.Claim {
	c.Seats = seats
	for n := range c.Intervals {
		c.Intervals[n].Seats = seats
	}
	return c
}

// stored is the claim of storage that there is since a moment.
func stored(gib int64, since time.Time) budget.Claim {
	id := budget.VolumeID("vision", "home")
	return budget.Claim{Workload: id, Tenant: "vision", Holds: true, Wanted: true,
		StorageIntervals: []usage.StorageInterval{{Volume: "home", Tenant: "vision", GiB: gib, From: since}}}
}

// TestSeatsAndStorageTakeOfABudget: what is charged is held. A seat for the lease, storage until the month ends or
// somebody removes it; hours of a GPU are not touched by either.
func TestSeatsAndStorageTakeOfABudget(t *testing.T) {
	month := usage.Month{Year: 2026, Month: 11}.Span(time.UTC)
	list := usage.PriceList{perMonth("p-1", usage.PriceSeat, 730_00, "", noon), perMonth("p-2", usage.PriceStorage, 73, "",
		noon)}
	start := seated(claim("", 8)) // 16 parts for 8 h of 2 EUR: 800 of the size, 1600 of the seats
	start.Size.PricePerHour.Minor = 100
	toEnd := int64(month.Until.Sub(noon) / time.Hour) // 227 whole hours, and 40 minutes
	lapse := noon.Add(30 * time.Minute)
	removed := stored(10, noon)
	removed.Wanted = false // its PVC is still to go
	for name, c := range map[string]struct {
		claim budget.Claim
		unit  budget.Unit
		at    time.Time
		want  budget.Share
	}{
		"size and seats": {start, eur, noon, budget.Share{Held: 800 + 1600}},
		"in GPU-hours":   {start, budget.GPUHours, noon, budget.Share{Held: 4 * gpuHour}},
		// a cent an hour, and the last 40 minutes rounded up
		"with storage":         {start.WithStorage(10), eur, noon, budget.Share{Held: 2400 + toEnd + 1}},
		"no storage is none":   {start.WithStorage(0), eur, noon, budget.Share{Held: 2400}},
		"storage alone":        {stored(1000, noon), eur, noon, budget.Share{Held: toEnd*100 + 67}},
		"storage in GPU-hours": {stored(1000, noon), budget.GPUHours, noon, budget.Share{}},
		// settled up to the full hour
		"storage, an hour later": {stored(1000, noon), eur, noon.Add(time.Hour),
			budget.Share{Spent: 67, Held: toEnd * 100}},
		"storage that is to go": {removed, eur, lapse, budget.Share{}},
		"seats that run": {seated(placed(claim("w", 8), noon)), eur, noon.Add(time.Hour),
			budget.Share{Spent: 67 + 133, Held: 2400 - 200}},
		"seats that were given back": {gone(seated(placed(claim("w", 8), noon)), noon.Add(2*time.Hour)), eur,
			noon.Add(3 * time.Hour), budget.Share{Spent: 200 + 400}},
	} {
		if got := budget.Wanted(c.claim, c.unit, list, month, c.at); got != c.want {
			t.Errorf("%s: want %+v, got %+v", name, c.want, got)
		}
	}
}

// TestASeatThatCostsMoreThanIsLeft is refused, and no part of it is held; what is left for the size alone is not
// enough.
func TestASeatThatCostsMoreThanIsLeft(t *testing.T) {
	w := newWorld()
	*w.priced() = usage.PriceList{perMonth("p-1", usage.PriceSeat, 730_00, "", noon)}
	w.set(t, eur, 2399, budget.Stop)
	if err := w.take(seated(claim("w-1", 8)), false); err == nil {
		t.Error("want a start refused that takes a cent too much")
	}
	if got := w.balance(t, eur); got.Held != 0 || got.Left != 2399 {
		t.Errorf("want nothing held, got %+v", got)
	}
	if err := w.take(claim("w-2", 8), false); err != nil {
		t.Errorf("want the same without seats granted, got %v", err)
	}
}

// look lets the meter look at a workload, as the controller does whenever it comes by.
func (w *world) look(id string, list usage.PriceList, placed bool) {
	c := w.claims[id]
	intervals := slices.Clone(c.Intervals)
	var open *usage.Interval
	if n := len(intervals); n > 0 && intervals[n-1].Until.IsZero() {
		open = &intervals[n-1]
	}
	change := usage.Meter(open, usage.Allocation{Workload: id, Tenant: c.Tenant, Size: c.Size.Name,
		PerHour: c.Size.PricePerHour,
		Prices:  list, SKU: c.Size.SKU(), Seats: c.Seats, Placed: placed}, w.now)
	if change != nil && open != nil {
		*open, change = *change, change.Then
		open.Then = nil
	}
	for ; change != nil; change = change.Then {
		piece := *change
		piece.Then = nil
		intervals = append(intervals, piece)
	}
	c.Intervals = intervals
	w.claims[id] = c
}

// TestTheHoldFollowsThePriceList: a price that changes in the middle of a lease is held from the beginning, settled at
// its moment however late the meter comes by, and what a price that ends makes cheaper is released.
func TestTheHoldFollowsThePriceList(t *testing.T) {
	w := newWorld()
	list := w.priced()
	*list = usage.PriceList{costs("p-1", 200, "", noon.Add(2*time.Hour)), costs("p-2", 900, "speech", noon)}
	w.set(t, eur, 2000, budget.Stop)
	want := func(when string, held, spent int64) {
		t.Helper()
		got := w.balance(t, eur)
		if diff := cmp.Diff(budget.Amounts{Left: 2000 - held - spent, Held: held, Spent: spent, Platform: -2000},
			got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	if err := w.take(claim("w-1", 8), false); err != nil {
		t.Fatal(err)
	}
	want("two hours at the old price and six at the new one", 1400, 0)
	if err := w.take(claim("w-2", 5), false); err == nil {
		t.Fatal("want five more hours refused: at the prices to come they take 800 of 600")
	}

	w.claims["w-1"] = placed(w.claims["w-1"], noon)
	w.now = noon.Add(4 * time.Hour)
	w.settle(t)
	want("before the meter has seen the change", 867, 533)
	w.look("w-1", *list, true)
	lines := len(w.Lines())
	w.settle(t)
	if n := len(w.claims["w-1"].Intervals); n != 2 || len(w.Lines()) != lines {
		t.Errorf("want two stretches, and nothing settled twice: %d stretches, %d lines more", n, len(w.Lines())-lines)
	}

	(*list)[0].Until = w.now // an administrator ends it
	w.settle(t)
	want("the rest at the old price again", 467, 533)
	w.now = noon.Add(8 * time.Hour)
	w.look("w-1", *list, false)
	w.claims["w-1"] = gone(w.claims["w-1"], w.now)
	w.settle(t)
	want("over", 0, 1000)
}

// TestARefundIsAtThePricesThatWereCharged: each stretch is given back at what it cost, also one that the meter has not
// cut yet.
func TestARefundIsAtThePricesThatWereCharged(t *testing.T) {
	w := newWorld()
	list := w.priced()
	*list = usage.PriceList{costs("p-1", 200, "vision", noon.Add(2*time.Hour))}
	w.set(t, eur, 2000, budget.Stop)
	w.claims["w-1"] = placed(claim("w-1", 8), noon)
	w.now = noon.Add(4 * time.Hour)
	w.settle(t)
	line, err := w.service.Refund(t.Context(), boss, "vision", budget.Refund{Workload: "w-1", From: noon.Add(time.Hour),
		Until: noon.Add(3 * time.Hour), Note: "a broken card"})
	if err != nil || line.Amounts.Left != 300 {
		t.Errorf("want an hour at each price given back, got %+v %v", line, err)
	}
}

// TestEveryStretchIsSettledOnce: prices of the size, of its seats and of storage come, change and end by chance, the
// meter and the chore come by when they like. At any moment what is held and spent is what a chore that came only now
// would have made of it, nothing that was settled is taken back, and in the end the book has spent what the statement
// says.
func TestEveryStretchIsSettledOnce(t *testing.T) {
	month := usage.Month{Year: 2026, Month: 11}.Span(time.UTC)
	home := budget.VolumeID("vision", "home")
	for seed := range seeds(200) {
		r := rand.New(rand.NewPCG(seed, 13))
		w := newWorld()
		list := w.priced()
		w.set(t, eur, 1_000_000, budget.Approval)
		w.claims["w-1"] = seated(placed(claim("w-1", 24*5), noon))
		w.claims[home] = stored(int64(1+r.IntN(3000)), noon)
		w.settle(t)
		wanted := func() (sum budget.Share) {
			for _, c := range w.claims {
				share := budget.Wanted(c, eur, *list, month, w.now)
				sum.Held, sum.Spent = sum.Held+share.Held, sum.Spent+share.Spent
			}
			return sum
		}
		for step := range 60 {
			w.now = w.now.Add(time.Duration(r.IntN(90*60)) * time.Second)
			switch r.IntN(7) {
			case 0:
				from := w.now.Add(time.Duration(r.IntN(3)*r.IntN(600)) * time.Minute)
				id, minor, tenant := fmt.Sprint("p-", step), int64(r.IntN(500)), []string{"", "vision", "speech"}[r.IntN(3)]
				*list = append(*list, []usage.Price{costs(id, minor, tenant, from), perMonth(id, usage.PriceSeat, 100*minor, tenant,
					from), perMonth(id, usage.PriceStorage, minor, tenant, from)}[r.IntN(3)])
			case 1:
				if n := len(*list); n > 0 {
					if p := &(*list)[r.IntN(n)]; p.Until.IsZero() {
						p.Until = w.now
						if p.From.After(w.now) {
							p.Until = p.From // it will never count
						}
					}
				}
			case 2, 3:
				w.look("w-1", *list, true)
			case 4: // the storage grows, as its meter has it
				c := w.claims[home]
				c.StorageIntervals = slices.Clone(c.StorageIntervals)
				last := &c.StorageIntervals[len(c.StorageIntervals)-1]
				last.Until = w.now
				grown := *last
				grown.GiB, grown.From, grown.Until = last.GiB+int64(r.IntN(50)), w.now, time.Time{}
				c.StorageIntervals = append(c.StorageIntervals, grown)
				w.claims[home] = c
			default:
				w.settle(t)
				got := w.balance(t, eur)
				if want := wanted(); (budget.Share{Held: got.Held, Spent: got.Spent}) != want {
					t.Fatalf("seed %d, step %d: want %+v, got %+v", seed, step, want, got)
				}
				late := w.claims["w-1"]
				w.look("w-1", *list, true)
				if want := wanted(); (budget.Share{Held: got.Held, Spent: got.Spent}) != want {
					t.Fatalf("seed %d, step %d: the meter makes another share of it: want %+v, got %+v", seed, step, want, got)
				}
				w.claims["w-1"] = late
			}
		}
		w.look("w-1", *list, false)
		w.claims["w-1"] = gone(w.claims["w-1"], w.now)
		c := w.claims[home]
		c.Holds, c.Wanted = false, false
		c.StorageIntervals[len(c.StorageIntervals)-1].Until = w.now
		w.claims[home] = c
		w.settle(t)
		if got, statement := w.balance(t, eur), w.statement(*list, month); got.Spent != statement || got.Held != 0 {
			t.Fatalf("seed %d: the statement says %d, the book %+v", seed, statement, got)
		}
		for _, line := range w.Lines() {
			if line.Amounts.Spent < 0 {
				t.Fatalf("seed %d: something settled was taken back: %+v", seed, line)
			}
		}
	}
}

// statement is what a month's statement of everything that was claimed comes to.
func (w *world) statement(list usage.PriceList, month usage.Span) (sum int64) {
	var intervals []usage.Interval
	var held []usage.SeatInterval
	var kept []usage.StorageInterval
	for _, c := range w.claims {
		intervals, kept = append(intervals, c.Intervals...), append(kept, c.StorageIntervals...)
		for _, i := range c.Intervals {
			held = append(held, usage.SeatInterval{Workload: i.Workload, Tenant: i.Tenant, Seats: i.Seats, From: i.From,
				Until: i.Until})
		}
	}
	for _, use := range usage.Uses(intervals, month) {
		sum += use.Cost().Minor
	}
	for _, line := range append(list.Seats(held, month, string(eur)), list.Storage(kept, month, string(eur))...) {
		sum += line.Cost().Minor
	}
	return sum
}
