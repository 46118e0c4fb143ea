package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Calendar is when something runs, with the holidays that count for it.
type Calendar struct {
	hours    Hours
	loc      *time.Location
	holidays map[string]string // names by date
}

// New is the calendar of hours. The error says that their zone is not known: nothing is to be concluded then.
func New(h Hours, holidays []Holiday) (Calendar, error) {
	loc, err := h.Location()
	if err != nil {
		return Calendar{}, err
	}
	c := Calendar{hours: h, loc: loc, holidays: map[string]string{}}
	if h.Holidays {
		for _, d := range holidays {
			c.holidays[d.Date] = d.Name
		}
	}
	return c, nil
}

// Team is when the workloads of a team run that say nothing else.
type Team struct {
	Hours    *Hours    `json:"hours,omitempty"` // nil for always
	Holidays []Holiday `json:"holidays,omitempty"`
	Since    time.Time `json:"since,omitzero"` // when somebody said so
}

// Flat is what a record compares; nil for nothing.
func (t *Team) Flat() any {
	if t == nil {
		return nil
	}
	days := map[string]string{}
	for _, h := range t.Holidays {
		days[h.Date] = h.Name
	}
	return map[string]any{"hours": t.Hours.Flat(), "holidays": days}
}

// Change is a moment at which something begins or ends to run.
type Change struct {
	At time.Time
	On bool
	// Holiday names the holiday on whose day a window was left out since the change before; "" for none
	Holiday string
}

// span is a stretch in which something runs, its end not included.
type span struct{ from, until time.Time }

const week = 7 // days

// most is how many days away a change is looked for: years of holidays are no hours.
const most = 2 * 366

// spans are the stretches of the windows that begin on days from one before until so many after a moment, in order,
// those that touch as one.
func (c Calendar) spans(around time.Time, before, after int) []span {
	var list []span
	year, month, day := around.In(c.loc).Date()
	for i := -before; i <= after; i++ {
		date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
		if _, off := c.holidays[date.Format(time.DateOnly)]; off {
			continue
		}
		for _, w := range c.hours.Windows {
			if !slices.Contains(w.Days, days[date.Weekday()]) {
				continue
			}
			y, m, d := date.Date()
			until := w.Until
			if until <= w.From {
				until += wholeDay
			}
			s := span{first(c.loc, wallOf(y, m, d, w.From)), last(c.loc, wallOf(y, m, d, until))}
			if s.from.Before(s.until) {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from.Unix(), b.from.Unix()) })
	var merged []span
	for _, s := range list {
		if n := len(merged); n > 0 && !s.from.After(merged[n-1].until) {
			if s.until.After(merged[n-1].until) {
				merged[n-1].until = s.until
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// edges are the changes between two moments, the later one not included; what is at the rim of the days that are looked
// at is not one.
func (c Calendar) edges(from, until time.Time) []Change {
	var list []Change
	length := int(until.Sub(from)/(24*time.Hour)) + 1
	for _, s := range c.spans(from, 3, length+3) {
		for _, e := range []Change{{At: s.from, On: true}, {At: s.until}} {
			if !e.At.Before(from) && e.At.Before(until) {
				list = append(list, e)
			}
		}
	}
	return list
}

// On reports whether it runs at a moment.
func (c Calendar) On(t time.Time) bool {
	return slices.ContainsFunc(c.spans(t, 3, 3), func(s span) bool { return !t.Before(s.from) && t.Before(s.until) })
}

// Next is the first change after a moment; false where there is none in years.
func (c Calendar) Next(after time.Time) (Change, bool) {
	from := after.Truncate(time.Second).Add(time.Second) // changes are whole seconds
	for length := week; length <= most; length *= 3 {
		if list := c.edges(from, from.Add(time.Duration(length)*24*time.Hour)); len(list) > 0 {
			list[0].Holiday = c.holidayBetween(after, list[0])
			return list[0], true
		}
	}
	return Change{}, false
}

// Last is the last change at or before a moment; false where there is none in years.
func (c Calendar) Last(upTo time.Time) (Change, bool) {
	until := upTo.Truncate(time.Second).Add(time.Second)
	for length := week; length <= most; length *= 3 {
		if list := c.edges(until.Add(-time.Duration(length)*24*time.Hour), until); len(list) > 0 {
			return list[len(list)-1], true
		}
	}
	return Change{}, false
}

// NextTo is the first change of one sort after a moment.
func (c Calendar) NextTo(on bool, after time.Time) (Change, bool) {
	next, ok := c.Next(after)
	if ok && next.On != on {
		next, ok = c.Next(next.At)
	}
	return next, ok
}

// Between are the changes from one moment until another, which is not included; no more than so many.
func (c Calendar) Between(from, until time.Time, atMost int) []Change {
	var list []Change
	for at := from.Add(-time.Second); len(list) < atMost; {
		next, ok := c.Next(at)
		if !ok || !next.At.Before(until) {
			break
		}
		list, at = append(list, next), next.At
	}
	return list
}

// holidayBetween is the first holiday that keeps it stopped up to a start.
func (c Calendar) holidayBetween(after time.Time, next Change) string {
	if !next.On || len(c.holidays) == 0 {
		return ""
	}
	end := next.At.In(c.loc).Format(time.DateOnly)
	for day := after.In(c.loc); ; day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		if name := c.holidays[date]; name != "" && c.works(date) {
			return name
		}
		if date >= end {
			return ""
		}
	}
}

// works reports whether a window begins on a date that is no holiday.
func (c Calendar) works(date string) bool {
	day, err := time.Parse(time.DateOnly, date)
	return err == nil && slices.ContainsFunc(c.hours.Windows,
		func(w Window) bool { return slices.Contains(w.Days, days[day.Weekday()]) })
}

// stops reports whether a usual week has an end of what runs.
func (c Calendar) stops() bool {
	from := time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)
	return len(c.edges(from, from.Add(2*week*24*time.Hour))) > 0
}

// Location is the zone.
func (c Calendar) Location() *time.Location { return c.loc }

// Print tells two calendars apart, whatever the rules of their zones are.
func (c Calendar) Print() string {
	text, _ := json.Marshal([]any{c.hours, c.holidays}) // texts and numbers: never fails; keys of maps are sorted
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
