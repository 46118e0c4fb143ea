package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var book = budget.Book{Tenant: "vision", Month: usage.Month{Year: 2026, Month: time.March}, Unit: "EUR"}

// Budget is one with every field set.
func Budget() budget.Budget {
	return budget.Budget{Tenant: "vision", Unit: "EUR", Amount: 1000, AtLimit: budget.Stop, By: "p-eve", ByName: "Eve",
		SetAt: later(0), Version: 1}
}

func budgetTx(s *store.Store, fn func(tx budget.Tx) error) error {
	return s.BudgetExclusively(context.Background(), fn)
}

func post(s *store.Store, id string, a budget.Amounts, within bool) error {
	return budgetTx(s, func(tx budget.Tx) error {
		return tx.PostBudget(context.Background(), budget.Transaction{ID: id, Book: book, Kind: budget.Settled,
			Workload: "w-1", Amounts: a, By: "p-eve", ByName: "Eve", Note: "why", At: later(1)}, within)
	})
}

// Budgets is the real service for a team "vision", at noon of the tests.
func Budgets(s *store.Store, now func() time.Time) *budget.Service {
	var ids atomic.Int64
	return &budget.Service{Store: s, Zone: time.UTC, Now: now,
		NewID:  func(prefix string) string { return fmt.Sprintf("%s%08d", prefix, ids.Add(1)) },
		Tenant: func(name string) (string, bool) { return name, name == "vision" },
		Money:  func() budget.Unit { return "EUR" }}
}

// set gives vision a budget.
func set(t *testing.T, b *budget.Service, amount int64, limit budget.Limit) {
	t.Helper()
	eve := identity.Actor{Person: Person("p-eve"), Global: []identity.Role{identity.Admin}, Via: identity.ViaSession}
	_, err := b.Set(context.Background(), eve, "vision", budget.Draft{Unit: "EUR", Amount: amount, AtLimit: limit})
	must(t, err)
}

