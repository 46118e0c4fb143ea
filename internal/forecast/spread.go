package forecast

import (
	"slices"
	"time"
)

// Least is how many examples an estimate rests on at least.
const Least = 5

// Spread is how long something took.
type Spread struct {
	Count  int
	Median time.Duration // half of them took no longer
	Most   time.Duration // nine of ten took no longer
}

// SpreadOf sums up what was seen, by nearest rank. What took less than nothing, by clocks that were set, is not looked
// at.
func SpreadOf(took []time.Duration) Spread {
	sorted := slices.DeleteFunc(slices.Clone(took), func(d time.Duration) bool { return d < 0 })
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return Spread{}
	}
	return Spread{Count: n, Median: sorted[(n+1)/2-1], Most: sorted[(9*n+9)/10-1]}
}

// Enough reports whether an estimate may rest on it.
func (s Spread) Enough() bool { return s.Count >= Least }

// mean is the average of what is not negative, which takes part as nothing; 0 for too few.
func mean(list []time.Duration) time.Duration {
	if len(list) < Least {
		return 0
	}
	var sum time.Duration
	for _, d := range list {
		sum += max(0, d) / time.Duration(len(list))
	}
	return sum
}
