package workloads

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// calendarPath is where the reader's own stops and starts are written for other programs.
const calendarPath = "/calendar.ics"

// scheduleModel is when the clock stops and starts a workload.
func (w *Pages) scheduleModel(say page.Words, s details, mine bool) workloadview.ScheduleModel {
	m := workloadview.ScheduleModel{ID: "workload-schedule",
		Hidden: s.IsJob() || s.State == workload.Ended || s.Desired == workload.WantDeleted || w.withoutSchedule(s)}
	p, path := w.Workloads.PlanOf(s.Workload), page.WorkloadPath(s.ID)+"/schedule"
	if s.mayChange {
		m.Change = path
	}
	if mine {
		m.Calendar = calendarPath
	}
	if m.Hidden || p.Hours == nil {
		return m
	}
	m.Hours, m.Whose = blocks.HoursWords(say, *p.Hours), say.S("schedule.whose_own")
	if p.Mode == workload.TeamHours {
		m.Whose = say.S("schedule.whose_team")
	}
	if p.Unknown {
		m.Unknown = p.Hours.Zone
	}
	c, f := s.Coming(p, say.Now), s.Schedule.Followed
	if !c.Stop.At.IsZero() {
		at := say.Around(c.Stop.At)
		m.Stop, m.StopAt = &at, blocks.OnWall(say, c.Stop.At, p.Location())
	}
	if !c.Start.At.IsZero() {
		at := say.Around(c.Start.At)
		m.Start, m.StartAt, m.Holiday = &at, blocks.OnWall(say, c.Start.At, p.Location()), c.Start.Holiday
	}
	if m.Problem = say.Text(f.Problem); m.Problem != "" && !f.RetryAt.IsZero() {
		m.Retry = blocks.OnWall(say, f.RetryAt, p.Location())
	}
	if s.Schedule.KeptUntil.After(say.Now) && !c.Skips.IsZero() {
		m.Kept = blocks.OnWall(say, s.Schedule.KeptUntil, p.Location())
		if s.mayChange {
			m.Restore = path + "/restore"
		}
	}
	if s.mayChange && s.CanSkip(p, say.Now) {
		m.Skip = path + "/skip"
	}
	return m
}

// withoutSchedule reports whether something that could have a schedule has none and does not run: there is nothing to
// say of it then.
func (w *Pages) withoutSchedule(s details) bool {
	return !s.IsJob() && (s.State == workload.Failed || s.State == workload.Stopped) &&
		s.Desired != workload.WantDeleted && w.Workloads.PlanOf(s.Workload).Hours == nil
}

// scheduleAsk is the page with the form for the hours.
func (w *Pages) scheduleAsk(k page.Call) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	if s.IsJob() || s.State == workload.Ended {
		return page.View{}, fault.New(fault.Conflict, i18n.T("schedule.job"))
	}
	form := blocks.HoursOf(string(s.Schedule.Mode), s.Schedule.Hours, w.Zone.String())
	if team := w.Workloads.TeamSchedule(s.Tenant).Hours; s.Schedule.Hours == nil && team != nil {
		form = blocks.HoursOf(string(s.Schedule.Mode), team, w.Zone.String())
	}
	m := w.schedulePageModel(k, s, form, nil)
	return questionView(m.Header, workloadview.SchedulePage(m)), nil
}

func (w *Pages) schedulePageModel(k page.Call, s details, form blocks.HoursForm,
	problems []fault.Field) workloadview.SchedulePageModel {
	say := k.Words
	return workloadview.SchedulePageModel{Header: ui.HeaderModel{Title: say.S("schedule.change_title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "schedule.title")}, Path: page.WorkloadPath(s.ID),
		Errors: page.FormErrors(say, problems),
		Hours: blocks.HoursFields(say, form, blocks.HourModes(say, w.Workloads.TeamSchedule(s.Tenant)),
			func(field string) string { return page.WrongIn(say, problems, field) }, "schedule.")}
}

func (w *Pages) workloadSchedule(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	posted, err := c.FormParams()
	if err != nil {
		return err
	}
	form := blocks.ReadHours(posted, "schedule.")
	_, err = w.Workloads.SetSchedule(k.Ctx, k.Actor, id, workload.ScheduleMode(form.Mode), form.Hours())
	switch {
	case err == nil:
		return w.Done(c, "schedule-set", page.WorkloadPath(id))
	case !fault.Is(err, fault.Invalid):
		return err
	}
	s, permitErr := w.changeable(k)
	if permitErr != nil {
		return permitErr
	}
	m := w.schedulePageModel(k, s, form, page.ProblemsOf(err))
	return w.Reply(c, k, page.Page{Name: w.schedulePage().Name}, questionView(m.Header, workloadview.SchedulePage(m)),
		page.StatusOf(err))
}

func (w *Pages) scheduleSkip(c echo.Context) error { return w.keepOn(c, true, "schedule-skipped") }

func (w *Pages) scheduleRestore(c echo.Context) error { return w.keepOn(c, false, "schedule-restored") }

func (w *Pages) keepOn(c echo.Context, keep bool, flash string) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	if _, err := w.Workloads.KeepOn(k.Ctx, k.Actor, id, keep); err != nil {
		return err
	}
	return w.Done(c, flash, page.WorkloadPath(id), string(id))
}

// calendar writes the reader's own stops and starts for other programs.
func (w *Pages) calendar(c echo.Context) error {
	k := w.CallOf(c)
	entries, err := w.Workloads.Calendar(k.Ctx, k.Actor)
	if err != nil {
		return err
	}
	text := workload.ICS(entries, w.PortalURL, k.Words.Text, w.Now())
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="gpus.ics"`)
	return c.Blob(http.StatusOK, "text/calendar; charset=utf-8", []byte(text))
}
