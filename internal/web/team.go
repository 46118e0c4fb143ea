package web

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// team answers: who is in, what may we hold, what is left.
func (w *Web) team(k call) (view, error) {
	say := k.words
	m := teamview.PageModel{Header: ui.HeaderModel{Title: say.S("team.title"), Lead: say.S("team.lead")}}
	v := view{title: m.Header.Title, nav: "/team"}
	for _, t := range w.Offers.Tenants(k.actor) {
		model, err := w.teamModel(k, t)
		if err != nil {
			return view{}, err
		}
		m.Teams = append(m.Teams, model)
		v.parts = append(v.parts, part{id: model.Quotas.ID,
			draw: func(words) templ.Component { return teamview.Quotas(model.Quotas) }})
	}
	if len(m.Teams) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "team", Title: say.S("team.empty"), Lines: []string{say.S("start.none_why")},
			Test: "empty"}
	}
	v.body = teamview.Page(m)
	return v, nil
}

func (w *Web) teamModel(k call, t tenant.Tenant) (teamview.TeamModel, error) {
	say, id := k.words, "team-"+slug(t.Name)
	m := teamview.TeamModel{ID: id, Title: t.Display(), Inside: ui.LinkButtonModel{Label: say.S("team.inside"),
		Href: teamPath(t.Name), Kind: ui.Secondary, Test: "inside"}, Quotas: teamview.QuotasModel{ID: id + "-quotas"},
		Facts: []ui.DefModel{
			{Term: say.S("team.name"), Component: ui.Copy(ui.CopyModel{Value: t.Name, Label: say.S("team.name")})},
			{Term: say.S("workload.namespace"), Component: ui.Copy(ui.CopyModel{Value: t.NamespaceName(),
				Label: say.S("workload.namespace")})}}}
	if t.Disabled {
		m.State = &ui.StateModel{Kind: ui.Warning, Word: say.S("team.disabled"), Detail: say.S("team.disabled_why"),
			Test: "state"}
	}
	bars, err := w.quotaBars(k, t)
	m.Quotas.Bars = bars
	if len(bars) == 0 {
		m.Quotas.None = say.S("team.no_quota")
	}
	bar, none, broken := w.budgetFact(k, t.Name)
	if broken != nil {
		return m, broken
	}
	if bar != nil {
		m.Quotas.Bars = append(m.Quotas.Bars, *bar)
	}
	m.Facts = append(m.Facts, ui.DefModel{Term: say.S("web.nav.budgets"),
		Component: ui.LinkButton(ui.LinkButtonModel{Label: say.S("budgets.book"), Href: budgetPath(t.Name), Kind: ui.LinkLike,
			Small: true, Test: "budget-book"}), About: none})
	for _, role := range []identity.Role{identity.Owner, identity.Developer, identity.Approver} {
		if len(t.Groups[role]) == 0 {
			continue
		}
		r := teamview.RoleModel{Role: upperFirst(say.Say(roleWord(role))), About: say.S("team.may_" + string(role)),
			Groups: t.Groups[role]}
		if k.actor.In(t.Name, role) {
			r.Mine = say.S("team.you")
		}
		m.Roles = append(m.Roles, r)
	}
	return m, err
}
