package usage

import "time"

// NextDay is the first moment after another that belongs to a later calendar day by the clocks of a zone. It is not
// always midnight: clocks skip that hour where they are put forward at 00:00 (America/Santiago, America/Havana,
// Atlantic/Azores), and a whole day where a zone moves over the date line (Pacific/Apia in 2011).
func NextDay(at time.Time, zone *time.Location) time.Time {
	year, month, day := at.In(zone).Date()
	midnight := time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	var first time.Time
	look := func(t time.Time) {
		if t.After(at) && dayOf(t, zone).After(dayOf(at, zone)) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	// Midnight by each offset that is in force around it, and each change of the clocks itself.
	for t := at.In(zone); ; {
		_, offset := t.Zone()
		look(midnight.Add(-time.Duration(offset) * time.Second))
		_, change := t.ZoneBounds()
		if change.IsZero() || !first.IsZero() && !change.Before(first) {
			return first.In(zone)
		}
		look(change)
		// where the rules of a zone take over from its table, change can be t itself
		if t = t.Add(time.Hour); change.After(t) {
			t = change.In(zone)
		}
	}
}

// longestDay is more than two calendar days by any clock.
const longestDay = 52 * time.Hour

// DayStart is the first moment of a calendar day by the clocks of a zone, or of the next one that the zone has.
func DayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	wanted := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	at := wanted.Add(-longestDay)
	for dayOf(at, zone).Before(wanted) {
		at = NextDay(at, zone)
	}
	return at.In(zone)
}

// dayOf is the calendar day of a moment, as midnight in UTC, so that days compare as times do.
func dayOf(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
