package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	_ "time/tzdata" // an image may hold no zones
)

// Day is a day of the week: mon, tue, wed, thu, fri, sat, sun.
type Day string

var days = []Day{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} // as time.Weekday counts

// Week lists all days, Monday first.
func Week() []Day { return append(slices.Clone(days[1:]), days[0]) }

// Workdays are Monday to Friday.
func Workdays() []Day { return slices.Clone(days[1:6]) }

// Weekday is the day for package time; false for a word that is no day.
func (d Day) Weekday() (time.Weekday, bool) {
	i := slices.Index(days, d)
	return time.Weekday(i), i >= 0
}

// Clock is a time of day in minutes, as clocks show it; 24:00 is the end of the day.
type Clock int

const wholeDay Clock = 24 * 60

// ParseClock reads "08:30".
func ParseClock(text string) (Clock, error) {
	var h, m int
	text = strings.TrimSpace(text)
	hour, minute, found := strings.Cut(text, ":")
	if !found || len(hour) > 2 || len(minute) != 2 || !digits(hour) || !digits(minute) {
		return 0, errClock
	}
	if _, err := fmt.Sscanf(hour+" "+minute, "%d %d", &h, &m); err != nil || m > 59 || h*60+m > int(wholeDay) {
		return 0, errClock
	}
	return Clock(h*60 + m), nil
}

var errClock = errors.New("a time of day looks like 08:30")

func digits(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// MarshalText writes "08:30".
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads "08:30".
func (c *Clock) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClock(string(text))
	return err
}

// Window is from when until when something runs, on each of some days. One that ends at or before the time at which it
// begins ends on the day after, and belongs to the day on which it begins.
type Window struct {
	Days  []Day `json:"days"`  // days of the week: mon, tue, wed, thu, fri, sat, sun
	From  Clock `json:"from"`  // time of day at which it begins, "20:00"
	Until Clock `json:"until"` // time of day at which it ends, up to 24:00; one that is not later is of the next day
}

// Hours are when something runs.
type Hours struct {
	Zone    string   `json:"zone"` // IANA name
	Windows []Window `json:"windows"`
	// Holidays: the windows of a holiday are left out
	Holidays bool `json:"holidays,omitempty"`
	// StopOnly: it is stopped at the end of a window, and its owner starts it again
	StopOnly bool `json:"stopOnly,omitempty"`
}

// Office are usual hours: workdays from 8 to 19 o'clock.
func Office(zone string) Hours {
	return Hours{Zone: zone, Windows: []Window{{Days: Workdays(), From: 8 * 60, Until: 19 * 60}}, Holidays: true}
}

// Equal reports whether two say the same in the same words.
func (h Hours) Equal(o Hours) bool {
	return h.Zone == o.Zone && h.Holidays == o.Holidays && h.StopOnly == o.StopOnly &&
		slices.EqualFunc(h.Windows, o.Windows, func(a, b Window) bool {
			return slices.Equal(a.Days, b.Days) && a.From == b.From && a.Until == b.Until
		})
}

// Flat is what a record compares; nil for no hours.
func (h *Hours) Flat() any {
	if h == nil {
		return nil
	}
	windows := make([]string, len(h.Windows))
	for i, w := range h.Windows {
		windows[i] = fmt.Sprint(w.Days, " ", w.From, "-", w.Until)
	}
	return map[string]any{"zone": h.Zone, "windows": strings.Join(windows, ", "), "holidays": h.Holidays,
		"stopOnly": h.StopOnly}
}

// Holiday is a day on which nobody works.
type Holiday struct {
	Date string `json:"date"` // the day, 2026-12-25
	Name string `json:"name"` // what the day is called, at most 80 characters
}

const (
	// MaxWindows is how many windows a week can have.
	MaxWindows = 14
	// MaxHolidays is how many holidays a team can name.
	MaxHolidays = 200
	maxName     = 80
)

// Fault is what is wrong with hours.
type Fault string

// The faults.
const (
	NoZone     Fault = "zone" // there is no such zone
	NoWindows  Fault = "windows"
	TooMany    Fault = "many"
	NoDays     Fault = "days"   // a window has no day, or one that is none
	NoClock    Fault = "clock"  // a time of day out of range
	NeverStops Fault = "always" // it would run without an end
)

// Location loads the zone. Only names of the IANA database count: the machine's own clock is nobody's zone.
func (h Hours) Location() (*time.Location, error) {
	if h.Zone == "" || h.Zone == "Local" {
		return nil, errZone
	}
	if loc, ok := loaded.Load(h.Zone); ok {
		return loc.(*time.Location), nil
	}
	loc, err := time.LoadLocation(h.Zone)
	if err == nil {
		loaded.Store(h.Zone, loc)
	}
	return loc, err
}

// loaded are the zones that were asked for: there are no more than the database has.
var loaded sync.Map

var errZone = errors.New("a zone has a name of the IANA database")

// Check says what is wrong with hours; "" for nothing.
func (h Hours) Check() Fault {
	loc, err := h.Location()
	switch {
	case err != nil:
		return NoZone
	case len(h.Windows) == 0:
		return NoWindows
	case len(h.Windows) > MaxWindows:
		return TooMany
	}
	for _, w := range h.Windows {
		if len(w.Days) == 0 || len(w.Days) > 7 || slices.ContainsFunc(w.Days, func(d Day) bool {
			_, ok := d.Weekday()
			return !ok
		}) {
			return NoDays
		}
		if w.From < 0 || w.From >= wholeDay || w.Until < 0 || w.Until > wholeDay {
			return NoClock
		}
	}
	if c := (Calendar{hours: h, loc: loc}); !c.stops() {
		return NeverStops
	}
	return ""
}

// CheckHolidays gives the place, from 1 on, of the first holiday that has no date or no name, or comes twice; 0 for
// none.
func CheckHolidays(list []Holiday) int {
	seen := map[string]bool{}
	for i, h := range list {
		_, err := time.Parse(time.DateOnly, h.Date)
		if err != nil || seen[h.Date] || h.Name == "" || utf8.RuneCountInString(h.Name) > maxName ||
			!utf8.ValidString(h.Name) || strings.ContainsFunc(h.Name, unicode.IsControl) {
			return i + 1
		}
		seen[h.Date] = true
	}
	return 0
}

// ParseHolidays reads "2026-12-25 Christmas Day", one a line, as CheckHolidays judges it.
func ParseHolidays(text string) []Holiday {
	var list []Holiday
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			date, name, _ := strings.Cut(line, " ")
			list = append(list, Holiday{Date: date, Name: strings.TrimSpace(name)})
		}
	}
	return list
}

// Sorted are holidays by their date, each date once; the first of two names stays.
func Sorted(lists ...[]Holiday) []Holiday {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Holiday) int { return cmp.Compare(a.Date, b.Date) })
	return slices.CompactFunc(all, func(a, b Holiday) bool { return a.Date == b.Date })
}
