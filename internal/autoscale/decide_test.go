package autoscale_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

var begun = time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)

const every = 5 * time.Second

func policy() autoscale.Policy {
	return autoscale.Policy{Metric: autoscale.Concurrency, Target: 4, ScaleDownAfter: catalog.Duration(time.Minute)}
}

// world plays a load, one value a round, and gives the numbers that follow; a negative one is unmeasured.
func play(p autoscale.Policy, s autoscale.Scale, loads []float64) (numbers []int) {
	var h autoscale.History
	for i, value := range loads {
		l := autoscale.Load{At: begun.Add(time.Duration(i) * every), Value: value, Known: value >= 0}
		s.Current, _, h = autoscale.Decide(p, s, l, h)
		numbers = append(numbers, s.Current)
	}
	return numbers
}

func scale(least, most, current int) autoscale.Scale {
	return autoscale.Scale{Min: least, Max: most, Current: current, ReadySince: begun.Add(-time.Hour)}
}

func TestOneDecision(t *testing.T) {
	known := func(value float64) autoscale.Load { return autoscale.Load{At: begun, Value: value, Known: true} }
	full := autoscale.History{{At: begun.Add(-2 * time.Minute), Enough: 1}, {At: begun.Add(-30 * time.Second), Enough: 1}}
	for what, c := range map[string]struct {
		load autoscale.Load
		from autoscale.Scale
		h    autoscale.History
		want int
		why  autoscale.Reason
	}{
		"a load for three":          {known(12), scale(1, 5, 1), nil, 3, autoscale.Up},
		"a load for two and a bit":  {known(9.5), scale(1, 5, 1), nil, 3, autoscale.Up},
		"a tenth too much is none":  {known(8.8), scale(1, 5, 2), nil, 2, autoscale.Steady},
		"a tenth too little, too":   {known(7.2), scale(1, 5, 2), full, 2, autoscale.Steady},
		"no more than the most":     {known(1000), scale(1, 5, 1), nil, 5, autoscale.Up},
		"a load beyond all numbers": {known(1e300), scale(1, 5, 1), nil, 5, autoscale.Up},
		"down after the window":     {known(1), scale(1, 5, 3), full, 1, autoscale.Down},
		"not below the least":       {known(0), scale(2, 5, 3), full, 2, autoscale.Down},
		"not before the window is full": {known(1), scale(1, 5, 3),
			autoscale.History{{At: begun.Add(-30 * time.Second), Enough: 1}}, 3, autoscale.Steady},
		"after a gap the window begins anew": {known(1), scale(1, 5, 3),
			autoscale.History{{At: begun.Add(-2 * time.Minute), Enough: 1}}, 3, autoscale.Steady},
		"what was needed in the window counts": {known(1), scale(1, 5, 3),
			append(full[:1:1], autoscale.Point{At: begun.Add(-30 * time.Second), Enough: 2}), 2, autoscale.Down},
		"unmeasured":       {autoscale.Load{At: begun}, scale(1, 5, 3), full, 3, autoscale.Unknown},
		"not a number":     {known(math.NaN()), scale(1, 5, 3), full, 3, autoscale.Unknown},
		"below zero":       {known(-1), scale(1, 5, 3), full, 3, autoscale.Unknown},
		"none answers yet": {known(100), autoscale.Scale{Min: 1, Max: 5, Current: 1}, nil, 1, autoscale.Beginning},
		"the clock was set back": {known(1), scale(1, 5, 3),
			autoscale.History{{At: begun.Add(time.Hour), Enough: 1}}, 3, autoscale.Steady},
		"an endpoint that sleeps": {known(0), scale(0, 5, 1), full, 1, autoscale.Steady},
	} {
		if got, why, _ := autoscale.Decide(policy(), c.from, c.load, c.h); got != c.want || why != c.why {
			t.Errorf("%s: want %d (%s), got %d (%s)", what, c.want, c.why, got, why)
		}
	}
}

