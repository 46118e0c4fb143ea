package forecast

import (
	"slices"
	"time"
)

// MinSamples is below how many samples there is no estimate.
const MinSamples = 5

// Distribution is count, median and 90th percentile of durations.
type Distribution struct {
	Count  int
	Median time.Duration // half of them took no longer
	P90    time.Duration // nine of ten took no longer
}

// NewDistribution computes the percentiles by nearest rank. Negative durations, from clocks that were set, are left
// out.
func NewDistribution(took []time.Duration) Distribution {
	sorted := slices.DeleteFunc(slices.Clone(took), func(d time.Duration) bool { return d < 0 })
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return Distribution{}
	}
	return Distribution{Count: n, Median: sorted[(n+1)/2-1], P90: sorted[(9*n+9)/10-1]}
}

// Enough reports whether there are MinSamples.
func (s Distribution) Enough() bool { return s.Count >= MinSamples }

// mean is the average of what is not negative, which takes part as nothing; 0 for too few.
func mean(list []time.Duration) time.Duration {
	if len(list) < MinSamples {
		return 0
	}
	var sum time.Duration
	for _, d := range list {
		sum += max(0, d) / time.Duration(len(list))
	}
	return sum
}
