package i18n

import "time"

// months are the ids of their names.
var months = [12]string{"ui.month.1", "ui.month.2", "ui.month.3", "ui.month.4", "ui.month.5", "ui.month.6",
	"ui.month.7", "ui.month.8", "ui.month.9", "ui.month.10", "ui.month.11", "ui.month.12"}

// Moment is a point in time in the reader's words, "21 Nov 2026, 14:02 UTC", as it is in a zone.
func (l *Localizer) Moment(at time.Time, zone *time.Location) string {
	local := at.In(zone)
	zoned, _ := local.Zone()
	if zoned == "" {
		zoned = local.Format("MST") // the offset
	}
	return l.S("ui.exact", "Day", local.Day(), "Month", l.S(months[local.Month()-1]), "Year", local.Year(),
		"Clock", local.Format("15:04"), "Zone", zoned)
}

// Day is "21 Nov".
func (l *Localizer) Day(at time.Time, zone *time.Location) string {
	local := at.In(zone)
	return l.S("ui.day", "Day", local.Day(), "Month", l.S(months[local.Month()-1]))
}

// Date is "21 Nov 2026", of a day in the zone that at has.
func Date(at time.Time) Text {
	return T("ui.date", "Day", at.Day(), "Month", T(months[at.Month()-1]), "Year", at.Year())
}

// MomentUTC is "21 Nov 2026, 14:02 UTC".
func MomentUTC(at time.Time) Text {
	at = at.UTC()
	return T("ui.exact", "Day", at.Day(), "Month", T(months[at.Month()-1]), "Year", at.Year(),
		"Clock", at.Format("15:04"), "Zone", "UTC")
}

// Duration is at most two units long: "45 s", "12 min", "2 h 10 min", "3 d 4 h", "12 d".
func (l *Localizer) Duration(d time.Duration) string {
	unit := func(n int64, id string) string { return l.S(id, "N", n) }
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
		return unit(seconds, "ui.unit.s")
	case minutes < 60:
		return unit(minutes, "ui.unit.min")
	case minutes < 24*60:
		return two(minutes/60, "ui.unit.h", minutes%60, "ui.unit.min")
	case minutes < 7*24*60:
		return two(minutes/(24*60), "ui.unit.d", minutes/60%24, "ui.unit.h")
	default:
		return unit(minutes/(24*60), "ui.unit.d")
	}
}
