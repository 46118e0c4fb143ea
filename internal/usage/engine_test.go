package usage

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// busyLine held a card, or a part of one, for some hours at a euro an hour.
func busyLine(workload string, cards float64, held, measured, busy, idle time.Duration) Line {
	return Line{Use: Use{Workload: workload, Tenant: "vision", Size: "s", PerHour: Money{100, "EUR"}, Held: held},
		Devices: 1, Cards: cards, Engine: EngineUse{measured, busy, idle}}
}

func TestIdleMoney(t *testing.T) {
	const h = time.Hour
	cases := map[string]struct {
		lines    []Line
		idle     []Money
		mean     float64
		coverage float64
	}{
		"nothing was measured: unknown, not nothing": {[]Line{busyLine("w", 1, 10*h, 0, 0, 0)}, nil, 0, 0},
		"busy all the time": {[]Line{busyLine("w", 1, 10*h, 10*h, 8*h, 0)}, []Money{{0, "EUR"}}, 80,
			1},
		"half of it is known, and that was idle": {[]Line{busyLine("w", 1, 10*h, 5*h, 0, 5*h)}, []Money{{500, "EUR"}}, 0,
			0.5},
		"a whole card counts as four quarters of one": {[]Line{busyLine("a", 1, 4*h, 4*h, 4*h, 0),
			busyLine("b", 0.25, 4*h, 4*h, 0, 4*h)},
			[]Money{{400, "EUR"}}, 80, 1},
		"an unknown card lowers what is known, not the mean": {[]Line{busyLine("a", 1, 4*h, 4*h, 2*h, 0),
			busyLine("b", 1, 4*h, 0, 0, 0)}, []Money{{0, "EUR"}}, 50, 0.5},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Statement{Lines: c.lines}.Total()
			if diff := cmp.Diff(c.idle, got.Idle); diff != "" {
				t.Errorf("idle money (-want +got):\n%s", diff)
			}
			if got.Use.Mean() != c.mean || got.Use.Coverage() != c.coverage || got.Use.Known() != (c.coverage > 0) {
				t.Errorf("want a mean of %g over %g of the time, got %g over %g", c.mean, c.coverage, got.Use.Mean(),
					got.Use.Coverage())
			}
		})
	}
}

func TestIdleMoneyIsPartOfTheMoney(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 27))
	some := func() time.Duration { return time.Duration(r.Int64N(int64(100 * time.Hour))) }
	for range 200 {
		var s Statement
		for n := range 1 + r.IntN(30) {
			l := Line{Use: Use{Workload: fmt.Sprint("w-", r.IntN(9)), Tenant: fmt.Sprint("t-", r.IntN(3)),
				Size: fmt.Sprint("s-", n), PerHour: Money{r.Int64N(500), "EUR"}, Before: some(), Held: some()},
				Owner: fmt.Sprint("p-", r.IntN(4)), Devices: 1, Cards: 1, Engine: EngineUse{some(), some(), some()}}
			if r.IntN(4) == 0 {
				l.Engine = EngineUse{}
			}
			l.Engine = l.Engine.Within(l.Held)
			if e := l.Engine; e.Measured > l.Held || e.Busy > e.Measured || e.Idle > e.Measured || e.Idle < 0 || e.Busy < 0 {
				t.Fatalf("%v in %s", e, l.Held)
			}
			if idle, cost := l.IdleCost().Minor, l.Cost().Minor; idle < 0 || idle > cost || l.Engine.Measured == 0 && idle != 0 {
				t.Fatalf("idle money is %d of %d, of %+v", idle, cost, l)
			}
			s.Lines = append(s.Lines, l)
		}
		total := s.Total()
		for by, key := range Groupings {
			var idle Money
			var held float64
			for _, g := range s.By(key) {
				for _, m := range g.Idle {
					idle = idle.Add(m)
				}
				held += g.Use.Measured
			}
			want := Money{}
			for _, m := range total.Idle {
				want = m
			}
			if idle.Minor != want.Minor || !near(held, total.Use.Measured) {
				t.Fatalf("by %s the idle money is %v, in all %v; measured %g of %g", by, idle, want, held, total.Use.Measured)
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

func TestUnknownUseIsEmptyInFiles(t *testing.T) {
	s := Statement{Month: Month{2026, time.November}, Lines: []Line{busyLine("w", 1, 10*time.Hour, 0, 0, 0),
		busyLine("x", 1, 10*time.Hour, 5*time.Hour, time.Hour, 2*time.Hour)}}
	var table, charges strings.Builder
	if err := s.ExportCSV(&table); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if !strings.HasSuffix(lines[1], ",,,,,,,,,") || !strings.HasSuffix(lines[2], ",5.000000,20.00,2.000000,2.00,,,,,") {
		t.Errorf("want empty cells for what is unknown, got\n%s", table.String())
	}
	if err := s.ExportFocus(&charges, FocusSite{Team: func(name string) string { return name }}); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{",x_HoursIdle,x_HoursMeasured,x_HoursUnknown,x_IdleCost,x_MeanUsePercent,",
		",,,0.000000,,,", ",2.000000,5.000000,0.000000,2.00,20.00,"} {
		if got := strings.Split(charges.String(), "\n")[n]; !strings.Contains(got, want) {
			t.Errorf("want %q in %q", want, got)
		}
	}
}
