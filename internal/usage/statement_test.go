package usage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func berlin(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal("no time zone data; on Debian: apt-get install tzdata: ", err)
	}
	return zone
}

func TestMonths(t *testing.T) {
	zone := berlin(t)
	cases := map[string]struct {
		month Month
		hours float64
	}{
		"a plain month":                       {Month{2026, time.November}, 30 * 24},
		"the clocks go forward: an hour less": {Month{2026, time.March}, 31*24 - 1},
		"the clocks go back: an hour more":    {Month{2026, time.October}, 31*24 + 1},
		"a leap year":                         {Month{2028, time.February}, 29 * 24},
	}
	for name, c := range cases {
		if got := c.month.Span(zone).Length().Hours(); got != c.hours {
			t.Errorf("%s: want %g hours, got %g", name, c.hours, got)
		}
		if got := c.month.Add(1).Span(zone).From; !got.Equal(c.month.Span(zone).Until) {
			t.Errorf("%s: the next one begins at %s", name, got)
		}
	}
	newYear := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	if got := MonthOf(newYear, zone); got != (Month{2027, time.January}) {
		t.Errorf("half past midnight in Berlin is in %s", got)
	}
	if got := (Month{2027, time.January}).Add(-1); got != (Month{2026, time.December}) {
		t.Errorf("before January comes %s", got)
	}
	for _, text := range []string{"", "2026", "2026-13", "2026-11-01", "11/2026"} {
		if m, err := ParseMonth(text); err == nil {
			t.Errorf("%q was read as %s", text, m)
		}
	}
	if m, err := ParseMonth("2026-11"); err != nil || m.String() != "2026-11" {
		t.Errorf("2026-11 was read as %s, %v", m, err)
	}
}

