package usage

import (
	"context"
	"time"
)

// Rollups keeps the sums of months, so that a statement needs not add up the whole meter. Faults: Unavailable when the
// database is away.
type Rollups interface {
	// Metered is the moment at which the meter begins; zero while it is empty.
	Metered(ctx context.Context) (time.Time, error)
	// SaveRollup writes down the sums of a span from the beginning of a month. Doing it again changes nothing.
	SaveRollup(ctx context.Context, s Span) error
}

// settled is how long after a day's end its sums are written down: what is then said of the day's last minutes, after a
// short silence of a cluster, would throw them away again.
const settled = 15 * time.Minute

// SaveRollups writes down the sums of every month since the meter began, and of the running one up to the last
// midnight. It may be killed at any point and run twice at once.
func SaveRollups(ctx context.Context, rollups Rollups, zone *time.Location, now time.Time) error {
	first, err := rollups.Metered(ctx)
	if err != nil || first.IsZero() {
		return err
	}
	for _, s := range due(first, now.Add(-settled), zone) {
		if err := rollups.SaveRollup(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// due are the spans to write down, oldest first: each goes on from the sums of the one before.
func due(first, now time.Time, zone *time.Location) (spans []Span) {
	year, month, day := now.In(zone).Date()
	midnight := DayStart(year, month, day, zone)
	for m := MonthOf(first, zone); ; m = m.Add(1) {
		s := m.Span(zone).To(midnight)
		if s.Length() <= 0 {
			return spans
		}
		spans = append(spans, s)
	}
}
