package limit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestSoManyAtOnceAndThenOneByOne(t *testing.T) {
	c := &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	l := New(Rates{Preview: {PerMinute: 60, Burst: 10}}, c.now)
	var refused atomic.Int32
	var group sync.WaitGroup
	for range 300 {
		group.Go(func() {
			if err := l.Take(Preview, "ada"); err != nil {
				refused.Add(1)
				f := fault.As(err)
				if f.Kind != fault.TooMany || f.RetryAfter <= 0 || f.RetryAfter > time.Second {
					t.Errorf("want to hear when to come back, got %v after %s", err, f.RetryAfter)
				}
			}
		})
	}
	group.Wait()
	if refused.Load() != 290 {
		t.Errorf("want 290 of 300 refused, got %d", refused.Load())
	}
	if err := l.Take(Preview, "bob"); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	if err := l.Take(Notice, "ada"); err != nil {
		t.Errorf("something else: %v", err)
	}
	c.at = c.at.Add(time.Second)
	if err := l.Take(Preview, "ada"); err != nil {
		t.Errorf("a second later: %v", err)
	}
	if err := l.Take(Preview, "ada"); err == nil {
		t.Error("what was refused must cost nothing, and give nothing: want one a second")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	l := New(nil, time.Now)
	for i := range mostKeys + 1000 {
		if err := l.Take(SignIn, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.buckets) != mostKeys || l.recent.Len() != mostKeys {
		t.Errorf("%d and %d", len(l.buckets), l.recent.Len())
	}
}

func TestRatesThatAreLeftOutHaveTheirDefaults(t *testing.T) {
	l := New(Rates{SignIn: {Burst: 3}, Notice: {PerMinute: -1}}, time.Now)
	if got := l.rates[SignIn]; got != (Rate{Defaults()[SignIn].PerMinute, 3}) {
		t.Errorf("got %+v", got)
	}
	for range 1000 {
		if err := l.Take(Notice, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	var none *Limiter
	if err := none.Take(SignIn, "x"); err != nil {
		t.Error(err)
	}
}

// TestOrdinaryUseMeetsNoLimit: a minute of somebody who works fast, and of a company behind one address.
func TestOrdinaryUseMeetsNoLimit(t *testing.T) {
	c := &clock{time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	l := New(nil, c.now)
	for second := range 600 {
		c.at = c.at.Add(time.Second)
		for class, each := range map[Class]int{SignIn: 5, Call: 50, Preview: 5} {
			for range each {
				if err := l.Take(class, "one"); err != nil {
					t.Fatalf("second %d, %s: %v", second, class, err)
				}
			}
		}
	}
}