func TestUses(t *testing.T) {
	november := Month{2026, time.November}.Span(time.UTC)
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	price := Money{100, "EUR"}
	interval := func(from, until time.Time) Interval {
		return Interval{Workload: "w", Tenant: "vision", Size: "mig", PerHour: price, From: from, Until: until}
	}
	use := func(before, held, unknown time.Duration) []Use {
		return []Use{{Workload: "w", Tenant: "vision", Size: "mig", PerHour: price, Before: before, Held: held,
			Unknown: unknown}}
	}
	lost := interval(at(2, 0), at(2, 5))
	lost.UnknownUntil = at(2, 8)
	lostOver := interval(at(30, 0), at(30, 20))
	lostOver.UnknownUntil = at(30, 0).AddDate(0, 0, 3)
	cases := map[string]struct {
		intervals []Interval
		now       time.Time
		want      []Use
	}{
		"within the month": {[]Interval{interval(at(2, 0), at(2, 5))}, at(3, 0),
			use(0, 5*time.Hour, 0)},
		"over its beginning": {[]Interval{interval(at(1, -3), at(1, 4))}, at(3, 0),
			use(3*time.Hour, 4*time.Hour, 0)},
		"over its end": {[]Interval{interval(at(30, 20), at(31, 4))}, at(31, 12),
			use(0, 4*time.Hour, 0)},
		"still held: up to now": {[]Interval{interval(at(2, 0), time.Time{})}, at(2, 7),
			use(0, 7*time.Hour, 0)},
		"what ended before is only carried": {[]Interval{interval(at(1, -3), at(1, -1)),
			interval(at(5, 0), at(5, 1))}, at(9, 0), use(2*time.Hour, time.Hour, 0)},
		"only before: not a line":                       {[]Interval{interval(at(1, -3), at(1, -1))}, at(9, 0), []Use{}},
		"only afterwards: not a line":                   {[]Interval{interval(at(31, 0), at(31, 5))}, at(31, 9), []Use{}},
		"a silence is told and not charged":             {[]Interval{lost}, at(3, 0), use(0, 5*time.Hour, 3*time.Hour)},
		"a silence over the end belongs to both months": {[]Interval{lostOver}, at(34, 0), use(0, 20*time.Hour, 4*time.Hour)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Uses(c.intervals, november.To(c.now))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	another, dearer := interval(at(2, 5), at(2, 6)), interval(at(2, 6), at(2, 7))
	another.Size, dearer.PerHour.Minor = "whole", 200
	if got := Uses([]Interval{interval(at(2, 0), at(2, 5)), another, dearer}, november); len(got) != 3 {
		t.Errorf("another size and another price are lines of their own, got %v", got)
	}
}

// ledger draws meters of a year: some workloads, cut often, at odd prices, with moments of microseconds.
func ledger(r *rand.Rand) []Interval {
	var intervals []Interval
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for w := range 1 + r.IntN(6) {
		at := start.Add(time.Duration(r.Int64N(int64(200 * 24 * time.Hour))))
		for range r.IntN(20) {
			i := Interval{Workload: fmt.Sprint("w-", w), Tenant: fmt.Sprint("t-", w%2), Size: fmt.Sprint("s-", r.IntN(2)),
				PerHour: Money{int64(1 + 3*r.IntN(3)), "EUR"}, From: at}
			at = at.Add(time.Duration(r.Int64N(int64(20 * 24 * time.Hour)))).Truncate(time.Microsecond)
			i.Until = at
			intervals = append(intervals, i)
			at = at.Add(time.Duration(r.Int64N(int64(2 * time.Hour))))
		}
	}
	return intervals
}

func costOf(uses []Use) (all int64) {
	for _, u := range uses {
		all += u.Cost().Minor
	}
	return all
}

// TestStatementsAddUpToTheLedger: the statements of all months, of any zone, come to what the ledger comes to, to the
// minor unit.
func TestStatementsAddUpToTheLedger(t *testing.T) {
	zone := berlin(t)
	for seed := range uint64(300) {
		intervals := ledger(rand.New(rand.NewPCG(seed, 1)))
		end := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
		want := Cost(intervals, end).Minor
		got := int64(0)
		for m := (Month{2025, time.December}); m.Before(Month{2028, time.February}); m = m.Add(1) {
			got += costOf(Uses(intervals, m.Span(zone)))
		}
		if got != want {
			t.Fatalf("seed %d: the ledger says %d, the months %d", seed, want, got)
		}
	}
}

// TestSplitIntervalsCostTheSame: whoever cuts an interval in two, or shuffles the ledger, changes no statement.
func TestSplitIntervalsCostTheSame(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		intervals := ledger(r)
		var cut []Interval
		for _, i := range intervals {
			middle := i.From.Add(time.Duration(r.Int64N(int64(i.Until.Sub(i.From)) + 1)))
			first, second := i, i
			first.Until, second.From = middle, middle
			cut = append(cut, first, second)
		}
		r.Shuffle(len(cut), func(i, j int) { cut[i], cut[j] = cut[j], cut[i] })
		for m := (Month{2026, time.January}); m.Before(Month{2027, time.June}); m = m.Add(1) {
			if diff := cmp.Diff(Uses(intervals, m.Span(time.UTC)), Uses(cut, m.Span(time.UTC))); diff != "" {
				t.Fatalf("seed %d, %s: (-whole +cut)\n%s", seed, m, diff)
			}
		}
	}
}

// TestPartsAddUpToTheStatement: by person, team, workload or size, the groups come to the total in money and in hours
// of each kind.
func TestPartsAddUpToTheStatement(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := Statement{Span: Month{2026, time.May}.Span(time.UTC)}
		for _, u := range Uses(ledger(r), s.Span) {
			kind := Kind{Technology: []string{"full", "mig"}[r.IntN(2)], Model: "H100", Known: true}
			s.Lines = append(s.Lines, Line{Use: u, Owner: fmt.Sprint("p-", r.IntN(3)), Kind: kind, Devices: r.IntN(3)})
		}
		total := s.Total()
		for name, key := range Groupings {
			var lines []Line
			var minor int64
			times := map[Kind]time.Duration{}
			for _, g := range s.By(key) {
				lines = append(lines, g.Lines...)
				for _, m := range g.Cost {
					minor += m.Minor
				}
				for _, k := range g.GPU {
					times[k.Kind] += k.Time
				}
			}
			if len(lines) != len(s.Lines) || len(total.Cost) > 0 && minor != total.Cost[0].Minor {
				t.Fatalf("seed %d by %s: %d lines of %d, %d of %v", seed, name, len(lines), len(s.Lines), minor, total.Cost)
			}
			for _, k := range total.GPU {
				if times[k.Kind] != k.Time {
					t.Fatalf("seed %d by %s: %s of %v, want %s", seed, name, times[k.Kind], k.Kind, k.Time)
				}
			}
		}
	}
}

func TestKindsAndCurrenciesStayApart(t *testing.T) {
	line := func(kind Kind, devices int, price Money) Line {
		return Line{Use: Use{PerHour: price, Held: time.Hour}, Kind: kind, Devices: devices}
	}
	whole, slice := Kind{Technology: "full", Model: "H100", Known: true}, Kind{Technology: "mig", Model: "H100",
		Profile: "1g.10gb", Known: true}
	eur, usd := Money{100, "EUR"}, Money{300, "USD"}
	got := Statement{Lines: []Line{line(whole, 2, eur), line(slice, 1, eur), line(slice, 1, usd),
		line(Kind{Technology: "cpu", Known: true}, 0, eur)}}.Total()
	if diff := cmp.Diff([]KindTime{{whole, 2 * time.Hour}, {slice, 2 * time.Hour}}, got.GPU); diff != "" {
		t.Errorf("hours (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]Money{{300, "EUR"}, {300, "USD"}}, got.Cost); diff != "" {
		t.Errorf("money (-want +got)\n%s", diff)
	}
}
