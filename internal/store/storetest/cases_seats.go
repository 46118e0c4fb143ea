package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var seatCases = cases{
	"the meter knows which seats were held with a GPU, and whose": func(t *testing.T, s *store.Store) {
		ctx, rtx := context.Background(), usage.Seats{Pool: "rtx", Count: 2}
		seated := func(w string, from, until int) usage.Interval {
			i := *interval(from, until)
			i.Workload, i.Seats = w, rtx
			return i
		}
		bare := *interval(500, 600)
		meter(t, s, Workload("w-1"), []usage.Interval{seated("w-1", 0, 100), bare, seated("w-1", 700, 800)})
		other := Workload("w-2")
		other.Tenant, other.Owner = "speech", "p-bob"
		i := seated("w-2", 700, 800)
		i.Tenant = "speech"
		meter(t, s, other, []usage.Interval{i})
		equal(t, rtx, got(s.Intervals(ctx, []workload.ID{"w-1"}))(t)["w-1"][0].Seats)
		equal(t, usage.Seats{}, got(s.Intervals(ctx, []workload.ID{"w-1"}))(t)["w-1"][1].Seats)

		ask := func(from, until int, since time.Time, f usage.Filter) []usage.SeatInterval {
			f.Span = usage.Span{From: later(from), Until: later(until)}
			return got(s.SeatIntervals(ctx, f, since))(t)
		}
		first := usage.SeatInterval{Workload: "w-1", Name: "name-of-w-1", Tenant: "vision", Owner: "p-ada",
			OwnerName: "Ada Lovelace", Seats: rtx, From: later(0), Until: later(100)}
		again, bob := first, first
		again.From, again.Until = later(700), later(800)
		bob.Workload, bob.Name, bob.Tenant, bob.Owner, bob.From, bob.Until = "w-2", "name-of-w-2", "speech", "p-bob",
			again.From, again.Until
		equal(t, []usage.SeatInterval{first}, ask(0, 50, time.Time{}, usage.Filter{}))
		equal(t, []usage.SeatInterval{first, again, bob}, ask(750, 1000, time.Time{}, usage.Filter{}))
		equal(t, []usage.SeatInterval{again, bob}, ask(750, 1000, later(100), usage.Filter{}))
		equal(t, []usage.SeatInterval{bob}, ask(750, 1000, time.Time{}, usage.Filter{Tenants: []string{"speech"}}))
		equal(t, []usage.SeatInterval{bob}, ask(750, 1000, time.Time{}, usage.Filter{Owner: "p-bob"}))
		equal(t, 0, len(ask(200, 650, time.Time{}, usage.Filter{})))
		equal(t, 0, len(ask(0, 1000, time.Time{}, usage.Filter{Tenants: []string{}})))
	},
	"who shares a seat is told with whoever holds it": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		on := func(w workload.Workload, group string, most int64, from, until int) usage.Interval {
			i := *interval(from, until)
			i.Workload, i.Tenant = string(w.ID), w.Tenant
			i.Seats = usage.Seats{Pool: "rtx", Count: 1, Group: group, Most: most}
			return i
		}
		ada, bob, far := Workload("w-1"), Workload("w-2"), Workload("w-3")
		bob.Tenant, bob.Owner, far.Tenant, far.Owner = "speech", "p-bob", "speech", "p-bob"
		one, two := on(ada, "vm-1", 1, 0, 100), on(bob, "vm-1", 1, 50, 150)
		early, other := on(bob, "vm-1", 1, 10, 20), on(far, "vm-2", 2, 0, 100)
		meter(t, s, ada, []usage.Interval{one})
		meter(t, s, bob, []usage.Interval{early, two})
		meter(t, s, far, []usage.Interval{other})

		equal(t, one, got(s.Intervals(ctx, []workload.ID{"w-1"}))(t)["w-1"][0])
		all := usage.Sharers{"vm-1": {one, early, two}}
		equal(t, all, got(s.SeatSharers(ctx, []string{"vm-1", "vm-9"}))(t))
		equal(t, all, got(s.BudgetClaim(ctx, "w-1"))(t).Sharers)

		seated := func(w workload.Workload, i usage.Interval, sharer bool) usage.SeatInterval {
			return usage.SeatInterval{Workload: string(w.ID), Name: w.Name, Tenant: w.Tenant, Owner: string(w.Owner),
				OwnerName: w.OwnerName, Seats: i.Seats, From: i.From, Until: i.Until, Sharer: sharer}
		}
		ask := func(from, until int, since time.Time, f usage.Filter) []usage.SeatInterval {
			f.Span = usage.Span{From: later(from), Until: later(until)}
			return got(s.SeatIntervals(ctx, f, since))(t)
		}
		equal(t, []usage.SeatInterval{seated(ada, one, false), seated(bob, early, true), seated(bob, two, true)},
			ask(40, 200, time.Time{}, usage.Filter{Tenants: []string{"vision"}}))
		equal(t, []usage.SeatInterval{seated(ada, one, false), seated(bob, two, true)},
			ask(40, 200, later(30), usage.Filter{Owner: "p-ada"}))
		equal(t, []usage.SeatInterval{seated(ada, one, false), seated(bob, early, true)},
			ask(40, 45, time.Time{}, usage.Filter{Owner: "p-ada"}))
		equal(t, []usage.SeatInterval{seated(ada, one, false), seated(bob, early, false), seated(bob, two, false),
			seated(far, other, false)}, ask(40, 200, time.Time{}, usage.Filter{}))
	},
	"a seat may have a price": func(t *testing.T, s *store.Store) {
		p := usage.Price{ID: "p-1", Kind: usage.PriceSeat, Subject: "rtx", Rate: 4_000_000, From: later(0), Author: "p-ada",
			AuthorName: "Ada", At: later(0)}
		must(t, s.SavePrices(context.Background(), []usage.Price{p}))
		equal(t, usage.PriceList{p}, got(s.Prices(context.Background()))(t))
	},
}
