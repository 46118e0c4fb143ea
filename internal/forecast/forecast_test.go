package forecast_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var noon = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

func in(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func took(seconds ...int) forecast.Spread {
	list := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		list[i] = time.Duration(s) * time.Second
	}
	return forecast.SpreadOf(list)
}

var usual = took(10, 10, 12, 20, 40)

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		got  forecast.Spread
		want forecast.Spread
	}{
		"nothing": {took(), forecast.Spread{}},
		"one": {took(7), forecast.Spread{Count: 1, Median: 7 * time.Second,
			Most: 7 * time.Second}},
		"five": {usual, forecast.Spread{Count: 5, Median: 12 * time.Second,
			Most: 40 * time.Second}},
		"ten, of which one takes for ever": {took(1, 2, 3, 4, 5, 6, 7, 8, 9, 9999),
			forecast.Spread{Count: 10, Median: 5 * time.Second, Most: 9 * time.Second}},
		"what took less than nothing is none": {took(-5, 3), forecast.Spread{Count: 1, Median: 3 * time.Second,
			Most: 3 * time.Second}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEstimates(t *testing.T) {
	line := forecast.Line{Basis: forecast.Leases, Place: 2, At: in(600), Count: 2}
	early := line
	early.Early = 5 * time.Minute
	past := line
	past.At, past.Count = in(-30), 1
	stuck := line
	stuck.At = time.Time{}
	for name, c := range map[string]struct {
		got  forecast.Estimate
		want forecast.Estimate
	}{
		"a start that was just requested": {forecast.Begin(forecast.Starts, usual, noon, noon),
			forecast.Estimate{At: noon, From: in(12), Until: in(40), Basis: forecast.Starts, Count: 5, Usual: 12 * time.Second,
				Most: 40 * time.Second}},
		"one under way for longer than half of them": {forecast.Begin(forecast.Starts, usual, in(-20), noon),
			forecast.Estimate{At: noon, From: noon, Until: in(20), Basis: forecast.Starts, Count: 5, Usual: 12 * time.Second,
				Most: 40 * time.Second}},
		"one that takes longer than nine of ten": {forecast.Begin(forecast.Starts, usual, in(-40), noon),
			forecast.Estimate{At: noon, Missing: forecast.Overdue, Count: 5, Usual: 12 * time.Second, Most: 40 * time.Second}},
		"too few starts": {forecast.Begin(forecast.Starts, took(1, 2, 3, 4), noon, noon),
			forecast.Estimate{At: noon, Missing: forecast.FewStarts, Count: 4}},
		"behind two leases": {forecast.Wait(line, usual, noon),
			forecast.Estimate{At: noon, From: in(612), Until: in(640), Basis: forecast.Leases, Count: 2, Place: 2,
				Lease: in(600)}},
		"behind leases that are given back early": {forecast.Wait(early, usual, noon),
			forecast.Estimate{At: noon, From: in(312), Until: in(640), Basis: forecast.Leases, Count: 2, Place: 2,
				Lease: in(600), Early: 5 * time.Minute}},
		"behind a lease that is over, whose pod is still there": {forecast.Wait(past, usual, noon),
			forecast.Estimate{At: noon, From: in(12), Until: in(40), Basis: forecast.Leases, Count: 1, Place: 2,
				Lease: in(-30)}},
		"behind leases, with a size that has not started often": {forecast.Wait(line, took(3), noon),
			forecast.Estimate{At: noon, From: in(600), Until: in(720), Basis: forecast.Leases, Count: 2, Place: 2,
				Lease: in(600)}},
		"nothing that ends gives it back": {forecast.Wait(stuck, usual, noon),
			forecast.Estimate{At: noon, Missing: forecast.Stuck, Place: 2}},
		"people decide": {forecast.Ask(took(60, 60, 120, 600, 900), usual, in(-30), noon),
			forecast.Estimate{At: noon, From: in(102), Until: in(910), Basis: forecast.Decisions, Count: 5,
				Usual: 2 * time.Minute, Most: 15 * time.Minute}},
		"people who have hardly decided anything": {forecast.Ask(took(60), usual, noon, noon),
			forecast.Estimate{At: noon, Missing: forecast.FewDecisions, Count: 1}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever the facts are, an estimate is a range that does not lie in the past, or says why there is none; a later
// place is not served sooner, and who gives back early does not make anybody wait longer.
func TestEstimatesHoldTheirLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	spread := func() forecast.Spread {
		list := make([]int, r.IntN(12))
		for i := range list {
			list[i] = r.IntN(3000) - 100
		}
		return took(list...)
	}
	for range 20_000 {
		start, since := spread(), in(-r.IntN(4000))
		l := forecast.Line{Basis: forecast.Leases, Place: 1 + r.IntN(5), At: in(r.IntN(8000) - 4000),
			Early: time.Duration(r.IntN(4000)-500) * time.Second}
		if r.IntN(4) == 0 {
			l.At = time.Time{}
		}
		all := []forecast.Estimate{forecast.Begin(forecast.Starts, start, since, noon), forecast.Wait(l, start, noon),
			forecast.Ask(spread(), start, since, noon)}
		for _, e := range all {
			switch {
			case e.Known() == (e.Missing != ""):
				t.Fatalf("want a range or a reason, got %+v", e)
			case e.Known() && (e.From.Before(noon) || e.Until.Before(e.From) || !e.Until.After(noon)):
				t.Fatalf("want a range that is to come, got %+v", e)
			case !e.At.Equal(noon):
				t.Fatalf("want to know when it was made, got %+v", e)
			}
		}
		behind := l
		behind.At = behind.At.Add(time.Duration(r.IntN(900)) * time.Second)
		if a, b := all[1], forecast.Wait(behind, start, noon); a.Known() && b.Known() &&
			(b.From.Before(a.From) || b.Until.Before(a.Until)) {
			t.Fatalf("want one lease more to take no less time, got %+v and %+v", a, b)
		}
		punctual := l
		punctual.Early = 0
		if a, b := forecast.Wait(punctual, start, noon), all[1]; a.Known() && b.From.After(a.From) {
			t.Fatalf("want early returns to hold nobody up, got %+v and %+v", a, b)
		}
	}
}

func TestJudge(t *testing.T) {
	e := forecast.Begin(forecast.Starts, usual, noon, noon)
	for name, c := range map[string]struct {
		at      int
		off     time.Duration
		outcome forecast.Outcome
	}{
		"sooner":       {5, 7 * time.Second, forecast.Before},
		"as it begins": {12, 0, forecast.Within},
		"as it ends":   {40, 0, forecast.Within},
		"later":        {100, time.Minute, forecast.After},
	} {
		if off, is := e.Judge(in(c.at)); off != c.off || is != c.outcome {
			t.Errorf("%s: want %v %s, got %v %s", name, c.off, c.outcome, off, is)
		}
	}
}

func TestTheRecordOfAStart(t *testing.T) {
	w := workload.Workload{ID: "w-1", Generation: 2}
	stuck := forecast.Tell(w, in(-1), forecast.Wait(forecast.Line{Place: 1}, usual, noon))
	if !stuck.Waited || len(stuck.Answer(in(9)).Verdicts()) != 0 {
		t.Errorf("what had no estimate is not judged, and waited: %+v", stuck)
	}
	waits := forecast.Tell(w, in(5), forecast.Wait(forecast.Line{Basis: forecast.Leases, Place: 1, At: in(100)}, usual,
		noon))
	if !waits.Told.Equal(noon) {
		t.Errorf("nobody is told after the estimate: %v", waits.Told)
	}
	waits = waits.Place(in(50), forecast.Begin(forecast.Placed, usual, in(50), in(50)))
	if len(waits.Verdicts()) != 0 {
		t.Errorf("what is under way is not judged yet: %v", waits.Verdicts())
	}
	want := []forecast.Verdict{{Basis: forecast.Leases, Off: 42 * time.Second, Outcome: forecast.Before},
		{Basis: forecast.Placed, Outcome: forecast.Within}}
	if diff := cmp.Diff(want, waits.Answer(in(70)).Verdicts()); diff != "" {
		t.Errorf("two estimates were given (-want +got):\n%s", diff)
	}
	at := forecast.Tell(w, noon, forecast.Begin(forecast.Starts, usual, noon, noon)).Place(in(3),
		forecast.Begin(forecast.Placed, usual, in(3), in(3)))
	if got := at.Answer(in(41)).Verdicts(); len(got) != 1 ||
		got[0] != (forecast.Verdict{Basis: forecast.Starts, Off: time.Second, Outcome: forecast.After}) {
		t.Errorf("one that did not wait was told once: %v", got)
	}
}
