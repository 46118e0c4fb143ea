package schedule

import (
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Problems says what is wrong with hours, for people; the names of fields begin with a prefix.
func (h Hours) Problems(prefix string) []fault.Field {
	field, reason := "hours", i18n.T("schedule.windows")
	switch h.Check() {
	case "":
		return nil
	case NoZone:
		field, reason = "zone", i18n.T("schedule.zone")
	case NoDays:
		field, reason = "days", i18n.T("schedule.days")
	case NoClock:
		field, reason = "from", i18n.T("schedule.clock")
	case NeverStops:
		field, reason = "until", i18n.T("schedule.always")
	case TooMany:
		reason = i18n.T("schedule.many", "Most", MaxWindows)
	}
	return []fault.Field{{Name: prefix + field, Reason: reason}}
}

// HolidayProblems says which of a list is no holiday.
func HolidayProblems(list []Holiday) []fault.Field {
	if len(list) > MaxHolidays {
		return []fault.Field{{Name: "holidays", Reason: i18n.T("schedule.holidays_many", "Most", MaxHolidays)}}
	}
	if n := CheckHolidays(list); n > 0 {
		return []fault.Field{{Name: "holidays", Reason: i18n.T("schedule.holiday_wrong", "Line", n)}}
	}
	return nil
}
