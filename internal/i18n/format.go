package i18n

import (
	"strconv"
	"time"
)

// Moment is a point in time in the reader's words, "21 Nov 2026, 14:02 UTC", as it is in a zone.
func (l *Localizer) Moment(at time.Time, zone *time.Location) string {
	local := at.In(zone)
	month := l.S("ui.month." + strconv.Itoa(int(local.Month())))
	return l.S("ui.exact", "Day", local.Day(), "Month", month, "Year", local.Year(), "Clock", local.Format("15:04"),
		"Zone", local.Format("MST"))
}

// Day is "21 Nov".
func (l *Localizer) Day(at time.Time, zone *time.Location) string {
	local := at.In(zone)
	return l.S("ui.day", "Day", local.Day(), "Month", l.S("ui.month."+strconv.Itoa(int(local.Month()))))
}

// Date is "21 Nov 2026", of a day in the zone that at has.
func Date(at time.Time) Text {
	return T("ui.date", "Day", at.Day(), "Month", T("ui.month."+strconv.Itoa(int(at.Month()))), "Year", at.Year())
}

// MomentUTC is "21 Nov 2026, 14:02 UTC".
func MomentUTC(at time.Time) Text {
	at = at.UTC()
	return T("ui.exact", "Day", at.Day(), "Month", T("ui.month."+strconv.Itoa(int(at.Month()))), "Year", at.Year(),
		"Clock", at.Format("15:04"), "Zone", "UTC")
}

// Duration is at most two units long: "45 s", "12 min", "2 h 10 min", "3 d 4 h", "12 d".
func (l *Localizer) Duration(d time.Duration) string {
	unit := func(n int64, id string) string { return l.S("ui.unit."+id, "N", n) }
	two := func(a int64, aID string, b int64, bID string) string {
		if b == 0 {
			return unit(a, aID)
		}
		return unit(a, aID) + " " + unit(b, bID)
	}
	seconds := int64(d.Round(time.Second) / time.Second)
	minutes := int64(d.Round(time.Minute) / time.Minute)
	switch {
	case seconds < 60:
		return unit(seconds, "s")
	case minutes < 60:
		return unit(minutes, "min")
	case minutes < 24*60:
		return two(minutes/60, "h", minutes%60, "min")
	case minutes < 7*24*60:
		return two(minutes/(24*60), "d", minutes/60%24, "h")
	default:
		return unit(minutes/(24*60), "d")
	}
}
