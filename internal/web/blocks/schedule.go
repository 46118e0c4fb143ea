package blocks

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// HoursForm is when something runs, as it was typed.
type HoursForm struct {
	Mode              string
	Days              []string
	From, Until, Zone string
	Holidays, Start   bool
	several           bool
}

// ownMode is the mode in which the fields count.
const ownMode = string(workload.OwnHours)

// ReadHours reads the fields, whose names begin with a prefix.
func ReadHours(v url.Values, prefix string) HoursForm {
	return HoursForm{Mode: v.Get(prefix + "mode"), Days: v[prefix+"days"], From: v.Get(prefix + "from"),
		Until: v.Get(prefix + "until"), Zone: v.Get(prefix + "zone"), Holidays: v.Get(prefix+"notOnHolidays") != "",
		Start: v.Get(prefix+"start") != ""}
}

// keep puts what is typed into an address; nothing for the team's hours.
func (f HoursForm) keep(v url.Values, prefix string) {
	if f.Mode != "" {
		v.Set(prefix+"mode", f.Mode)
	}
	if f.Mode != ownMode {
		return
	}
	v[prefix+"days"] = f.Days
	for name, value := range map[string]string{"from": f.From, "until": f.Until, "zone": f.Zone} {
		v.Set(prefix+name, value)
	}
	for name, on := range map[string]bool{"notOnHolidays": f.Holidays, "start": f.Start} {
		if on {
			v.Set(prefix+name, "on")
		}
	}
}

// HoursOf fills the fields with hours, with usual ones where there are none; zone is the site's.
func HoursOf(mode string, h *schedule.Hours, zone string) HoursForm {
	if h == nil || len(h.Windows) == 0 {
		usual := schedule.Office(zone)
		h = &usual
	}
	f := HoursForm{Mode: mode, From: h.Windows[0].From.String(), Until: h.Windows[0].Until.String(), Zone: h.Zone,
		Holidays: h.Holidays, Start: !h.StopOnly, several: len(h.Windows) > 1}
	for _, d := range h.Windows[0].Days {
		f.Days = append(f.Days, string(d))
	}
	return f
}

// Hours are what the fields say; nil where the mode is another. What is no time of day becomes one that is refused.
func (f HoursForm) Hours() *schedule.Hours {
	if f.Mode != ownMode {
		return nil
	}
	clock := func(text string) schedule.Clock {
		c, err := schedule.ParseClock(text)
		if err != nil {
			return -1
		}
		return c
	}
	w := schedule.Window{From: clock(f.From), Until: clock(f.Until)}
	for _, d := range f.Days {
		w.Days = append(w.Days, schedule.Day(d))
	}
	return &schedule.Hours{Zone: strings.TrimSpace(f.Zone), Windows: []schedule.Window{w}, Holidays: f.Holidays,
		StopOnly: !f.Start}
}

// Scheduled is what the fields say with a start; nil for the team's hours.
func (f HoursForm) Scheduled() *request.Scheduled {
	if f.Mode == "" {
		return nil
	}
	return &request.Scheduled{Mode: workload.ScheduleMode(f.Mode), Hours: f.Hours()}
}

// zones are offered while somebody types: those of many sites.
var zones = []string{"UTC", "Europe/Berlin", "Europe/London", "Europe/Paris", "Europe/Zurich", "America/New_York",
	"America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Shanghai", "Asia/Seoul",
	"Asia/Tokyo", "Asia/Singapore", "Asia/Kolkata", "Australia/Sydney"}

// HoursFields are the fields with what is wrong in them.
func HoursFields(say page.Words, f HoursForm, modes []ui.OptionModel, wrong func(field string) string,
	prefix string) ui.HoursModel {
	if f.Mode != ownMode && f.From == "" {
		usual := HoursOf(f.Mode, nil, f.Zone)
		f.Days, f.From, f.Until, f.Holidays, f.Start = usual.Days, usual.From, usual.Until, usual.Holidays, usual.Start
	}
	m := ui.HoursModel{Prefix: prefix, Modes: slices.Clone(modes), ModeLabel: say.S("schedule.mode_label"),
		ModeError: page.OrElse(wrong(prefix+"mode"), wrong(prefix+"hours")), DaysError: wrong(prefix + "days"), From: f.From,
		FromError: wrong(prefix + "from"), Until: f.Until, UntilError: wrong(prefix + "until"), Zone: f.Zone,
		ZoneError: wrong(prefix + "zone"), Zones: zones, Holidays: f.Holidays, Start: f.Start, Several: f.several}
	for i := range m.Modes {
		m.Modes[i].Selected = m.Modes[i].Value == f.Mode
	}
	for _, d := range schedule.Week() {
		m.Days = append(m.Days, ui.OptionModel{Value: string(d), Label: say.S("schedule.day_" + string(d)),
			Selected: slices.Contains(f.Days, string(d))})
	}
	return m
}

// HourModes are whose hours a workload can follow; team are those of its team.
func HourModes(say page.Words, team schedule.Team) []ui.OptionModel {
	as := say.S("schedule.mode_team_none")
	if team.Hours != nil {
		as = say.S("schedule.mode_team", "Hours", HoursWords(say, *team.Hours))
	}
	return []ui.OptionModel{{Value: string(workload.TeamHours), Label: as},
		{Value: ownMode, Label: say.S("schedule.mode_own")},
		{Value: string(workload.NoHours), Label: say.S("schedule.mode_none")}}
}

// HoursWords says hours in a line: "Mon–Fri 08:00–19:00, Europe/Berlin, not on holidays".
func HoursWords(say page.Words, h schedule.Hours) string {
	var parts []string
	for _, w := range h.Windows {
		parts = append(parts, daysWords(say, w.Days)+" "+w.From.String()+"–"+w.Until.String())
	}
	parts = append(parts, h.Zone)
	if h.Holidays {
		parts = append(parts, say.S("schedule.not_on_holidays"))
	}
	if h.StopOnly {
		parts = append(parts, say.S("schedule.stop_only"))
	}
	return strings.Join(parts, ", ")
}

// OnWall is a moment by the clocks of a zone: "Mon 2026-11-23 08:00".
func OnWall(say page.Words, at time.Time, zone *time.Location) string {
	at = at.In(zone)
	week := schedule.Week()
	return say.S("schedule.day_"+string(week[(int(at.Weekday())+6)%7])) + at.Format(" 2006-01-02 15:04")
}

// daysWords joins three days and more in a row.
func daysWords(say page.Words, days []schedule.Day) string {
	week := schedule.Week()
	name := func(i int) string { return say.S("schedule.day_" + string(week[i])) }
	var parts []string
	for i := 0; i < len(week); i++ {
		if !slices.Contains(days, week[i]) {
			continue
		}
		end := i
		for end+1 < len(week) && slices.Contains(days, week[end+1]) {
			end++
		}
		if end-i < 2 {
			parts = append(parts, name(i))
			continue
		}
		parts = append(parts, name(i)+"–"+name(end))
		i = end
	}
	return strings.Join(parts, " ")
}
