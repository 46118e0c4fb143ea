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
	return usage.Price{ID: id, Kind: usage.PriceSize, Subject: slice.Name, Tenant: tenant, Rate: usage.Mills(1000 * minor), From: from, At: from}
}

// look lets the meter look at a workload, as the controller does whenever it comes by.
func (w *world) look(id string, list usage.PriceList, placed bool) {
	c := w.claims[id]
	intervals := slices.Clone(c.Intervals)
	var open *usage.Interval
	if n := len(intervals); n > 0 && intervals[n-1].Until.IsZero() {
		open = &intervals[n-1]
	}
	change := usage.Meter(open, usage.Held{Workload: id, Tenant: c.Tenant, Size: c.Size.Name, PerHour: c.Size.PricePerHour, Prices: list, Ware: c.Size.Ware(), Placed: placed}, w.now)
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

// TestTheHoldFollowsThePriceList: a price that changes in the middle of a lease is held from the beginning, settled at its moment however late the meter comes by, and what a price that ends
// makes cheaper is released.
func TestTheHoldFollowsThePriceList(t *testing.T) {
	w := newWorld()
	list := w.priced()
	*list = usage.PriceList{costs("p-1", 200, "", noon.Add(2*time.Hour)), costs("p-2", 900, "speech", noon)}
	w.set(t, eur, 2000, budget.Stop)
	want := func(when string, held, spent int64) {
		t.Helper()
		got := w.balance(t, eur)
		if diff := cmp.Diff(budget.Amounts{Left: 2000 - held - spent, Held: held, Spent: spent, Platform: -2000}, got); diff != "" {
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

// TestARefundIsAtThePricesThatWereCharged: each stretch is given back at what it cost, also one that the meter has not cut yet.
func TestARefundIsAtThePricesThatWereCharged(t *testing.T) {
	w := newWorld()
	list := w.priced()
	*list = usage.PriceList{costs("p-1", 200, "vision", noon.Add(2*time.Hour))}
	w.set(t, eur, 2000, budget.Stop)
	w.claims["w-1"] = placed(claim("w-1", 8), noon)
	w.now = noon.Add(4 * time.Hour)
	w.settle(t)
	line, err := w.service.Refund(t.Context(), boss, "vision", budget.Refund{Workload: "w-1", From: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour), Note: "a broken card"})
	if err != nil || line.Amounts.Left != 300 {
		t.Errorf("want an hour at each price given back, got %+v %v", line, err)
	}
}

// TestEveryStretchIsSettledOnce: prices come, change and end by chance, the meter and the chore come by when they like. At any moment what is held and spent is what a chore that came only now
// would have made of it, nothing that was settled is taken back, and in the end the book has spent what the statement says.
func TestEveryStretchIsSettledOnce(t *testing.T) {
	month := usage.Month{Year: 2026, Month: 11}.Span(time.UTC)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 13))
		w := newWorld()
		list := w.priced()
		w.set(t, eur, 1_000_000, budget.Approval)
		w.claims["w-1"] = placed(claim("w-1", 24*5), noon)
		w.settle(t)
		for step := range 60 {
			w.now = w.now.Add(time.Duration(r.IntN(90*60)) * time.Second)
			switch r.IntN(6) {
			case 0:
				from := w.now.Add(time.Duration(r.IntN(3)*r.IntN(600)) * time.Minute)
				*list = append(*list, costs(fmt.Sprint("p-", step), int64(r.IntN(500)), []string{"", "vision", "speech"}[r.IntN(3)], from))
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
			default:
				w.settle(t)
				got := w.balance(t, eur)
				c := w.claims["w-1"]
				if want := budget.Wanted(c, eur, *list, month, w.now); (budget.Share{Held: got.Held, Spent: got.Spent}) != want {
					t.Fatalf("seed %d, step %d: want %+v, got %+v", seed, step, want, got)
				}
				late := c
				w.look("w-1", *list, true)
				if want := budget.Wanted(w.claims["w-1"], eur, *list, month, w.now); (budget.Share{Held: got.Held, Spent: got.Spent}) != want {
					t.Fatalf("seed %d, step %d: the meter makes another share of it: want %+v, got %+v", seed, step, want, got)
				}
				w.claims["w-1"] = late
			}
		}
		w.look("w-1", *list, false)
		w.claims["w-1"] = gone(w.claims["w-1"], w.now)
		w.settle(t)
		statement := int64(0)
		for _, use := range usage.Uses(w.claims["w-1"].Intervals, month) {
			statement += use.Cost().Minor
		}
		if got := w.balance(t, eur); got.Spent != statement || got.Held != 0 {
			t.Fatalf("seed %d: the statement says %d, the book %+v", seed, statement, got)
		}
		for _, line := range w.Lines() {
			if line.Amounts.Spent < 0 {
				t.Fatalf("seed %d: something settled was taken back: %+v", seed, line)
			}
		}
	}
}
