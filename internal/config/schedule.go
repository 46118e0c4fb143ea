package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// Schedule is what counts for the hours of all teams.
type Schedule struct {
	// days on which nobody works, for all teams: {date: "2026-12-25", name: Christmas Day}. Owners add their team's own
	Holidays []schedule.Holiday `json:"holidays,omitempty"`
	// when nothing is stopped for being idle, by the clocks of timeZone:
	// {days: [mon, tue], from: "20:00", until: "07:00"}; default never
	QuietHours []schedule.Window `json:"quietHours,omitempty"`
}

// Quiet is the calendar of quiet hours; false where there are none.
func (s Schedule) Quiet(zone string) (schedule.Calendar, bool) {
	if len(s.QuietHours) == 0 {
		return schedule.Calendar{}, false
	}
	c, err := schedule.New(schedule.Hours{Zone: cmp.Or(zone, "UTC"), Windows: s.QuietHours}, nil)
	return c, err == nil
}

func (s Schedule) problems(zone string) []error {
	var all []error
	if n := schedule.CheckHolidays(s.Holidays); n > 0 {
		all = append(all, fmt.Errorf("schedule.holidays[%d]: want a date such as 2026-12-25 and a name, each date once", n-1))
	}
	if _, err := time.LoadLocation(zone); err != nil || len(s.QuietHours) == 0 {
		return all
	}
	switch f := (schedule.Hours{Zone: cmp.Or(zone, "UTC"), Windows: s.QuietHours}).Check(); f {
	case "":
	case schedule.NeverStops:
		all = append(all, fmt.Errorf("schedule.quietHours: they never end"))
	default:
		all = append(all, fmt.Errorf("schedule.quietHours: want windows of days such as mon, from and until such as 20:00; "+
			"wrong: %s", f))
	}
	return all
}
