package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// registerSchedules is the part of the surface that is about stops and starts by the clock.
func (a *API) registerSchedules() {
	const workloads, teams = "Workloads", "Teams"
	add(a, op(http.MethodGet, "/workloads/{id}/schedule", "get-workload-schedule",
		"When the clock stops and starts it", workloads), identity.ReadWorkload, a.schedule)
	add(a, op(http.MethodPut, "/workloads/{id}/schedule", "set-workload-schedule", "Follow the team's hours, hours of "+
		"its own, or none; nothing is stopped or started before the next change", workloads), identity.ChangeWorkload,
		a.setSchedule)
	add(a, op(http.MethodDelete, "/workloads/{id}/schedule", "reset-workload-schedule", "Follow the team's hours again",
		workloads), identity.ChangeWorkload, a.resetSchedule)
	add(a, op(http.MethodPost, "/workloads/{id}/schedule/skip", "skip-scheduled-stop",
		"Leave out the next stop by the clock", workloads), identity.ChangeWorkload, a.skipStop)
	add(a, op(http.MethodDelete, "/workloads/{id}/schedule/skip", "restore-scheduled-stop",
		"Stop it as planned after all", workloads), identity.ChangeWorkload, a.restoreStop)
	add(a, op(http.MethodGet, "/tenants/{name}/schedule", "get-tenant-schedule", "The hours of workloads that say "+
		"nothing else, the holidays that count, and the stops and starts that follow", teams),
		identity.ReadTenant, a.teamSchedule)
	add(a, op(http.MethodPut, "/tenants/{name}/schedule", "save-tenant-schedule", "Set the hours of workloads that say "+
		"nothing else, and the team's holidays; it counts from the next change on", teams), identity.ChangeMembers,
		a.saveTeamSchedule)
	add(a, op(http.MethodDelete, "/tenants/{name}/schedule", "remove-tenant-schedule",
		"Let workloads run that say nothing else, and forget the team's holidays", teams), identity.ChangeMembers,
		a.removeTeamSchedule)
	const path = "/calendar"
	add(a, op(http.MethodGet, path, "get-calendar", "My stops, starts and ends of leases in the next 60 days, as "+
		"an iCalendar file", workloads), identity.ReadWorkload, a.calendar)
	a.huma.OpenAPI().Paths["/api/v1"+path].Get.Responses["200"] = &huma.Response{Description: "OK",
		Content: map[string]*huma.MediaType{"text/calendar": {Schema: &huma.Schema{Type: huma.TypeString}}}}
}

// Hours are when something runs.
type Hours struct {
	Zone     string       `json:"zone" maxLength:"64" example:"Europe/Berlin" doc:"IANA time zone by whose clocks the windows go"`
	Windows  []HourWindow `json:"windows" maxItems:"20"`
	Holidays bool         `json:"holidays,omitempty" doc:"It stays stopped on holidays of the site and of the team"`
	StopOnly bool         `json:"stopOnly,omitempty" doc:"It is stopped at the end of a window, and started by hand"`
}

// HourWindow is from when until when something runs on some days.
type HourWindow struct {
	Days  []string `json:"days" maxItems:"7" example:"[\"mon\",\"tue\"]" doc:"mon, tue, wed, thu, fri, sat, sun"`
	From  string   `json:"from" maxLength:"5" example:"08:00"`
	Until string   `json:"until" maxLength:"5" example:"19:00" doc:"Up to 24:00; one that is not later than from is of the next day"`
}

// hours reads what was posted; a time that is none becomes one that the check refuses.
func (h *Hours) hours() *schedule.Hours {
	if h == nil {
		return nil
	}
	is := schedule.Hours{Zone: h.Zone, Holidays: h.Holidays, StopOnly: h.StopOnly}
	clock := func(text string) schedule.Clock {
		c, err := schedule.ParseClock(text)
		if err != nil {
			return -1
		}
		return c
	}
	for _, w := range h.Windows {
		one := schedule.Window{From: clock(w.From), Until: clock(w.Until)}
		for _, d := range w.Days {
			one.Days = append(one.Days, schedule.Day(d))
		}
		is.Windows = append(is.Windows, one)
	}
	return &is
}

