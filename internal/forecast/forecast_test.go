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

func took(seconds ...int) forecast.Distribution {
	list := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		list[i] = time.Duration(s) * time.Second
	}
	return forecast.NewDistribution(list)
}

var usual = took(10, 10, 12, 20, 40)

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		got  forecast.Distribution
		want forecast.Distribution
	}{
		"nothing": {took(), forecast.Distribution{}},
		"one": {took(7), forecast.Distribution{Count: 1, Median: 7 * time.Second,
			P90: 7 * time.Second}},
		"five": {usual, forecast.Distribution{Count: 5, Median: 12 * time.Second,
			P90: 40 * time.Second}},
		"ten, of which one takes for ever": {took(1, 2, 3, 4, 5, 6, 7, 8, 9, 9999),
			forecast.Distribution{Count: 10, Median: 5 * time.Second, P90: 9 * time.Second}},
		"what took less than nothing is none": {took(-5, 3), forecast.Distribution{Count: 1, Median: 3 * time.Second,
			P90: 3 * time.Second}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEstimates(t *testing.T) {
	line := forecast.QueuePosition{Basis: forecast.Leases, Position: 2, At: in(600), Count: 2}
	early := line
	early.EarlyRelease = 5 * time.Minute
	past := line
	past.At, past.Count = in(-30), 1
	stuck := line
	stuck.At = time.Time{}
	for name, c := range map[string]struct {
		got  forecast.Estimate
		want forecast.Estimate
	}{
		"a start that was just requested": {forecast.FromDurations(forecast.Starts, usual, noon, noon),
			forecast.Estimate{At: noon, From: in(12), Until: in(40), Basis: forecast.Starts, Count: 5, Median: 12 * time.Second,
				P90: 40 * time.Second}},
		"one under way for longer than half of them": {forecast.FromDurations(forecast.Starts, usual, in(-20), noon),
			forecast.Estimate{At: noon, From: noon, Until: in(20), Basis: forecast.Starts, Count: 5, Median: 12 * time.Second,
				P90: 40 * time.Second}},
		"one that takes longer than nine of ten": {forecast.FromDurations(forecast.Starts, usual, in(-40), noon),
			forecast.Estimate{At: noon, Missing: forecast.Overdue, Count: 5, Median: 12 * time.Second, P90: 40 * time.Second}},
		"too few starts": {forecast.FromDurations(forecast.Starts, took(1, 2, 3, 4), noon, noon),
			forecast.Estimate{At: noon, Missing: forecast.FewStarts, Count: 4}},
		"behind two leases": {forecast.FromQueue(line, usual, noon),
			forecast.Estimate{At: noon, From: in(612), Until: in(640), Basis: forecast.Leases, Count: 2, Position: 2,
				Lease: in(600)}},
		"behind leases that are given back early": {forecast.FromQueue(early, usual, noon),
			forecast.Estimate{At: noon, From: in(312), Until: in(640), Basis: forecast.Leases, Count: 2, Position: 2,
				Lease: in(600), EarlyRelease: 5 * time.Minute}},
		"behind a lease that is over, whose pod is still there": {forecast.FromQueue(past, usual, noon),
			forecast.Estimate{At: noon, From: in(12), Until: in(40), Basis: forecast.Leases, Count: 1, Position: 2,
				Lease: in(-30)}},
		"behind leases, with a size that has not started often": {forecast.FromQueue(line, took(3), noon),
			forecast.Estimate{At: noon, From: in(600), Until: in(720), Basis: forecast.Leases, Count: 2, Position: 2,
				Lease: in(600)}},
		"nothing that ends gives it back": {forecast.FromQueue(stuck, usual, noon),
			forecast.Estimate{At: noon, Missing: forecast.Stuck, Position: 2}},
		"people decide": {forecast.FromDecisions(took(60, 60, 120, 600, 900), usual, in(-30), noon),
			forecast.Estimate{At: noon, From: in(102), Until: in(910), Basis: forecast.Decisions, Count: 5,
				Median: 2 * time.Minute, P90: 15 * time.Minute}},
		"people who have hardly decided anything": {forecast.FromDecisions(took(60), usual, noon, noon),
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
	spread := func() forecast.Distribution {
		list := make([]int, r.IntN(12))
		for i := range list {
			list[i] = r.IntN(3000) - 100
		}
		return took(list...)
	}
	for range 20_000 {
		start, since := spread(), in(-r.IntN(4000))
		l := forecast.QueuePosition{Basis: forecast.Leases, Position: 1 + r.IntN(5), At: in(r.IntN(8000) - 4000),
			EarlyRelease: time.Duration(r.IntN(4000)-500) * time.Second}
		if r.IntN(4) == 0 {
			l.At = time.Time{}
		}
		all := []forecast.Estimate{forecast.FromDurations(forecast.Starts, start, since, noon),
			forecast.FromQueue(l, start, noon),
			forecast.FromDecisions(spread(), start, since, noon)}
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
		if a, b := all[1], forecast.FromQueue(behind, start, noon); a.Known() && b.Known() &&
			(b.From.Before(a.From) || b.Until.Before(a.Until)) {
			t.Fatalf("want one lease more to take no less time, got %+v and %+v", a, b)
		}
		punctual := l
		punctual.EarlyRelease = 0
		if a, b := forecast.FromQueue(punctual, start, noon), all[1]; a.Known() && b.From.After(a.From) {
			t.Fatalf("want early returns to hold nobody up, got %+v and %+v", a, b)
		}
	}
}

func TestJudge(t *testing.T) {
	e := forecast.FromDurations(forecast.Starts, usual, noon, noon)
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
		if off, is := e.Evaluate(in(c.at)); off != c.off || is != c.outcome {
			t.Errorf("%s: want %v %s, got %v %s", name, c.off, c.outcome, off, is)
		}
	}
}

func TestTheRecordOfAStart(t *testing.T) {
	w := workload.Workload{ID: "w-1", Generation: 2}
	stuck := forecast.NewStart(w, in(-1), forecast.FromQueue(forecast.QueuePosition{Position: 1}, usual, noon))
	if !stuck.Waited || len(stuck.MarkReady(in(9)).Accuracies()) != 0 {
		t.Errorf("what had no estimate is not judged, and waited: %+v", stuck)
	}
	waits := forecast.NewStart(w, in(5), forecast.FromQueue(forecast.QueuePosition{Basis: forecast.Leases, Position: 1,
		At: in(100)}, usual,
		noon))
	if !waits.RequestedAt.Equal(noon) {
		t.Errorf("nobody is told after the estimate: %v", waits.RequestedAt)
	}
	waits = waits.MarkPlaced(in(50), forecast.FromDurations(forecast.Placed, usual, in(50), in(50)))
	if len(waits.Accuracies()) != 0 {
		t.Errorf("what is under way is not judged yet: %v", waits.Accuracies())
	}
	want := []forecast.Accuracy{{Basis: forecast.Leases, Error: 42 * time.Second, Outcome: forecast.Before},
		{Basis: forecast.Placed, Outcome: forecast.Within}}
	if diff := cmp.Diff(want, waits.MarkReady(in(70)).Accuracies()); diff != "" {
		t.Errorf("two estimates were given (-want +got):\n%s", diff)
	}
	at := forecast.NewStart(w, noon, forecast.FromDurations(forecast.Starts, usual, noon, noon)).MarkPlaced(in(3),
		forecast.FromDurations(forecast.Placed, usual, in(3), in(3)))
	if got := at.MarkReady(in(41)).Accuracies(); len(got) != 1 ||
		got[0] != (forecast.Accuracy{Basis: forecast.Starts, Error: time.Second, Outcome: forecast.After}) {
		t.Errorf("one that did not wait was told once: %v", got)
	}
}
