package usage

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func alike(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// sumByGroup adds days up, in minor units.
func sumByGroup(days []DailyCost) map[string]int64 {
	sums := map[string]int64{}
	for _, d := range days {
		for key, m := range d.Cost {
			if sums[key] += m.Minor; sums[key] == 0 {
				delete(sums, key)
			}
		}
	}
	return sums
}

// dailyStore answers with one meter, one storage and one set of seats.
type dailyStore struct {
	Store
	intervals []Interval
	kept      []StorageInterval
	seats     []SeatInterval
	reads     int
}

func (s *dailyStore) Statement(_ context.Context, f Filter) (Statement, error) {
	st := Statement{Span: f.Span}
	for _, u := range Uses(s.intervals, f.Span) {
		st.Lines = append(st.Lines, Line{Use: u, Owner: "p-" + u.Workload})
	}
	return st, nil
}

func (s *dailyStore) MeteredIntervals(context.Context, Filter) ([]Interval, error) {
	s.reads++
	return s.intervals, nil
}

func (s *dailyStore) StorageIntervals(context.Context, Filter) ([]StorageInterval, error) {
	return s.kept, nil
}

func (s *dailyStore) SeatIntervals(context.Context, Filter, time.Time) ([]SeatInterval, error) {
	return s.seats, nil
}

// TestDaysAddUpToTheStatement: whatever was held when, each day costs what a statement of that day alone says, and the
// days of a month add up to the month, by every grouping; also where a day has 23 or 25 hours.
func TestDaysAddUpToTheStatement(t *testing.T) {
	zone := berlin(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		month := Month{2026, []time.Month{time.March, time.October, time.June}[r.IntN(3)]}
		whole := month.Span(zone)
		span := whole.To(whole.From.Add(time.Duration(1 + r.Int64N(int64(whole.Length())))))
		intervals := drawMeter(r, whole)
		for n := range intervals {
			intervals[n].PerHour = Money{Minor: int64(1 + r.IntN(900)), Currency: "EUR"}
			intervals[n].Tenant = []string{"vision", "speech"}[r.IntN(2)]
		}
		store := &dailyStore{intervals: intervals}
		st, err := store.Statement(t.Context(), Filter{Span: span})
		if err != nil {
			t.Fatal(err)
		}
		for by, group := range Groupings {
			days := st.dailyCosts(span.Days(zone), intervals, group, "EUR")
			want := map[string]int64{}
			for _, g := range st.By(group) {
				if m := minor(g); m != 0 {
					want[g.Key] = m
				}
			}
			alike(t, want, sumByGroup(days))
			for _, d := range days {
				alone, _ := store.Statement(t.Context(), Filter{Span: d.Day})
				for _, g := range alone.By(group) {
					alike(t, minor(g), d.Cost[g.Key].Minor)
				}
			}
			// what the days before it leave is the last day
			last := len(days) - 1
			alike(t, days, rest(days[:last], days[last].Day, st.By(group), "EUR"))
			if t.Failed() {
				t.Fatalf("seed %d by %s", seed, by)
			}
		}
	}
}

// TestDaysOfAService: storage and seats are of a day as of a month, days that are over are read once, and nobody sees
// the days of others.
func TestDaysOfAService(t *testing.T) {
	zone, r := berlin(t), rand.New(rand.NewPCG(4, 9))
	month := Month{2026, time.October}
	whole := month.Span(zone)
	now := whole.Until.Add(-60 * time.Hour)
	store := &dailyStore{intervals: drawMeter(r, whole), kept: storageKept(r), seats: seatsHeld(r)}
	prices := NewPrices(PricesOptions{Currency: "EUR"})
	prices.list.Store(new(append(storagePrices(r), seatPrices(r)...)))
	s := &Service{Store: store, Prices: prices, Zone: zone, Now: func() time.Time { return now }}
	dana := identity.Actor{Person: identity.Person{ID: "p-dana"}}

	st, err := s.Statement(t.Context(), dana, Mine, month)
	if err != nil {
		t.Fatal(err)
	}
	read := func() []DailyCost {
		t.Helper()
		days, err := s.Daily(t.Context(), dana, Mine, st, "size", "EUR")
		if err != nil {
			t.Fatal(err)
		}
		return days
	}
	days := read()
	want := map[string]int64{}
	for _, g := range st.By(Groupings["size"]) {
		if m := minor(g); m != 0 {
			want[g.Key] = m
		}
	}
	if len(want) < 2 {
		t.Fatalf("want storage or seats beside GPUs, got %v", want)
	}
	alike(t, want, sumByGroup(days))
	alike(t, 29, len(days))
	alike(t, now.UTC(), days[28].Day.Until.UTC())

	read()
	alike(t, 1, store.reads)
	if now = now.Add(DailyTTL + time.Second); len(read()) != 29 {
		t.Error("want the days of the statement")
	}
	alike(t, 2, store.reads)

	for name, ask := range map[string]func() error{
		"everybody's": func() error { _, err := s.Daily(t.Context(), dana, All, st, "size", "EUR"); return err },
		"nobody":      func() error { _, err := s.Daily(t.Context(), identity.Actor{}, Mine, st, "size", "EUR"); return err },
		"by nothing":  func() error { _, err := s.Daily(t.Context(), dana, Mine, st, "colour", "EUR"); return err },
	} {
		if kind := fault.KindOf(ask()); kind != map[string]fault.Kind{"everybody's": fault.NotFound,
			"nobody": fault.Unauthenticated, "by nothing": fault.Invalid}[name] {
			t.Errorf("%s: got %v", name, kind)
		}
	}
}

func TestExpected(t *testing.T) {
	month := Month{2026, time.November}
	whole := month.Span(time.UTC)
	days := func(until time.Time, cents ...int64) (list []DailyCost) {
		for n, day := range (Span{whole.From, until}).Days(time.UTC) {
			cost := map[string]Money{}
			if c := cents[min(n, len(cents)-1)]; c != 0 {
				cost["vision"] = Money{Minor: c, Currency: "EUR"}
			}
			list = append(list, DailyCost{Day: day, Cost: cost})
		}
		return list
	}
	noon := func(day int) time.Time { return time.Date(2026, time.November, day, 12, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		until time.Time
		cents []int64
		want  Money
		known bool
	}{
		"the same every day": {noon(11).Add(12 * time.Hour), []int64{100}, Money{3000, "EUR"}, true},
		"dear days long ago": {noon(11).Add(12 * time.Hour), []int64{5000, 5000, 5000, 100},
			Money{15000 + 2700, "EUR"}, true},
		"half of the first day":      {noon(1), []int64{100}, Money{}, false},
		"nothing so far":             {noon(9), []int64{0}, Money{}, false},
		"a day and half of the next": {noon(2), []int64{100, 50}, Money{150 + 2850, "EUR"}, true},
		"the month is over":          {whole.Until, []int64{100}, Money{}, false},
	} {
		st := Statement{Month: month, Whole: whole, Span: whole.To(c.until)}
		got, known := st.Expected(days(c.until, c.cents...))
		if got != c.want || known != c.known {
			t.Errorf("%s: want %v %v, got %v %v", name, c.want, c.known, got, known)
		}
	}
}
