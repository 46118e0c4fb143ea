package team

import (
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// shownHolidays is how many of those that lie ahead are named.
const shownHolidays = 4

// hoursModel is when the team's workloads run that say nothing else.
func (w *Pages) hoursModel(say page.Words, team string) teamview.HoursModel {
	t := w.Workloads.TeamSchedule(team)
	m := teamview.HoursModel{}
	if t.Hours != nil {
		m.Hours = blocks.HoursWords(say, *t.Hours)
	}
	today := say.Now.In(w.Zone).Format(time.DateOnly)
	for _, h := range t.Holidays {
		if h.Date >= today && len(m.Holidays) < shownHolidays {
			m.Holidays = append(m.Holidays, h.Date+" "+h.Name)
		}
	}
	return m
}

// teamHours is the form as it was typed.
type teamHours struct {
	blocks.HoursForm
	dates string
}

func (w *Pages) hoursOf(e tenant.Entry) teamHours {
	t := schedule.Team{}
	if e.Schedule != nil {
		t = *e.Schedule
	}
	mode := string(workload.NoHours)
	if t.Hours != nil {
		mode = string(workload.OwnHours)
	}
	var lines []string
	for _, h := range t.Holidays {
		lines = append(lines, h.Date+" "+h.Name)
	}
	return teamHours{blocks.HoursOf(mode, t.Hours, w.Zone.String()), strings.Join(lines, "\n")}
}

func (w *Pages) hoursForm(say page.Words, team string, typed teamHours,
	problems []fault.Field) teamview.HoursFormModel {
	wrong := func(field string) string { return page.WrongIn(say, problems, field) }
	modes := []ui.OptionModel{{Value: string(workload.NoHours), Label: say.S("schedule.team_none")},
		{Value: string(workload.OwnHours), Label: say.S("schedule.mode_own")}}
	return teamview.HoursFormModel{Action: page.TeamPath(team) + "/schedule",
		Fields: blocks.HoursFields(say, typed.HoursForm, modes, wrong, ""),
		Dates:  teamview.FieldModel{Value: typed.dates, Error: wrong("holidays")}}
}