func TestSleep(t *testing.T) {
	p := policy()
	p.ToZeroAfter = catalog.Duration(10 * time.Minute)
	long, short := begun.Add(-10*time.Minute), begun.Add(-9*time.Minute)
	for what, c := range map[string]struct {
		load  autoscale.Load
		least int
		ready time.Time
		want  int
	}{
		"ten minutes without a request": {autoscale.Load{At: begun, Quiet: true, LastRequest: long}, 0, long.Add(-1), 0},
		"never a request":               {autoscale.Load{At: begun, Quiet: true}, 0, long, 0},
		"a request nine minutes ago":    {autoscale.Load{At: begun, Quiet: true, LastRequest: short}, 0, long.Add(-1), 2},
		"ready for nine minutes":        {autoscale.Load{At: begun, Quiet: true}, 0, short, 2},
		"not ready: it waits for a GPU": {autoscale.Load{At: begun, Quiet: true}, 0, time.Time{}, 2},
		"a request is under way":        {autoscale.Load{At: begun, LastRequest: long}, 0, long, 2},
		"nothing is known":              {autoscale.Load{At: begun}, 0, long, 2},
		"it shall not sleep":            {autoscale.Load{At: begun, Quiet: true}, 1, long, 2},
	} {
		s := autoscale.Scale{Min: c.least, Max: 3, Current: 2, ReadySince: c.ready}
		for _, by := range []autoscale.Policy{p, {ToZeroAfter: p.ToZeroAfter}} {
			if got, _, _ := autoscale.Decide(by, s, c.load, nil); got != c.want {
				t.Errorf("%s (%q): want %d, got %d", what, by.Metric, c.want, got)
			}
		}
	}
}

// TestLaws plays loads that change in all ways, with holes: the number is always within the range, never falls where
// something of the window was not measured, and never below what the load of the window needs.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := policy()
	window := int(p.ScaleDownAfter.Std() / every)
	for range 2000 {
		s := scale(1+r.IntN(3), 3+r.IntN(6), 1)
		s.Current = s.Min + r.IntN(s.Max-s.Min+1)
		loads, level := make([]float64, 60), r.Float64()*40
		for i := range loads {
			if r.IntN(12) == 0 {
				level = r.Float64() * 40
			}
			loads[i] = level * (0.8 + r.Float64()*0.4)
			if r.IntN(20) == 0 {
				loads[i] = -1
			}
		}
		before := s.Current
		for i, n := range play(p, s, loads) {
			if n < s.Min || n > s.Max {
				t.Fatalf("%d is outside of %d to %d", n, s.Min, s.Max)
			}
			if n < before {
				if i < window {
					t.Fatalf("fell from %d to %d before a window was over", before, n)
				}
				for _, value := range loads[i-window : i+1] {
					if value < 0 {
						t.Fatalf("fell from %d to %d though not all of the window was measured", before, n)
					}
					if least := int(math.Ceil(value / p.Target / (1 + autoscale.Tolerance))); n < min(least, s.Max) {
						t.Fatalf("%d replicas, though a load of %v was in the window", n, value)
					}
				}
			}
			before = n
		}
	}
}

// TestNoFlapping: a load that only trembles makes the number rise at once and fall once at most; it never rises again.
func TestNoFlapping(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		level, loads := 1+r.Float64()*30, make([]float64, 200)
		for i := range loads {
			loads[i] = level * (0.95 + r.Float64()*0.1)
		}
		numbers, falls := play(policy(), scale(1, 10, 1), loads), 0
		for i := 1; i < len(numbers); i++ {
			if numbers[i] < numbers[i-1] {
				falls++
			}
			if falls > 1 || falls == 1 && numbers[i] > numbers[i-1] {
				t.Fatalf("load %v: %v", level, numbers)
			}
		}
	}
}

// TestMoreLoadNeverNeedsLess: the number that follows from nothing but a load grows with it.
func TestMoreLoadNeverNeedsLess(t *testing.T) {
	before := 0
	for value := 0.0; value < 100; value += 0.25 {
		n, _, _ := autoscale.Decide(policy(), scale(1, 20, 1), autoscale.Load{At: begun, Value: value, Known: true}, nil)
		if n < before {
			t.Fatalf("load %v: %d after %d", value, n, before)
		}
		before = n
	}
	if before != 20 {
		t.Errorf("want the most at last, got %d", before)
	}
}