var budgetCases = cases{
	"a budget comes back as it was saved, changed and removed": func(t *testing.T, s *store.Store) {
		ctx, first := context.Background(), Budget()
		filled(t, first)
		_, err := s.Budget(ctx, "vision")
		fails(t, fault.NotFound, err)
		save := func(b budget.Budget) error {
			return budgetTx(s, func(tx budget.Tx) error { return tx.SaveBudget(ctx, b) })
		}
		fresh := first
		fresh.Version = 0
		must(t, save(fresh))
		equal(t, first, got(s.Budget(ctx, "vision"))(t))
		fails(t, fault.Conflict, save(fresh))
		first.Amount = 0
		must(t, save(first))
		fails(t, fault.Conflict, save(first))
		first.Version = 2
		equal(t, []budget.Budget{first}, got(s.Budgets(ctx))(t))
		remove := func(b budget.Budget) error {
			return budgetTx(s, func(tx budget.Tx) error { return tx.RemoveBudget(ctx, b) })
		}
		fails(t, fault.Conflict, remove(fresh))
		must(t, remove(first))
		equal(t, 0, len(got(s.Budgets(ctx))(t)))
	},
	"a book adds up, and what does not is refused": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		equal(t, budget.Balance{}, got(s.BudgetBalance(ctx, book))(t))
		must(t, post(s, "b-1", budget.Amounts{Left: 100, Platform: -100}, false))
		must(t, post(s, "b-2", budget.Amounts{Left: -70, Held: 70}, true))
		fails(t, fault.Conflict, post(s, "b-3", budget.Amounts{Left: -31, Held: 31}, true))
		must(t, post(s, "b-4", budget.Amounts{Left: -40, Held: -10, Spent: 50}, false))
		must(t, post(s, "b-5", budget.Amounts{Left: 5, Refunded: -5}, false))
		for id, wrong := range map[string]budget.Amounts{"b-6": {Left: 1}, "b-7": {Left: 61, Held: -61}} {
			if post(s, id, wrong, false) == nil {
				t.Errorf("want %+v refused", wrong)
			}
		}
		want := budget.Balance{Amounts: budget.Amounts{Left: -5, Held: 60, Spent: 50, Refunded: -5, Platform: -100},
			Opened: true}
		equal(t, want, got(s.BudgetBalance(ctx, book))(t))
		equal(t, map[string]budget.Share{"w-1": {Held: 60, Spent: 50}}, got(s.BudgetShares(ctx, book))(t))
		equal(t, budget.Share{Held: 60, Spent: 50}, got(s.BudgetShare(ctx, book, "w-1"))(t))
		equal(t, budget.Share{}, got(s.BudgetShare(ctx, book, "w-2"))(t))
		equal(t, 5, got(s.BudgetRefunded(ctx, book, "w-1"))(t))
		equal(t, []budget.Book{book}, got(s.BudgetBooks(ctx, "vision"))(t))
		page, next, err := s.BudgetTransactions(ctx, book, "", 3)
		must(t, err)
		filled(t, page[0])
		equal(t, budget.Transaction{ID: "b-5", Book: book, Kind: budget.Settled, Workload: "w-1",
			Amounts: budget.Amounts{Left: 5, Refunded: -5}, By: "p-eve", ByName: "Eve", Note: "why", At: later(1)}, page[0])
		rest, end, err := s.BudgetTransactions(ctx, book, next, 3)
		must(t, err)
		equal(t, []string{"b-5", "b-4", "b-2", "b-1", ""}, []string{page[0].ID, page[1].ID, page[2].ID, rest[0].ID, end})
		_, _, err = s.BudgetTransactions(ctx, book, "nonsense", 3)
		fails(t, fault.Invalid, err)
	},
	"a level of a month is announced once": func(t *testing.T, s *store.Store) {
		must(t, post(s, "b-1", budget.Amounts{Left: 100, Platform: -100}, false))
		warn := func(level int) (first bool) {
			must(t, budgetTx(s, func(tx budget.Tx) (err error) {
				first, err = tx.WarnBudget(context.Background(), book, level)
				return err
			}))
			return first
		}
		equal(t, []bool{true, false, true, false}, []bool{warn(50), warn(50), warn(100), warn(80)})
	},
	"claims are of what holds, what was metered or lost sight of, and what has something held": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		save := func(id string, desired workload.Desired, state workload.State, tenant string) {
			w := Workload(id)
			w.Version, w.Desired, w.State, w.Tenant = 0, desired, state, tenant
			must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, w) }))
		}
		save("w-runs", workload.WantRunning, workload.Running, "vision")
		save("w-held", workload.WantStopped, workload.Stopped, "vision")
		save("w-metered", workload.WantDeleted, workload.Ended, "vision")
		save("w-old", workload.WantStopped, workload.Stopped, "vision")
		save("w-silent", workload.WantStopped, workload.Stopped, "vision")
		save("w-others", workload.WantRunning, workload.Running, "speech")
		for id, until := range map[string]int{"w-metered": 200, "w-old": 90, "w-silent": 80} {
			meter := usage.Interval{Tenant: "vision", Size: "mig-10gb", PerHour: usage.Money{Minor: 75, Currency: "EUR"},
				From: later(10)}
			w := got(s.Workload(ctx, workload.ID(id)))(t)
			must(t, s.SaveObserved(ctx, w, nil, &meter))
			meter.Until = later(until)
			if id == "w-silent" { // found gone when its cluster answered again
				meter.UnknownUntil = later(150)
			}
			w.Version++
			must(t, s.SaveObserved(ctx, w, nil, &meter))
		}
		must(t, budgetTx(s, func(tx budget.Tx) error {
			return tx.PostBudget(ctx, budget.Transaction{ID: "b-1", Book: book, Kind: budget.Holding, Workload: "w-held",
				Amounts: budget.Amounts{Left: -1, Held: 1}, At: later(1)}, false)
		}))
		var ids []string
		for _, c := range got(s.BudgetClaims(ctx, "vision", later(100)))(t) {
			ids = append(ids, c.Workload)
		}
		equal(t, []string{"w-held", "w-metered", "w-runs", "w-silent"}, ids)
		one := got(s.BudgetClaim(ctx, "w-metered"))(t)
		equal(t, []usage.Interval{{Workload: "w-metered", Tenant: "vision", Size: "mig-10gb",
			PerHour: usage.Money{Minor: 75, Currency: "EUR"}, From: later(10), Until: later(200)}}, one.Intervals)
		equal(t, []bool{false, false, true}, []bool{one.Holds, one.Wanted, one.Placed})
		_, err := s.BudgetClaim(ctx, "w-nobody")
		fails(t, fault.NotFound, err)
	},
	"of 200 who ask for the last money at once, exactly as many get some as it is enough for": func(t *testing.T,
		s *store.Store) {
		const people, enough = 200, 7
		o, ada := Options(s, people)
		noon := func() time.Time { return later(0) }
		o.Now, o.Budgets = noon, Budgets(s, noon)
		set(t, o.Budgets, enough*75+74, budget.Stop) // an hour of the size takes 75
		service := request.New(o).Requests
		var granted atomic.Int32
		var group sync.WaitGroup
		for i := range people {
			group.Go(func() {
				r, err := service.Submit(context.Background(), ada, Draft(fmt.Sprint("nb-", i)))
				switch {
				case err == nil && r.State == request.Approved:
					granted.Add(1)
				case !fault.Is(err, fault.Invalid):
					t.Errorf("want a grant or no money left, got %s, %v", r.State, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(enough), granted.Load())
		equal(t, enough, countHeld(t, s))
		balance := got(s.BudgetBalance(context.Background(), book))(t)
		equal(t, budget.Amounts{Left: 74, Held: enough * 75, Platform: -(enough*75 + 74)}, balance.Amounts)
	},
	"of 200 who ask for the last money at once, the seats count as they are charged": func(t *testing.T, s *store.Store) {
		const people, enough, each = 200, 5, 75 + 2000 // an hour of the size, and of its seat
		o, ada := Options(s, people)
		noon := func() time.Time { return later(0) }
		o.Now, o.Budgets = noon, Budgets(s, noon)
		site := o.Site()
		site.Catalog.Sizes[0].LicensePool = "vws"
		site.Pools = []license.Pool{{Name: "vws", Title: "vWS", Seats: people}}
		site.Prices = usage.PriceList{{ID: "p-1", Kind: usage.PriceSeat, Subject: "vws", Rate: 730 * 2000 * 1000,
			From: later(-60), At: later(-60)}}
		o.Site = func() request.Site { return site }
		o.Budgets.Prices = func() usage.PriceList { return site.Prices }
		set(t, o.Budgets, enough*each+each-1, budget.Stop)
		service := request.New(o).Requests
		var granted atomic.Int32
		var group sync.WaitGroup
		for i := range people {
			group.Go(func() {
				r, err := service.Submit(context.Background(), ada, Draft(fmt.Sprint("nb-", i)))
				switch {
				case err == nil && r.State == request.Approved:
					granted.Add(1)
					if r.Estimate.Minor != each {
						t.Errorf("want the request estimated at %d, got %+v", each, r.Estimate)
					}
				case !fault.Is(err, fault.Invalid):
					t.Errorf("want a grant or no money left, got %s, %v", r.State, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(enough), granted.Load())
		balance := got(s.BudgetBalance(context.Background(), book))(t)
		equal(t, budget.Amounts{Left: each - 1, Held: enough * each, Platform: -(enough*each + each - 1)}, balance.Amounts)
	},
	"storage is held until the month ends or it is removed, and what it takes too much of starts nothing": func(
		t *testing.T, s *store.Store) {
		// the meter of storage goes by the clock of the database
		ctx, now := context.Background(), func() time.Time { return time.Now().UTC() }
		o, ada := Options(s, 9)
		o.Budgets, o.Now = Budgets(s, now), now
		site := o.Site()
		site.Prices = usage.PriceList{{ID: "p-1", Kind: usage.PriceStorage, Rate: 1e12, From: now().Add(-time.Hour),
			At: now().Add(-time.Hour)}}
		o.Site = func() request.Site { return site }
		o.Budgets.Prices = func() usage.PriceList { return site.Prices }
		set(t, o.Budgets, 76, budget.Stop) // enough for the size
		service := request.New(o).Requests
		_, err := service.Submit(ctx, ada, Draft("nb-1"))
		fails(t, fault.Invalid, err)
		equal(t, 0, len(got(s.Volumes(ctx, workload.VolumeFilter{}))(t)))
		was := got(s.Budget(ctx, "vision"))(t)
		_, err = o.Budgets.Set(ctx, identity.Actor{Person: Person("p-eve"), Global: []identity.Role{identity.Admin},
			Via: identity.ViaSession}, "vision", budget.Draft{Unit: "EUR", Amount: 1e12, AtLimit: budget.Stop,
			Version: was.Version})
		must(t, err)
		_ = got(service.Submit(ctx, ada, Draft("nb-1")))(t)
		id := budget.VolumeID("vision", "nb-1-home")
		book := budget.Book{Tenant: "vision", Month: usage.MonthOf(now(), time.UTC), Unit: "EUR"}
		share := func() budget.Share { return got(s.BudgetShares(ctx, book))(t)[id] }
		first := share()
		c := got(s.BudgetClaim(ctx, id))(t)
		equal(t, []any{id, "vision", true, true, 1, int64(10)}, []any{c.Workload, c.Tenant, c.Holds, c.Wanted,
			len(c.StorageIntervals),
			c.StorageIntervals[0].GiB})
		if first.Held <= 0 || first.Spent != 0 {
			t.Errorf("want the rest of the month held, got %+v", first)
		}
		_, err = s.BudgetClaim(ctx, budget.VolumeID("speech", "nb-1-home"))
		fails(t, fault.NotFound, err)

		v := got(s.Volume(ctx, "nb-1-home"))(t)
		v.Deleted = true
		saveVolume(t, s, v)
		must(t, o.Budgets.Settle(ctx))
		equal(t, int64(0), share().Held)
		must(t, s.PurgeVolume(ctx, "nb-1-home"))
		must(t, o.Budgets.Settle(ctx))
		last := share()
		kept := got(s.StorageIntervals(ctx, usage.Filter{Span: book.Month.Span(time.UTC)}))(t)
		cost := int64(0)
		for _, line := range site.Prices.Storage(kept, book.Month.Span(time.UTC), "EUR") {
			cost += line.Cost().Minor
		}
		equal(t, budget.Share{Spent: cost}, last)
		if cost <= 0 {
			t.Error("want the time until it was gone charged")
		}
		var ids []string
		for _, c := range got(s.BudgetClaims(ctx, "vision", now().Add(-time.Hour)))(t) {
			ids = append(ids, c.Workload)
		}
		equal(t, 2, len(ids)) // the workload, and the storage that was metered since
		equal(t, id, ids[1])
	},
	"with the other limit, 200 who ask for the last money at once wait for an approver": func(t *testing.T,
		s *store.Store) {
		const people, enough = 200, 3
		o, ada := Options(s, people)
		noon := func() time.Time { return later(0) }
		o.Now, o.Budgets = noon, Budgets(s, noon)
		set(t, o.Budgets, enough*75, budget.Approval)
		services := request.New(o)
		service := services.Requests
		var granted, waiting atomic.Int32
		var group sync.WaitGroup
		for i := range people {
			group.Go(func() {
				d := Draft(fmt.Sprint("nb-", i))
				d.Reason = "a reason"
				r, err := service.Submit(context.Background(), ada, d)
				switch {
				case err == nil && r.State == request.Approved:
					granted.Add(1)
				case err == nil && r.State == request.Pending && r.Decision.Rule == request.BudgetRule:
					waiting.Add(1)
				default:
					t.Errorf("want a grant or a wait, got %s, %v", r.State, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(enough), granted.Load())
		equal(t, int32(people-enough), waiting.Load())
		ctx := context.Background()
		pending, _, err := s.Requests(ctx, request.Filter{States: []request.State{request.Pending}, Limit: 1})
		must(t, err)
		eve := identity.Actor{Person: Person("p-eve"), Global: []identity.Role{identity.Approver}, Via: identity.ViaSession}
		_, err = services.Approvals.Approve(ctx, eve, pending[0], "")
		must(t, err)
		balance := got(s.BudgetBalance(ctx, book))(t)
		equal(t, budget.Amounts{Left: -75, Held: (enough + 1) * 75, Platform: -enough * 75}, balance.Amounts)
		warned, _, err := s.Events(ctx, audit.Filter{Kinds: []audit.Kind{audit.BudgetWarned}, Limit: 10})
		must(t, err)
		equal(t, 2, len(warned)) // 66 % is the first level, 100 % the last
	},
	"what is settled twice at once is settled once": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		clock := atomic.Pointer[time.Time]{}
		at := later(0)
		clock.Store(&at)
		budgets := Budgets(s, func() time.Time { return *clock.Load() })
		set(t, budgets, 10_000, budget.Stop)
		for i := range 5 {
			w := Workload(fmt.Sprint("w-", i))
			w.Version, w.Lease = 0, workload.Lease{From: later(0), Until: later(8 * 3600)}
			must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, w) }))
			w.Version = 1
			must(t, s.SaveObserved(ctx, w, nil, &usage.Interval{Tenant: "vision", Size: w.Size.Name,
				PerHour: w.Size.PricePerHour, From: later(0)}))
		}
		hours := later(4 * 3600)
		clock.Store(&hours)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := budgets.Settle(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		lines, _, err := s.BudgetTransactions(ctx, book, "", 100)
		must(t, err)
		var sum budget.Amounts
		spent := map[string]int{}
		for _, l := range lines {
			sum = sum.Add(l.Amounts)
			if l.Amounts.Spent != 0 {
				spent[l.Workload]++
			}
		}
		for i := range 5 {
			equal(t, 1, spent[fmt.Sprint("w-", i)])
		}
		equal(t, got(s.BudgetBalance(ctx, book))(t).Amounts, sum)
		equal(t, 5*(8*75), sum.Held+sum.Spent)
	},
	"a transaction that fails leaves no line behind": func(t *testing.T, s *store.Store) {
		failed := errors.New("the decision fails after the money was put aside")
		err := budgetTx(s, func(tx budget.Tx) error {
			if err := tx.PostBudget(context.Background(), budget.Transaction{ID: "b-1", Book: book, Kind: budget.Holding,
				Workload: "w-1", Amounts: budget.Amounts{Left: -1, Held: 1}, At: later(1)}, false); err != nil {
				t.Error(err)
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Fatalf("want it to fail, got %v", err)
		}
		equal(t, budget.Balance{}, got(s.BudgetBalance(context.Background(), book))(t))
	},
}
