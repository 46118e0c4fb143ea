package ui

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// At is a point in time as it stands to now: "in 2 h 10 min", "12 min ago". Exact is written in zone; a script replaces
// it by the reader's own zone. A zero time is "unknown".
func At(l *i18n.Localizer, at, now time.Time, zone *time.Location) TimeModel {
	return timeModel(l, at, zone, TimeRelative, Relative(l, at, now))
}

// Past is At for what was measured or observed. Where its clock is ahead of the portal's it reads "now": nothing has
// been measured in the future.
func Past(l *i18n.Localizer, at, now time.Time, zone *time.Location) TimeModel {
	shown := at
	if shown.After(now) {
		shown = now
	}
	return timeModel(l, at, zone, TimePast, Relative(l, shown, now))
}

// Countdown is how long is left until a time, "2 h 10 min"; nothing is left after it.
func Countdown(l *i18n.Localizer, until, now time.Time, zone *time.Location) TimeModel {
	return timeModel(l, until, zone, TimeCountdown, Duration(l, max(until.Sub(now), 0)))
}

// Elapsed is how long ago something began, "12 min"; it grows while the page is open.
func Elapsed(l *i18n.Localizer, since, now time.Time, zone *time.Location) TimeModel {
	return timeModel(l, since, zone, TimeElapsed, Duration(l, max(now.Sub(since), 0)))
}

// Exact is the time itself: "21 Nov 2026, 14:02".
func Exact(l *i18n.Localizer, at time.Time, zone *time.Location) TimeModel {
	m := timeModel(l, at, zone, TimeLocal, "")
	if !at.IsZero() {
		m.Words = m.Exact
	}
	return m
}

// Precise is Exact with the seconds in its title, for records.
func Precise(l *i18n.Localizer, at time.Time, zone *time.Location) TimeModel {
	m := Exact(l, at, zone)
	if at.IsZero() {
		return m
	}
	local := at.In(zone)
	m.Exact = strings.Replace(m.Exact, local.Format("15:04"), local.Format(time.TimeOnly), 1)
	return m
}

// OnClock is the time of day where that is today's, "14:02 UTC", and else the time itself.
func OnClock(l *i18n.Localizer, at, now time.Time, zone *time.Location) TimeModel {
	m := Exact(l, at, zone)
	if at.IsZero() {
		return m
	}
	m.Mode = TimeClock
	if local, today := at.In(zone), now.In(zone); local.YearDay() == today.YearDay() && local.Year() == today.Year() {
		m.Words = local.Format("15:04 MST")
	}
	return m
}

// Clock is the time of day, "14:02", for lines that speak of today.
func Clock(at time.Time, zone *time.Location) string { return at.In(zone).Format("15:04") }

// ClockSeconds is the time of day in UTC to the second, until a script puts it into the reader's zone.
func ClockSeconds(at time.Time) string { return at.UTC().Format(time.TimeOnly) }

func timeModel(l *i18n.Localizer, at time.Time, zone *time.Location, mode TimeMode, words string) TimeModel {
	if at.IsZero() {
		return TimeModel{Words: l.S("ui.unknown")}
	}
	return TimeModel{Machine: at.UTC().Format(time.RFC3339), Exact: l.Moment(at, zone), Words: words, Mode: mode}
}

// Relative says how a time stands to now.
func Relative(l *i18n.Localizer, at, now time.Time) string {
	switch d := at.Sub(now); {
	case at.IsZero():
		return l.S("ui.unknown")
	case d > -30*time.Second && d < 30*time.Second:
		return l.S("ui.now")
	case d > 0:
		return l.S("ui.in", "Duration", Duration(l, d))
	default:
		return l.S("ui.ago", "Duration", Duration(l, -d))
	}
}

// Duration is at most two units long: "45 s", "12 min", "2 h 10 min", "3 d 4 h", "12 d".
func Duration(l *i18n.Localizer, d time.Duration) string { return l.Duration(d) }

// Number writes a number with the reader's separators: "1,234.5" or "1.234,5". NaN is "unknown".
func Number(l *i18n.Localizer, v float64, decimals int) string {
	if math.IsNaN(v) {
		return l.S("ui.unknown")
	}
	group, point := ",", "."
	if l.Lang() == "de" {
		group, point = ".", ","
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', decimals, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + group + whole[i:]
	}
	words := whole
	if fraction != "" {
		words += point + fraction
	}
	if v < 0 && strings.Trim(words, "0.,") != "" {
		return "−" + words
	}
	return words
}

// Percent writes a share of one: "63 %". NaN is "unknown".
func Percent(l *i18n.Localizer, share float64) string {
	if math.IsNaN(share) {
		return l.S("ui.unknown")
	}
	return l.S("ui.percent", "N", Number(l, math.Round(share*100), 0))
}

// InUnit puts a unit behind a number: "12 W". Some languages write the sign for per cent without a space.
func InUnit(l *i18n.Localizer, number, unit string) string {
	if unit == "%" {
		return l.S("ui.percent", "N", number)
	}
	return strings.TrimSpace(number + " " + unit)
}

// Amount is money from minor units.
func Amount(l *i18n.Localizer, minor int64, currency string) MoneyModel {
	return MoneyModel{Amount: Number(l, float64(minor)/100, 2), Currency: currency}
}

// UpperFirst begins a sentence or a cell with what stands in the middle of one elsewhere.
func UpperFirst(s string) string {
	runes := []rune(s)
	if len(runes) == 0 {
		return s
	}
	return strings.ToUpper(string(runes[:1])) + string(runes[1:])
}
