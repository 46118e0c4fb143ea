package schedule

import "time"

// farthest is more than the offset of any zone from UTC, in seconds.
const farthest = 26 * 3600

// wallOf is a time of a day as clocks show it; minutes may go beyond the day.
func wallOf(year int, month time.Month, day int, at Clock) int64 {
	return time.Date(year, month, day, 0, int(at), 0, 0, time.UTC).Unix()
}

// first is the earliest instant at which the clocks of a zone show x or more: the first of two times, and the moment of
// the jump where they skip x.
func first(loc *time.Location, x int64) time.Time {
	for t := time.Unix(x-farthest, 0).In(loc); ; {
		_, offset := t.Zone()
		begins, ends := t.ZoneBounds()
		at := x - int64(offset)
		if !begins.IsZero() {
			at = max(at, begins.Unix())
		}
		if ends.IsZero() || at < ends.Unix() {
			return time.Unix(at, 0).In(loc)
		}
		t = ends
	}
}

// last is the instant before which clocks of a zone show less than x for the last time: the second of two times, and
// the moment of the jump where they skip x.
func last(loc *time.Location, x int64) time.Time {
	for t := time.Unix(x+farthest, 0).In(loc); ; {
		_, offset := t.Zone()
		begins, ends := t.ZoneBounds()
		at := x - int64(offset)
		if begins.IsZero() || at > begins.Unix() {
			if !ends.IsZero() {
				at = min(at, ends.Unix())
			}
			return time.Unix(at, 0).In(loc)
		}
		t = begins.Add(-time.Second)
	}
}
