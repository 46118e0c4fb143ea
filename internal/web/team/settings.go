package team

import (
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// teamSettings answers: what do starts of the team begin with, and when do its workloads run.
func (w *Pages) teamSettings(k page.Call) (page.View, error) {
	e, err := w.Tenants.Visible(k.Actor, k.Get("name"))
	if err != nil {
		return page.View{}, err
	}
	return w.teamSettingsView(k, e, w.hoursOf(e), nil), nil
}

func (w *Pages) teamSettingsView(k page.Call, e tenant.Entry, typed teamHours, problems []fault.Field) page.View {
	say := k.Words
	m := teamview.SettingsModel{Tabs: blocks.TeamTabs(k, e.Name, page.TeamSettingsPath(e.Name)),
		Errors: page.FormErrors(say, problems), Hours: w.hoursModel(say, e.Name),
		Header: ui.HeaderModel{Title: say.S("team.heading", "Team", e.Display()), Crumbs: teamCrumbs(k, e, "")}}
	if identity.Can(k.Actor, identity.ChangeMembers, identity.Resource{Tenant: e.Name}) {
		hours, defaults := w.hoursForm(say, e.Name, typed, problems), w.defaultsModel(say, e, problems)
		m.HoursForm, m.Defaults = &hours, &defaults
	}
	return page.View{Title: e.Display(), Nav: page.TeamPlace(k, e.Name), Body: teamview.Settings(m)}
}

// settingsSaved answers a change of the settings: back to their page, or the page with what was typed and is wrong.
func (w *Pages) settingsSaved(c echo.Context, k page.Call, flash string, typed *teamHours, err error) error {
	name := c.Param("name")
	if err == nil {
		return w.Done(c, flash, page.TeamSettingsPath(name))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	e, viewErr := w.Tenants.Visible(k.Actor, name)
	if viewErr != nil {
		return viewErr
	}
	if typed == nil {
		typed = new(w.hoursOf(e))
	}
	v := w.teamSettingsView(k, e, *typed, page.ProblemsOf(err))
	return w.Reply(c, k, page.Page{Name: w.teamSettingsPage().Name}, v, page.StatusOf(err))
}

// defaultsModel offers what the team may use.
func (w *Pages) defaultsModel(say page.Words, e tenant.Entry, problems []fault.Field) teamview.DefaultsModel {
	field := func(name, value string) teamview.FieldModel {
		return teamview.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := teamview.DefaultsModel{Action: page.TeamPath(e.Name) + "/defaults", Size: field("size", e.Defaults.Size),
		Image: field("image", e.Defaults.Image), Lease: field("lease", e.Defaults.Lease)}
	for _, s := range w.Site().Catalog.Sizes {
		if s.OfferedTo(e.Name) {
			m.Sizes = append(m.Sizes, ui.OptionModel{Value: s.Name, Label: say.SizeTitle(s)})
		}
	}
	for _, i := range w.Site().ImagesFor(e.Name) {
		if i.OfferedTo(e.Name) {
			m.Images = append(m.Images, ui.OptionModel{Value: i.Name, Label: blocks.ImageTitle(say, i)})
		}
	}
	return m
}

func (w *Pages) teamDefaults(c echo.Context) error {
	k := w.CallOf(c)
	_, err := w.Tenants.SaveDefaults(k.Ctx, k.Actor, c.Param("name"), tenant.Defaults{Size: c.FormValue("size"),
		Image: c.FormValue("image"), Lease: c.FormValue("lease")})
	return w.settingsSaved(c, k, "tenant-saved", nil, err)
}

func (w *Pages) teamSchedule(c echo.Context) error {
	k := w.CallOf(c)
	posted, err := c.FormParams()
	if err != nil {
		return err
	}
	typed := teamHours{blocks.ReadHours(posted, ""), posted.Get("holidays")}
	_, err = w.Tenants.SaveSchedule(k.Ctx, k.Actor, c.Param("name"), typed.Hours(), schedule.ParseHolidays(typed.dates))
	return w.settingsSaved(c, k, "team-schedule", &typed, err)
}