func hoursView(h *schedule.Hours) *Hours {
	if h == nil {
		return nil
	}
	v := Hours{Zone: h.Zone, Windows: []HourWindow{}, Holidays: h.Holidays, StopOnly: h.StopOnly}
	for _, w := range h.Windows {
		one := HourWindow{Days: []string{}, From: w.From.String(), Until: w.Until.String()}
		for _, d := range w.Days {
			one.Days = append(one.Days, string(d))
		}
		v.Windows = append(v.Windows, one)
	}
	return &v
}

// ScheduleBody is whose hours a workload follows.
type ScheduleBody struct {
	Mode  string `json:"mode" enum:"team,own,none" doc:"none: the clock neither stops nor starts it"`
	Hours *Hours `json:"hours,omitempty" doc:"Of mode own: when it runs"`
}

func (b ScheduleBody) mode() workload.ScheduleMode {
	if b.Mode == "team" {
		return workload.TeamHours
	}
	return workload.ScheduleMode(b.Mode)
}

// draft is what is asked for with a start.
func (b *ScheduleBody) draft() *request.Scheduled {
	if b == nil {
		return nil
	}
	return &request.Scheduled{Mode: b.mode(), Hours: b.Hours.hours()}
}

// Schedule is when the clock stops and starts a workload.
type Schedule struct {
	Mode        string     `json:"mode" enum:"team,own,none" doc:"Whose hours it follows"`
	Hours       *Hours     `json:"hours,omitempty" doc:"Absent where there are none"`
	ZoneUnknown bool       `json:"zoneUnknown,omitempty" doc:"The portal does not know the time zone any more, and does nothing"`
	NextStop    *time.Time `json:"nextStop,omitempty" doc:"Absent for none within the lease"`
	NextStart   *time.Time `json:"nextStart,omitempty" doc:"Absent for none within the lease"`
	Holiday     string     `json:"holiday,omitempty" doc:"The holiday over which the next start waits"`
	Skips       *time.Time `json:"skips,omitempty" doc:"The next stop, which is left out"`
	KeptUntil   *time.Time `json:"keptUntil,omitempty" doc:"Nothing is stopped by the clock before"`
	Problem     string     `json:"problem,omitempty" doc:"Why the last start by the clock could not be"`
	RetryAt     *time.Time `json:"retryAt,omitempty" doc:"When it is tried again"`
}

func (a *API) scheduleView(ctx context.Context, w workload.Workload, err error) (*output[Schedule], error) {
	if err != nil {
		return nil, err
	}
	p, now := a.deps.Workloads.PlanOf(w), a.deps.Now()
	c, f := w.Coming(p, now), w.Schedule.Followed
	v := Schedule{Mode: string(p.Mode), Hours: hoursView(p.Hours), ZoneUnknown: p.Unknown, NextStop: moment(c.Stop.At),
		NextStart: moment(c.Start.At), Holiday: c.Start.Holiday, Skips: moment(c.Skips),
		Problem: i18n.From(ctx).Say(f.Problem), RetryAt: moment(f.RetryAt)}
	if p.Mode == workload.TeamHours {
		v.Mode = "team"
	}
	if w.Schedule.KeptUntil.After(now) {
		v.KeptUntil = moment(w.Schedule.KeptUntil)
	}
	return reply(v, nil)
}

func (a *API) schedule(ctx context.Context, actor identity.Actor, in *idInput) (*output[Schedule], error) {
	w, err := a.deps.Workloads.Get(ctx, actor, workload.ID(in.ID))
	return a.scheduleView(ctx, w, err)
}

type scheduleInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body ScheduleBody
}

func (a *API) setSchedule(ctx context.Context, actor identity.Actor, in *scheduleInput) (*output[Schedule], error) {
	w, err := a.deps.Workloads.SetSchedule(ctx, actor, workload.ID(in.ID), in.Body.mode(), in.Body.Hours.hours())
	return a.scheduleView(ctx, w, err)
}

func (a *API) resetSchedule(ctx context.Context, actor identity.Actor, in *idInput) (*output[Schedule], error) {
	w, err := a.deps.Workloads.SetSchedule(ctx, actor, workload.ID(in.ID), workload.TeamHours, nil)
	return a.scheduleView(ctx, w, err)
}

func (a *API) skipStop(ctx context.Context, actor identity.Actor, in *idInput) (*output[Schedule], error) {
	w, err := a.deps.Workloads.KeepOn(ctx, actor, workload.ID(in.ID), true)
	return a.scheduleView(ctx, w, err)
}

