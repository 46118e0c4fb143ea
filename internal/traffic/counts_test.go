package traffic

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuantilesAreAsNearAsBucketsTell(t *testing.T) {
	var empty Histogram
	if _, ok := empty.Quantile(.5); ok {
		t.Error("want no quantile of nothing")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var whole, left, right Histogram
	var all []time.Duration
	for i := range 5000 {
		d := time.Duration(float64(time.Millisecond) * (8 + 60_000*random.Float64()*random.Float64()))
		all = append(all, d)
		whole.Observe(d)
		if i%3 == 0 {
			left.Observe(d)
		} else {
			right.Observe(d)
		}
	}
	left.Add(&right)
	if left != whole || whole.Count() != 5000 {
		t.Errorf("want parts to add up to the whole, got %v and %v", left, whole)
	}
	slices.Sort(all)
	for _, q := range []float64{.05, .5, .9, .95, .99} {
		want := all[int(q*float64(len(all)))-1]
		got, ok := whole.Quantile(q)
		if off := float64(got) / float64(want); !ok || off < .8 || off > 1.25 {
			t.Errorf("%v: want about %v, got %v", q, want, got)
		}
	}
	var long Histogram
	long.Observe(time.Hour)
	if got, _ := long.Quantile(.5); got != bounds[len(bounds)-1] {
		t.Errorf("want the last bound for what is longer, got %v", got)
	}
}

func TestBoundsAreCountedToTheirBucket(t *testing.T) {
	if !slices.IsSorted(bounds[:]) {
		t.Fatal("want bounds to rise")
	}
	for i, b := range bounds {
		var h Histogram
		h.Observe(b)
		h.Observe(b + 1)
		if h[i] != 1 || h[i+1] != 1 {
			t.Errorf("%v: want it in bucket %d and what is longer in the next, got %v", b, i, h)
		}
	}
}

func TestACallIsInOneClass(t *testing.T) {
	first, took := Histogram{}, Histogram{}
	first.Observe(20 * time.Millisecond)
	took.Observe(time.Second)
	answered := Outcome{Status: http.StatusOK, First: 20 * time.Millisecond, HasFirst: true, Took: time.Second}
	with := func(change func(*Outcome)) Outcome {
		o := answered
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		outcome Outcome
		want    Counts
	}{
		"an answer": {answered, Counts{Requests: 1, First: first, Took: took}},
		"with tokens": {with(func(o *Outcome) { o.Prompt, o.Completion = 3, 4 }),
			Counts{Requests: 1, Prompt: 3, Completion: 4, First: first, Took: took}},
		"that told no usage": {with(func(o *Outcome) { o.WithoutUsage = true }),
			Counts{Requests: 1, WithoutUsage: 1, First: first, Took: took}},
		"without a body":    {with(func(o *Outcome) { o.HasFirst = false }), Counts{Requests: 1, Took: took}},
		"wrong":             {with(func(o *Outcome) { o.Status = 404 }), Counts{Requests: 1, ClientErrors: 1}},
		"over a limit":      {with(func(o *Outcome) { o.Status = 429 }), Counts{Requests: 1, Refused: 1}},
		"a failing server":  {with(func(o *Outcome) { o.Status = 503 }), Counts{Requests: 1, ServerErrors: 1}},
		"broken off":        {with(func(o *Outcome) { o.Broken = true }), Counts{Requests: 1, ServerErrors: 1}},
		"a caller who left": {with(func(o *Outcome) { o.Gone = true }), Counts{Requests: 1, First: first}},
		"gone before":       {Outcome{Gone: true}, Counts{Requests: 1}},
		"a websocket is no answer that ends": {Outcome{Status: http.StatusSwitchingProtocols, Took: time.Hour},
			Counts{Requests: 1}},
	} {
		var got Counts
		got.Count(&c.outcome)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", name, diff)
		}
	}
}
