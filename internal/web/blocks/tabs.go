package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// TeamTabs are the sides of a team.
func TeamTabs(k page.Call, team, current string) ui.TabsModel {
	m := ui.TabsModel{Label: k.Words.S("team.title")}
	for _, t := range []struct {
		id, path string
		action   identity.Action
	}{{"quota", page.TeamQuotaPath(team), identity.ReadTenant}, {"members", page.TeamPath(team), identity.ReadMembers},
		{"budget", page.BudgetPath(team), identity.ReadBudget}, {"images", page.TeamImagesPath(team), identity.ReadTenant},
		{"volumes", page.TeamVolumesPath(team), identity.ReadTenant},
		{"datasets", page.DatasetsPath(team), identity.ReadTenant},
		{"secrets", page.TeamSecretsPath(team), identity.ReadSecrets},
		{"settings", page.TeamSettingsPath(team), identity.ReadMembers}} {
		if identity.Can(k.Actor, t.action, identity.Resource{Tenant: team}) {
			m.Items = append(m.Items, ui.TabModel{Label: k.Words.S("team." + t.id), Href: t.path,
				Current: t.path == current, Test: "tab-" + t.id})
		}
	}
	return m
}

// TeamCrumbs lead to one side of a team; an empty title is the team itself.
func TeamCrumbs(k page.Call, e tenant.Entry, title string) []ui.CrumbModel {
	crumbs := []ui.CrumbModel{{Label: k.Words.S("team.title"), Href: "/team"}}
	if page.TeamPlace(k, e.Name) == page.TenantsPath {
		crumbs[0] = ui.CrumbModel{Label: k.Words.S("tenants.title"), Href: page.TenantsPath}
	}
	if title == "" {
		return append(crumbs, ui.CrumbModel{Label: e.Display()})
	}
	return append(crumbs, ui.CrumbModel{Label: e.Display(), Href: page.TeamPath(e.Name)}, ui.CrumbModel{Label: title})
}
