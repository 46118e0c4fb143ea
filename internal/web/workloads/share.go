package workloads

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// shareForm is what was typed to let somebody in.
type shareForm struct{ To, Person, Group, Permission, Until string }

// Draft ends that long from now; the empty length is none.
func (f shareForm) Draft(now time.Time) workload.GrantDraft {
	d := workload.GrantDraft{To: workload.Grantee(f.To), Person: f.Person, Group: f.Group,
		Permission: workload.Permission(f.Permission)}
	if f.Until != "" {
		lasts, _ := catalog.ParseDuration(f.Until) // what cannot be read is no length, which is a problem of its own
		d.Until = now.Add(lasts.Std())
	}
	return d
}

// shareAsk answers: who else may come in, and who was inside.
func (w *Pages) shareAsk(k page.Call) (page.View, error) {
	return w.shareView(k, shareForm{To: string(workload.ToPerson), Permission: string(workload.MayUse)}, nil, nil)
}

func (w *Pages) shareView(k page.Call, f shareForm, problems []fault.Field,
	fresh *workloadview.FreshLinkModel) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	if s.Over() {
		return page.View{}, fault.New(fault.Conflict, i18n.T("workload.gone"))
	}
	grants, err := w.Workloads.Grants(k.Ctx, k.Actor, s.ID)
	if err != nil {
		return page.View{}, err
	}
	visits, err := w.Workloads.Visitors(k.Ctx, k.Actor, s.ID)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := workloadview.ShareModel{Path: page.WorkloadPath(s.ID), Errors: page.FormErrors(say, problems), Fresh: fresh,
		Owner: s.OwnerName}
	if m.Form, err = w.shareFormModel(k, s, f, problems); err != nil {
		return page.View{}, err
	}
	for _, g := range grants {
		m.Grants = append(m.Grants, grantModel(say, g, m.Form.Team))
	}
	for _, v := range visits {
		m.Visits = append(m.Visits, workloadview.VisitModel{Name: v.Name, Seen: say.Ago(v.At),
			Inside: say.Now.Sub(v.At) < workload.Inside})
	}
	m.Header = ui.HeaderModel{Title: say.S("share.title", "Name", s.Name),
		Crumbs: workloadCrumbs(say, s.Workload, "share.crumb")}
	return questionView(m.Header, workloadview.SharePage(m)), nil
}

func (w *Pages) shareFormModel(k page.Call, s details, f shareForm,
	problems []fault.Field) (workloadview.ShareFormModel, error) {
	wrong := func(name string) string { return page.WrongIn(k.Words, problems, name) }
	t, _ := w.Site().Directory.ByName(s.Tenant)
	m := workloadview.ShareFormModel{To: f.To, Permission: f.Permission, Team: page.OrElse(t.Display(), s.Tenant),
		Person:  workloadview.FieldModel{Value: f.Person, Error: wrong("person")},
		Group:   workloadview.FieldModel{Value: f.Group, Error: wrong("group")},
		Until:   workloadview.FieldModel{Value: f.Until, Error: wrong("until")},
		ToError: wrong("to"), PermissionError: wrong("permission"),
		Untils: []ui.OptionModel{{Value: "", Label: k.Words.S("share.until_end")}}}
	for _, days := range []int{1, 7, 30} {
		d := catalog.Duration(time.Duration(days) * 24 * time.Hour)
		m.Untils = append(m.Untils, ui.OptionModel{Value: d.String(), Label: k.Words.Duration(d.Std())})
	}
	people, err := w.Workloads.ColleaguesOf(k.Ctx, k.Actor, s.ID)
	for _, p := range people {
		if p.Email != "" && !slices.Contains(m.Colleagues, p.Email) {
			m.Colleagues = append(m.Colleagues, p.Email)
		}
	}
	return m, err
}

func grantModel(say page.Words, g workload.Grant, team string) workloadview.GrantModel {
	m := workloadview.GrantModel{ID: g.ID, May: say.S("share.may_" + string(g.Permission)),
		Until: ui.TimeModel{Words: say.S("share.until_end")}}
	if !g.Until.IsZero() {
		m.Until = say.Around(g.Until)
	}
	switch g.To {
	case workload.ToTeam:
		m.Name, m.Icon = page.UpperFirst(say.S("workload.who_team", "Team", team)), "team"
	case workload.ToGroup:
		m.Name, m.Detail, m.Icon = g.Group, say.S("share.to_group"), "team"
	case workload.ToLink:
		m.Name, m.Detail, m.Icon = say.S("share.to_link"), say.S("share.link_detail"), "link"
	case workload.ToPerson:
		m.Name, m.Icon = g.Name, "user"
		if g.Link != "" {
			m.Detail = say.S("share.by_link")
		}
	}
	return m
}

// grantCreate lets somebody in. A link is answered with, this once: a secret belongs into no redirect and no cookie.
func (w *Pages) grantCreate(c echo.Context) error {
	k := w.CallOf(c)
	value := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	f := shareForm{To: value("to"), Person: value("person"), Group: value("group"), Permission: value("permission"),
		Until: value("until")}
	id := workload.ID(c.Param("id"))
	_, g, secret, err := w.Workloads.Grant(k.Ctx, k.Actor, id, f.Draft(k.Words.Now))
	status := http.StatusOK
	var fresh *workloadview.FreshLinkModel
	var problems []fault.Field
	switch {
	case err == nil && secret == "":
		return w.Done(c, "granted", page.WorkloadPath(id)+"/share")
	case err == nil:
		fresh = &workloadview.FreshLinkModel{Address: strings.TrimRight(w.PortalURL, "/") + page.WorkloadPath(id) +
			"/join?" + url.Values{"invite": {secret}}.Encode()}
		if !g.Until.IsZero() {
			fresh.Until = k.Words.At(g.Until).Words
		}
	case !page.Correctable(err):
		return err
	default:
		problems, status = page.ProblemsOf(err), page.StatusOf(err)
	}
	v, err := w.shareView(k, f, problems, fresh)
	if err != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.sharePage().Name}, v, status)
}

func (w *Pages) grantRevoke(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	if _, err := w.Workloads.Revoke(k.Ctx, k.Actor, id, c.Param("grant")); err != nil {
		return err
	}
	return w.Done(c, "grant-revoked", page.WorkloadPath(id)+"/share")
}

// joinAsk is where a link leads to: following it changes nothing before somebody says so.
func (w *Pages) joinAsk(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	m := workloadview.JoinModel{Path: page.WorkloadPath(s.ID), Invite: k.Get("invite"), Owner: s.OwnerName}
	m.Header = ui.HeaderModel{Title: k.Words.S("share.join_title", "Name", s.Name),
		Crumbs: workloadCrumbs(k.Words, s.Workload, "share.join")}
	return questionView(m.Header, workloadview.JoinPage(m)), nil
}

func (w *Pages) workloadJoin(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	if _, err := w.Workloads.Follow(k.Ctx, k.Actor, id, c.FormValue("invite")); err != nil {
		return err
	}
	return w.Done(c, "joined", page.WorkloadPath(id))
}
