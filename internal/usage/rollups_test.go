package usage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rollupsOf notes what is written down.
type rollupsOf struct {
	first time.Time
	spans []Span
	fails error
}

func (s *rollupsOf) Metered(context.Context) (time.Time, error) { return s.first, nil }

func (s *rollupsOf) SaveRollup(_ context.Context, span Span) error {
	s.spans = append(s.spans, span)
	return s.fails
}

func TestSaveRollups(t *testing.T) {
	zone := berlin(t)
	day := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, zone) }
	cases := map[string]struct {
		first, now time.Time
		want       []Span
	}{
		"nothing metered yet":               {time.Time{}, day(11, 3), nil},
		"the day on which the meter begins": {day(11, 1).Add(time.Hour), day(11, 1).Add(5 * time.Hour), nil},
		"the running month up to midnight": {day(11, 1).Add(time.Hour), day(11, 5).Add(5 * time.Hour),
			[]Span{{day(11, 1), day(11, 5)}}},
		"just after midnight the day is not yet over": {day(11, 1), day(11, 5).Add(time.Minute),
			[]Span{{day(11, 1), day(11, 4)}}},
		"months before, with the change of clocks": {day(10, 30), day(12, 1).Add(time.Hour),
			[]Span{{day(10, 1), day(11, 1)}, {day(11, 1), day(12, 1)}}},
		"a meter that begins tomorrow": {day(12, 2), day(11, 5), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := &rollupsOf{first: c.first}
			if err := SaveRollups(t.Context(), s, zone, c.now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.spans); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	away := errors.New("away")
	s := &rollupsOf{first: day(9, 1), fails: away}
	if err := SaveRollups(t.Context(), s, zone, day(11, 5)); !errors.Is(err, away) || len(s.spans) != 1 {
		t.Errorf("want it to stop at the first fault, got %v after %d", err, len(s.spans))
	}
}
