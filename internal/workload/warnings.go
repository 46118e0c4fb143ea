package workload

import (
	"cmp"
	"slices"
	"time"
)

// Warnings are how long before an end people are warned of it.
type Warnings []time.Duration

// LeaseWarnings are the defaults for the end of a lease.
func LeaseWarnings() Warnings { return Warnings{24 * time.Hour, time.Hour, 10 * time.Minute} }

// StorageWarnings are the defaults for the end of retention.
func StorageWarnings() Warnings { return Warnings{7 * 24 * time.Hour, 24 * time.Hour} }

// Of are the warnings of something that lasts so long, the longest first. Nothing begins with a warning: those of the
// first half are left out, and where that leaves none a quarter remains.
func (w Warnings) Of(length time.Duration) Warnings {
	var list Warnings
	for _, left := range w {
		if 2*left <= length {
			list = append(list, left)
		}
	}
	if len(list) == 0 {
		return Warnings{length / 4}
	}
	slices.SortFunc(list, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return slices.Compact(list)
}

// ahead are the warnings that have not been given; warned is when the last one was, zero for none. That it was given
// with less than so much left is what tells the warnings apart, so an end that moves away is announced anew.
func (w Warnings) ahead(until, warned time.Time) Warnings {
	if warned.IsZero() {
		return w
	}
	given := until.Sub(warned)
	return slices.DeleteFunc(slices.Clone(w), func(left time.Duration) bool { return left >= given })
}

// Next is when a lease is announced next; zero where all warnings were given.
func (w Warnings) Next(l Lease, warned time.Time) time.Time {
	if ahead := w.Of(l.Until.Sub(l.From)).ahead(l.Until, warned); len(ahead) > 0 {
		return l.Until.Add(-ahead[0])
	}
	return time.Time{}
}

// due is the warning of a lease that is to be given now. Of several that were missed only the last one still says
// something.
func (w Warnings) due(l Lease, warned, now time.Time) (left time.Duration, ok bool) {
	for _, ahead := range w.Of(l.Until.Sub(l.From)).ahead(l.Until, warned) {
		if l.Until.Sub(now) <= ahead {
			left, ok = ahead, true
		}
	}
	return left, ok
}