func TestParse(t *testing.T) {
	vllm := catalog.Image{Title: "vLLM", Runtime: &catalog.Runtime{Engine: catalog.VLLM,
		Metrics: catalog.RuntimeMetrics{Queue: "vllm:num_requests_waiting"}}}
	plain := catalog.Image{Title: "Own"}
	full := catalog.Size{Name: "full", Technology: catalog.Full, Accelerator: catalog.Accelerator{Count: 1, Share: 1}}
	none := autoscale.Policy{}
	five, quarter := catalog.Duration(5*time.Minute), catalog.Duration(15*time.Minute)
	for what, c := range map[string]struct {
		typed  autoscale.Typed
		toZero bool
		image  catalog.Image
		size   catalog.Size
		want   autoscale.Policy
		fields []string
	}{
		"nothing":        {autoscale.Typed{}, false, vllm, full, autoscale.Policy{}, nil},
		"sleeping alone": {autoscale.Typed{}, true, vllm, full, autoscale.Policy{ToZeroAfter: quarter}, nil},
		"the usual": {autoscale.Typed{Metric: "concurrency"}, false, vllm, full,
			autoscale.Policy{Metric: autoscale.Concurrency, Target: 16, ScaleDownAfter: five}, nil},
		"all of it": {autoscale.Typed{"queue", "2.5", "30s", "1h"}, true, vllm, full,
			autoscale.Policy{Metric: autoscale.Queue, Target: 2.5, ScaleDownAfter: catalog.Duration(30 * time.Second),
				ToZeroAfter: catalog.Duration(time.Hour)}, nil},
		"no queue": {autoscale.Typed{Metric: "queue"}, false, plain, full, none, []string{"metric"}},
		"no GPU": {autoscale.Typed{Metric: "gpu"}, false, vllm, catalog.Size{Name: "cpu", Technology: catalog.CPUOnly}, none,
			[]string{"metric"}},
		"another metric": {autoscale.Typed{Metric: "moon"}, false, vllm, full, none, []string{"metric"}},
		"target 0": {autoscale.Typed{Metric: "requests", Target: "0"}, false, vllm, full, none,
			[]string{"target"}},
		"target below 0": {autoscale.Typed{Metric: "requests", Target: "-1"}, false, vllm, full, none,
			[]string{"target"}},
		"no number": {autoscale.Typed{Metric: "requests", Target: "NaN"}, false, vllm, full, none,
			[]string{"target"}},
		"endless": {autoscale.Typed{Metric: "requests", Target: "Inf"}, false, vllm, full, none,
			[]string{"target"}},
		"101 per cent": {autoscale.Typed{Metric: "gpu", Target: "101"}, false, vllm, full, none,
			[]string{"target"}},
		"too short a time": {autoscale.Typed{Metric: "requests", ScaleDownAfter: "1s"}, false, vllm, full, none,
			[]string{"scaleDownAfter"}},
		"no time":          {autoscale.Typed{ToZeroAfter: "soon"}, true, vllm, full, none, []string{"toZeroAfter"}},
		"sleeping needs 0": {autoscale.Typed{ToZeroAfter: "10m"}, false, vllm, full, none, []string{"toZeroAfter"}},
	} {
		got, problems := autoscale.Parse(c.typed, c.toZero, c.image, c.size)
		var fields []string
		for _, p := range problems {
			fields = append(fields, p.Field)
		}
		if len(fields) != len(c.fields) || len(fields) > 0 && fields[0] != c.fields[0] {
			t.Errorf("%s: want problems in %v, got %v", what, c.fields, problems)
		}
		if c.fields == nil && got != c.want {
			t.Errorf("%s: want %+v, got %+v", what, c.want, got)
		}
		if c.fields == nil {
			if again, problems := autoscale.Parse(got.Typed(), c.toZero, c.image, c.size); again != got || problems != nil {
				t.Errorf("%s: written and read again: %+v, %v", what, again, problems)
			}
		}
	}
}