func (a *API) restoreStop(ctx context.Context, actor identity.Actor, in *idInput) (*output[Schedule], error) {
	w, err := a.deps.Workloads.KeepOn(ctx, actor, workload.ID(in.ID), false)
	return a.scheduleView(ctx, w, err)
}

// HolidayView is a day on which nobody works.
type HolidayView struct {
	Date string `json:"date" maxLength:"10" example:"2026-12-25"`
	Name string `json:"name" maxLength:"80" example:"Christmas Day"`
}

// ScheduleChange is a stop or a start.
type ScheduleChange struct {
	At      time.Time `json:"at"`
	Starts  bool      `json:"starts" doc:"False for a stop"`
	Holiday string    `json:"holiday,omitempty" doc:"The holiday over which a start waits"`
}

// TeamSchedule is when a team's workloads run that say nothing else.
type TeamSchedule struct {
	Hours    *Hours           `json:"hours,omitempty" doc:"Absent where they always run"`
	Holidays []HolidayView    `json:"holidays" doc:"Of the site and of the team"`
	Changes  []ScheduleChange `json:"changes" doc:"The stops and starts that follow"`
}

type teamScheduleInput struct {
	Name string    `path:"name" maxLength:"63"`
	From time.Time `query:"from" doc:"From when on changes are listed; now when absent"`
	Days int       `query:"days" minimum:"1" maximum:"366" default:"14" doc:"For how many days"`
}

// mostChanges is more than a usual year has.
const mostChanges = 1000

func (a *API) teamScheduleView(t schedule.Team, from time.Time, days int) TeamSchedule {
	v := TeamSchedule{Hours: hoursView(t.Hours), Holidays: []HolidayView{}, Changes: []ScheduleChange{}}
	for _, h := range t.Holidays {
		v.Holidays = append(v.Holidays, HolidayView(h))
	}
	if from.IsZero() {
		from = a.deps.Now()
	}
	for _, c := range workload.Changes(t, from, days, mostChanges) {
		v.Changes = append(v.Changes, ScheduleChange{At: c.At.UTC(), Starts: c.On, Holiday: c.Holiday})
	}
	return v
}

func (a *API) teamSchedule(_ context.Context, actor identity.Actor,
	in *teamScheduleInput) (*output[TeamSchedule], error) {
	t, err := a.deps.Tenants.Schedule(actor, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(a.teamScheduleView(t, in.From, in.Days), nil)
}

// usualDays is for how many days changes are listed where nobody says otherwise.
const usualDays = 14

type saveTeamScheduleInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Hours    *Hours        `json:"hours,omitempty" doc:"Absent: workloads that say nothing else always run"`
		Holidays []HolidayView `json:"holidays,omitempty" maxItems:"200" doc:"Of the team, beside those of the site"`
	}
}

func (a *API) saveTeamSchedule(ctx context.Context, actor identity.Actor,
	in *saveTeamScheduleInput) (*output[TeamSchedule], error) {
	var days []schedule.Holiday
	for _, h := range in.Body.Holidays {
		days = append(days, schedule.Holiday(h))
	}
	t, err := a.deps.Tenants.SaveSchedule(ctx, actor, in.Name, in.Body.Hours.hours(), days)
	return reply(a.teamScheduleView(t, time.Time{}, usualDays), err)
}

func (a *API) removeTeamSchedule(ctx context.Context, actor identity.Actor,
	in *tenantInput) (*output[TeamSchedule], error) {
	t, err := a.deps.Tenants.SaveSchedule(ctx, actor, in.Name, nil, nil)
	return reply(a.teamScheduleView(t, time.Time{}, usualDays), err)
}

// calendarOutput is a file.
type calendarOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (a *API) calendar(ctx context.Context, actor identity.Actor, _ *struct{}) (*calendarOutput, error) {
	entries, err := a.deps.Workloads.Calendar(ctx, actor)
	if err != nil {
		return nil, err
	}
	text := workload.ICS(entries, a.deps.PortalURL, i18n.From(ctx).Say, a.deps.Now())
	return &calendarOutput{ContentType: "text/calendar; charset=utf-8", Body: []byte(text)}, nil
}
