package page

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// UsageAllPath is the statement of everybody, the platform's side of the page of usage.
const UsageAllPath = "/usage?scope=all"

// place is an entry of the navigation. A page names the one that it belongs to by its path, see view.nav.
type place struct {
	id, path, icon string
	action         identity.Action // on nothing in particular; "" for everybody
}

// placeGroup is a group of the platform's side; id is "" for entries that stand alone.
type placeGroup struct {
	id     string
	places []place
}

// userPlaces are the side of those who use GPUs.
var userPlaces = []place{
	{"home", "/", "gpu", ""}, {"requests", "/requests", "requests", ""}, {"storage", "/storage", "storage", ""},
	{"team", "/team", "team", ""}, {"usage", "/usage", "usage", ""}, {"fleet", FleetPath, "fleet", ""},
}

// platformPlaces are the side of those who answer for the fleet.
var platformPlaces = []placeGroup{
	{"", []place{{"platform", PlatformPath, "gpu", identity.ReadPlatform}}},
	{"infrastructure", []place{{"fleet-use", FleetUsePath, "fleet", identity.ReadMetrics},
		{"health", FleetHealthPath, "thermometer", identity.ReadMetrics},
		{"licenses", LicensesPath, "licenses", identity.ReadBought}}},
	{"catalog", []place{{"sizes", "/admin/sizes", "sizes", identity.ReadOffer},
		{"images", "/admin/images", "image", identity.ReadOffer}, {"prices", PricesPath, "price", identity.ReadPrices}}},
	{"policies", []place{{"rules", RulesPath, "rules", identity.ReadRules},
		{"idle", IdlePath, "clock", identity.ReadRules}}},
	{"organization", []place{{"tenants", TenantsPath, "tenants", identity.ReadTenants},
		{"people", PeoplePath, "user", identity.ReadPeople}, {"budgets", BudgetsPath, "budget", identity.ReadBudget},
		{"usage-all", UsageAllPath, "usage", identity.ReadUsage}, {"demand", DemandPath, "hourglass", identity.ReadUsage},
		{"reconciliation", ReconciliationPath, "plan", identity.ReadUsage}}},
	{"system", []place{{"system", SystemPath, "gear", identity.ReadSystem},
		{"clusters", ClustersPath, "fleet", identity.ReadClusters},
		{"metrics", MetricsPath, "pulse", identity.ReadMetrics},
		{"notifications", "/admin/notifications", "bell", identity.ReadDeliveries},
		{"differences", DifferencesPath, "reload", identity.ReadDifferences},
		{"audit", "/audit", "audit", identity.ReadAudit}}},
}

// parents are where a page belongs for readers without its own entry: a developer's health of the fleet is its
// capacity, and the budget of the own team is the team.
var parents = map[string]string{FleetUsePath: FleetPath, FleetHealthPath: FleetPath, LicensesPath: FleetPath,
	"/start": "/", UsageAllPath: "/usage", DemandPath: "/usage", ReconciliationPath: "/usage", BudgetsPath: "/team",
	TenantsPath: "/team"}

// navigation is what one reader can go to.
type navigation struct {
	user     []place
	platform []placeGroup
	current  string // path of the entry that the page belongs to; "" for none
	atPlat   bool   // it is one of the platform's
}

// navigationOf leaves out what the reader may not see, and finds the entry of a page.
func navigationOf(a identity.Actor, page string) navigation {
	n := navigation{user: userPlaces, current: page}
	if len(a.TenantNames()) == 0 && identity.Can(a, identity.ReadTenants, identity.Resource{}) {
		n.user = slices.DeleteFunc(slices.Clone(n.user), func(p place) bool { return p.path == "/team" })
		if page == "/team" {
			page, n.current = TenantsPath, TenantsPath
		}
	}
	for _, g := range platformPlaces {
		g.places = slices.DeleteFunc(slices.Clone(g.places), func(p place) bool {
			return !identity.Can(a, p.action, identity.Resource{})
		})
		if len(g.places) > 0 {
			n.platform = append(n.platform, g)
		}
	}
	if n.atPlat = n.onPlatform(page); !n.atPlat && parents[page] != "" {
		n.current = parents[page]
	}
	return n
}

func (n navigation) onPlatform(path string) bool {
	return slices.ContainsFunc(n.platform, func(g placeGroup) bool {
		return slices.ContainsFunc(g.places, func(p place) bool { return p.path == path })
	})
}

// Link is an entry of the navigation; Group is its section.
type Link struct{ ID, Label, Group, Href, Icon string }

// Places are all entries of the reader's navigation, of both sides, with those of the masthead and of tabs.
func (w *Frame) Places(k Call) []Link {
	n := navigationOf(k.Actor, "")
	var links []Link
	add := func(group string, places ...place) {
		for _, p := range places {
			l := Link{ID: p.id, Label: k.Words.S("web.nav." + p.id), Group: group, Href: p.path, Icon: p.icon}
			if p.id == "usage" {
				l.Href = usageHref(k.Actor)
			}
			links = append(links, l)
		}
	}
	add("", n.user...)
	if w.Approvals.Decides(k.Actor) {
		add(k.Words.S("web.nav.requests"), place{"approvals", "/approvals", "check", ""},
			place{"delegations", DelegationsPath, "team", ""})
	}
	add("", place{"account", "/account", "key", ""}, place{"secrets", SecretsPath, "lock", ""},
		place{"notices", "/account/notifications", "bell", ""})
	for _, g := range n.platform {
		title := k.Words.S("web.side.platform")
		if g.id != "" {
			title = k.Words.S("web.nav.group_" + g.id)
		}
		add(title, g.places...)
	}
	return links
}

