package team

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// ScopeTeam answers: who is in, what may we hold, what is left.
func (w *Pages) team(k page.Call) (page.View, error) {
	say := k.Words
	m := teamview.PageModel{Header: ui.HeaderModel{Title: say.S("team.title"), Lead: say.S("team.lead")}}
	v := page.View{Title: m.Header.Title, Nav: "/team"}
	only := k.Get("name")
	for _, t := range w.teamsShown(k) {
		if only != "" && t.Name != only {
			continue
		}
		model, err := w.teamModel(k, t)
		if err != nil {
			return page.View{}, err
		}
		m.Teams = append(m.Teams, model)
		v.Parts = append(v.Parts, page.Part{ID: model.Quotas.ID,
			Draw: func(page.Words) templ.Component { return teamview.Quotas(model.Quotas) }})
	}
	if only != "" && len(m.Teams) == 0 {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_team"))
	}
	if len(m.Teams) == 1 {
		name := m.Teams[0].Name
		tabs := blocks.TeamTabs(k, name, page.TeamQuotaPath(name))
		m.Header.Tabs, v.Nav = &tabs, page.TeamPlace(k, name)
	}
	for i, t := range m.Teams {
		if len(m.Teams) > 1 {
			m.Teams[i].Inside = page.TeamPath(t.Name)
		}
	}
	v.Body = teamview.Page(m)
	return v, nil
}

// teamsShown are the reader's own; those who are in none and see all get all.
func (w *Pages) teamsShown(k page.Call) []tenant.Tenant {
	if own := w.OwnTeams(k); len(own) > 0 && k.Get("name") == "" {
		return own
	}
	return w.Offers.Tenants(k.Actor)
}

func (w *Pages) teamModel(k page.Call, t tenant.Tenant) (teamview.TeamModel, error) {
	say, id := k.Words, "team-"+page.Slug(t.Name)
	m := teamview.TeamModel{ID: id, Name: t.Name, Title: t.Display(), Namespace: t.NamespaceName(), Disabled: t.Disabled,
		Budget: page.BudgetPath(t.Name), Quotas: teamview.QuotasModel{ID: id + "-quotas"}}
	if identity.Can(k.Actor, identity.SubmitRequest, identity.Resource{Tenant: t.Name}) {
		m.MoreQuota = page.TeamPath(t.Name) + "/quota"
	}
	bars, err := w.QuotaBars(k, t)
	m.Quotas.Bars, m.Quotas.None = bars, len(bars) == 0
	bar, none, broken := w.BudgetFact(k, t.Name)
	if broken != nil {
		return m, broken
	}
	m.Quotas.Budget, m.NoBudget = bar, none
	for _, role := range []identity.Role{identity.Owner, identity.Developer, identity.Approver} {
		if len(t.Groups[role]) == 0 {
			continue
		}
		r := teamview.RoleModel{Role: page.UpperFirst(say.Say(page.RoleWord(role))), About: say.S("team.may_" + string(role)),
			Groups: t.Groups[role], Mine: k.Actor.In(t.Name, role)}
		m.Roles = append(m.Roles, r)
	}
	return m, err
}
