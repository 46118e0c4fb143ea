package usage

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Month is a calendar month of the site's time zone: what a statement is about.
type Month struct {
	Year  int
	Month time.Month
}

// MonthOf is the month that a moment is in, by the clocks of a zone.
func MonthOf(t time.Time, zone *time.Location) Month {
	year, month, _ := t.In(zone).Date()
	return Month{year, month}
}

// ParseMonth reads "2026-11".
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return Month{}, fmt.Errorf("%q is no month such as 2026-11", text)
	}
	return Month{t.Year(), t.Month()}, nil
}

// String is "2026-11".
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m.Year, int(m.Month)) }

// Text is the month in the reader's words, "November 2026".
func (m Month) Text() i18n.Text {
	return i18n.T("usage.month_of", "Month", i18n.T("usage.month_"+strings.ToLower(m.Month.String()[:3])), "Year",
		fmt.Sprintf("%04d", m.Year))
}

// Add is so many months later, or earlier.
func (m Month) Add(months int) Month {
	t := time.Date(m.Year, m.Month+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	return Month{t.Year(), t.Month()}
}

// Before reports whether a month is earlier than another.
func (m Month) Before(n Month) bool { return m.Year < n.Year || m.Year == n.Year && m.Month < n.Month }

// Span is from its first moment, which is in it, until its end, which is not. With a change of the clocks it is an hour
// longer or shorter than its days.
func (m Month) Span(zone *time.Location) Span {
	return Span{DayStart(m.Year, m.Month, 1, zone), DayStart(m.Year, m.Month+1, 1, zone)}
}

// Span is a half-open interval [From, Until).
type Span struct{ From, Until time.Time }

// To ends a span at a moment, if it would end later.
func (s Span) To(now time.Time) Span {
	if s.Until.After(now) {
		s.Until = later(s.From, now)
	}
	return s
}

// Length is the duration of the span.
func (s Span) Length() time.Duration { return s.Until.Sub(s.From) }

// overlap is how much of an interval is in a span.
func (s Span) overlap(from, until time.Time) time.Duration {
	from = later(s.From, from)
	if s.Until.Before(until) {
		until = s.Until
	}
	return max(0, until.Sub(from))
}