// usageHref is the page of one's own usage: for those who see everybody's, that is not what it opens with.
func usageHref(a identity.Actor) string {
	if usage.Widest(a) == usage.All {
		return "/usage?scope=" + string(usage.Mine)
	}
	return "/usage"
}

func (w *Frame) nav(k Call, n navigation, waiting int, folded []string) []layout.NavGroupModel {
	item := func(p place) layout.NavItemModel {
		return layout.NavItemModel{Label: k.Words.S("web.nav." + p.id), Href: p.path, Icon: p.icon,
			Current: p.path == n.current, Test: "nav-" + p.id}
	}
	var groups []layout.NavGroupModel
	if !n.atPlat {
		var items []layout.NavItemModel
		for _, p := range n.user {
			m := item(p)
			switch {
			case p.id == "usage":
				m.Href = usageHref(k.Actor)
			case p.id == "requests" && w.Approvals.Decides(k.Actor):
				m.Count, m.CountWords, m.CountID = waiting, k.Words.S("web.waiting", "Count", waiting), "nav-waiting"
			}
			items = append(items, m)
		}
		return append(groups, layout.NavGroupModel{Items: items})
	}
	for _, g := range n.platform {
		m := layout.NavGroupModel{ID: g.id, Folded: g.id != "" && slices.Contains(folded, g.id)}
		if g.id != "" {
			m.Title = k.Words.S("web.nav.group_" + g.id)
		}
		for _, p := range g.places {
			m.Items = append(m.Items, item(p))
			m.Folded = m.Folded && p.path != n.current
		}
		groups = append(groups, m)
	}
	return groups
}

// sides is the switch between using GPUs and answering for them; nil for those who only do the former.
func (w *Frame) sides(k Call, n navigation) []layout.SideModel {
	if len(n.platform) == 0 {
		return nil
	}
	return []layout.SideModel{
		{ID: "user", Label: k.Words.S("web.side.user"), Href: "/", Icon: "user", Current: !n.atPlat},
		{ID: "platform", Label: k.Words.S("web.side.platform"), Href: n.platform[0].places[0].path, Icon: "gear",
			Current: n.atPlat}}
}

// navBar is what the cookie calls the navigation as a whole.
const navBar = "bar"

// folded are the parts of the navigation that the reader has closed. At first it is the last group, so that a window of
// 768 pixels shows the others without scrolling.
func folded(c echo.Context) []string {
	values := edge.Values(c.Request(), edge.Nav)
	if len(values) == 0 {
		return []string{platformPlaces[len(platformPlaces)-1].id}
	}
	return slices.DeleteFunc(strings.Split(values[0], "."), func(id string) bool { return !foldable(id) })
}

func foldable(id string) bool {
	return id == navBar || id != "" && slices.ContainsFunc(platformPlaces, func(g placeGroup) bool { return g.id == id })
}

// setNav folds a part of the navigation, or opens it again.
func (w *Frame) setNav(c echo.Context) error {
	id, list := c.FormValue("part"), folded(c)
	if !foldable(id) {
		return fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	list = slices.DeleteFunc(list, func(other string) bool { return other == id })
	if c.FormValue("fold") == "1" {
		list = append(list, id)
	}
	slices.Sort(list)
	value := "open"
	if len(list) > 0 {
		value = strings.Join(slices.Compact(list), ".")
	}
	c.SetCookie(edge.Cookie(edge.Nav, value, aYear))
	return c.Redirect(303, LocalPath(c.FormValue("back"), "/"))
}

// RequestTabs are one's own requests and those that wait for one's decision; nil for those who decide nothing.
func (w *Frame) RequestTabs(k Call, current string, waiting int) *ui.TabsModel {
	if !w.Approvals.Decides(k.Actor) {
		return nil
	}
	tab := func(id, path string) ui.TabModel {
		return ui.TabModel{Label: k.Words.S("requests.tab_" + id), Href: path, Current: path == current,
			Test: "tab-" + id}
	}
	m := &ui.TabsModel{Label: k.Words.S("requests.title"), Items: []ui.TabModel{tab("mine", "/requests"),
		tab("approve", "/approvals"), tab("delegations", DelegationsPath)}}
	m.Items[1].Count = waiting
	return m
}

// UsageTabs are the statement of a scope, and what would cost less in it.
func UsageTabs(k Call, c usage.Scope, current string) *ui.TabsModel {
	tab := func(id, path string) ui.TabModel {
		return ui.TabModel{Label: k.Words.S("usage.tab_" + id), Href: path + "?scope=" + string(c), Current: path == current,
			Test: "tab-" + id}
	}
	return &ui.TabsModel{Label: k.Words.S("usage.title"), Items: []ui.TabModel{tab("statement", "/usage"),
		tab("advice", AdvicePath)}}
}

// UsagePlace is the entry of the navigation for a scope.
func UsagePlace(s usage.Scope) string {
	if s == usage.All {
		return UsageAllPath
	}
	return "/usage"
}

// TeamPlace is the entry of the navigation for a team: one's own, or one of the platform's.
func TeamPlace(k Call, team string) string {
	if k.Actor.Member(team) {
		return "/team"
	}
	return TenantsPath
}
