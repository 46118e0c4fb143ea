package admin

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/rules"
	"github.com/gpu-portal/gpu-portal/views/tenants"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// tenantsAdmin answers: which teams are there, and where do they come from.
func (w *Pages) tenantsAdmin(k page.Call) (page.View, error) {
	list, err := w.Tenants.List(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := tenants.PageModel{Header: ui.HeaderModel{Title: say.S("tenants.title"), Lead: say.S("tenants.lead")}}
	if identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		m.Create = page.TenantsPath + "/edit"
	}
	list = page.Matching(list, k.Get("q"), func(e tenant.Entry) string { return e.Name + " " + e.Display() })
	list, m.List = page.RowsOf(say, page.ListOf(k, page.TenantsPath, tenantOrders, "q"), say.S("tenants.title"), list,
		tenantKeys)
	m.Filter = blocks.TeamFilter(say, page.TenantsPath, k.Get("q"))
	titles := map[string]string{tenant.EverySize: say.S("tenants.every_size")}
	for _, s := range w.Site().Catalog.Sizes {
		titles[s.Name] = say.SizeTitle(s)
	}
	for _, e := range list {
		m.Rows = append(m.Rows, tenants.RowModel{Name: e.Name, Title: e.Display(), Href: page.TenantEditPath(e.Name),
			Groups: e.GroupNames(), Space: e.NamespaceName(), Disabled: e.Disabled,
			Quota: shortQuota(say, e.Quota, titles), Members: page.TeamPath(e.Name)})
	}
	return page.View{Title: m.Header.Title, Nav: page.TenantsPath, Wide: true, Body: tenants.Page(m),
		Parts: []page.Part{{ID: "tenants", Draw: func(page.Words) templ.Component { return tenants.Page(m) }}}}, nil
}

// tenantOrders are what the list of teams can be sorted by.
var tenantOrders = []string{"name", "state", "namespace"}

var tenantKeys = map[string]page.Key[tenant.Entry]{
	"name":      page.ByText(func(e tenant.Entry) string { return e.Display() }),
	"namespace": page.ByText(func(e tenant.Entry) string { return e.NamespaceName() }),
	"state": page.ByNumber(func(e tenant.Entry) int {
		if e.Disabled {
			return 0
		}
		return 1
	}),
}

// quotaShown is how many sizes of a quota a row names.
const quotaShown = 3

// shortQuota is "Title: number" of the first few sizes, and how many more there are.
func shortQuota(say page.Words, quota map[string]int, titles map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(quota)) {
		if len(parts) == quotaShown {
			return strings.Join(parts, " · ") + " · +" + strconv.Itoa(len(quota)-quotaShown)
		}
		size, cluster := tenant.ParseQuotaKey(key)
		parts = append(parts, sizeOn(say, cmp.Or(titles[size], size), cluster)+": "+strconv.Itoa(quota[key]))
	}
	return strings.Join(parts, " · ")
}

// quotaText is "size: number", one a line, in a stated order.
func quotaText(quota map[string]int) string {
	var lines []string
	for _, size := range slices.Sorted(maps.Keys(quota)) {
		lines = append(lines, size+": "+strconv.Itoa(quota[size]))
	}
	return strings.Join(lines, "\n")
}

// tenantForm is what was typed about a team.
type tenantForm struct {
	tenant.Draft
	quota  quotaForm
	groups map[identity.Role]string
}

func formOf(e tenant.Entry) tenantForm {
	f := tenantForm{Draft: tenant.Draft{Name: e.Name, Title: e.Title, Namespace: e.NamespaceName(), Disabled: e.Disabled,
		Base: e.Version(), Quota: e.Quota}, quota: quotaOf(e.Quota), groups: map[identity.Role]string{}}
	for _, role := range tenant.MemberRoles {
		f.groups[role] = strings.Join(e.Groups[role], "\n")
	}
	return f
}

// tenantEdit shows the form of one team, or an empty one.
func (w *Pages) tenantEdit(k page.Call) (page.View, error) {
	name := k.Get("name")
	if name == "" {
		if _, err := w.Tenants.List(k.Actor); err != nil {
			return page.View{}, err
		}
		return w.tenantView(k, tenantForm{Draft: tenant.Draft{New: true}}, nil)
	}
	e, err := w.Tenants.Entry(k.Actor, name)
	if err != nil {
		return page.View{}, err
	}
	return w.tenantView(k, formOf(e), nil)
}

func (w *Pages) tenantView(k page.Call, f tenantForm, problems []fault.Field) (page.View, error) {
	return w.tenantViewWith(k, f, problems, nil)
}

// tenantViewWith also shows what a quota would mean.
func (w *Pages) tenantViewWith(k page.Call, f tenantForm, problems []fault.Field, compared *rules.ComparedModel) (
	page.View, error) {
	say := k.Words
	title := say.S("tenants.create")
	quota, err := w.quotaModel(k, f, problems)
	if err != nil {
		return page.View{}, err
	}
	m := tenants.EditModel{Errors: page.FormErrors(say, quotaAnchors(f.quota, problems)),
		Form: formModel(say, f, quota, problems)}
	lead := say.S("tenants.edit_lead")
	may := identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{})
	if !f.New {
		e, err := w.Tenants.Entry(k.Actor, f.Name)
		if err != nil {
			return page.View{}, err
		}
		title = e.Display()
		m.Shut, m.Compared = e.Disabled, compared
		if m.Standing, err = w.tenantStanding(k, e); err != nil {
			return page.View{}, err
		}
		if e.Configured != nil {
			lead += " " + say.S("tenants.over_config")
		}
		if may {
			m.Form.Check = page.TenantsPath + "/check"
		}
		m.Form.Stored = reflect.DeepEqual(f, formOf(e))
		if err := w.tenantHistory(k, &m, f.Name); err != nil {
			return page.View{}, err
		}
	}
	if m.Form.Quota.Turn = may; !may {
		m.Form.Refused = say.S("tenant.admins_only")
	}
	heading := title
	if !f.New {
		heading = say.S("team.heading", "Team", title)
	}
	m.Header = ui.HeaderModel{Title: heading, Lead: lead,
		Crumbs: []ui.CrumbModel{{Label: say.S("tenants.title"), Href: page.TenantsPath}, {Label: title}}}
	return page.View{Title: title, Nav: page.TenantsPath, Body: tenants.Edit(m)}, nil
}

// tenantStanding is how a team is doing: who is in it, what runs, and what is left of its budget.
func (w *Pages) tenantStanding(k page.Call, e tenant.Entry) (ui.TilesModel, error) {
	say, m := k.Words, ui.TilesModel{Label: e.Display()}
	members, err := w.Tenants.Members(k.Ctx, k.Actor, e.Name)
	if err != nil {
		return m, err
	}
	people := map[identity.PersonID]bool{}
	for _, member := range members {
		people[member.Person.ID] = true
	}
	states, err := w.Workloads.Count(k.Ctx, k.Actor, false, workload.Filter{Tenants: []string{e.Name}})
	if err != nil {
		return m, err
	}
	running := ui.TileModel{Label: say.S("tenants.running"), Value: say.Number(float64(states[workload.Running])),
		Test: "running"}
	var others []string // what does not run counts against the quota too
	if n := states[workload.Queued]; n > 0 {
		others = append(others, say.S("tenants.queued", "Count", n))
	}
	if n := states[workload.Failed]; n > 0 {
		others = append(others, say.S("tenants.failed", "Count", n))
	}
	running.Detail = strings.Join(others, " · ")
	st, err := w.Budgets.Of(k.Ctx, k.Actor, e.Name)
	if err != nil {
		return m, err
	}
	budget := ui.TileModel{Label: say.S("team.budget"), Value: say.S("budgets.unlimited"),
		Unknown: true, Detail: say.S("budgets.set"), More: page.BudgetPath(e.Name), Test: "budget"}
	if st.Set() {
		u := st.Budget.Unit
		budget.Label = blocks.BudgetBar(say, st).Label
		budget.Value, budget.Unknown = say.InUnit(u, st.Budget.Amount-st.Balance.Left), false
		budget.Href, budget.More = page.BudgetPath(e.Name), ""
		budget.Detail = say.S("tenants.budget_of", "Amount", say.InUnit(u, st.Budget.Amount), "Percent",
			say.Percent(float64(st.Used())))
		if st.Used() >= blocks.BudgetAtRisk {
			budget.Kind = ui.Warning
		}
	}
	m.Items = []ui.TileModel{{Label: say.S("team.members"), Value: say.Number(float64(len(people))),
		Href: page.TeamPath(e.Name), Test: "members"}, running, budget}
	return m, nil
}

func formModel(say page.Words, f tenantForm, quota tenants.QuotaModel, problems []fault.Field) tenants.FormModel {
	field := func(name, value string) tenants.FieldModel {
		return tenants.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	m := tenants.FormModel{Action: page.TenantsPath + "/edit", Back: page.TenantsPath, New: f.New, Known: f.Name,
		Base: strconv.FormatInt(f.Base, 10), Name: field("name", f.Name), Title: field("title", f.Title),
		Namespace: field("namespace", f.Namespace), Quota: quota, Disabled: f.Disabled,
		Note: field("note", f.Note)}
	for _, role := range []identity.Role{identity.Owner, identity.Developer, identity.Approver} {
		m.Groups = append(m.Groups, tenants.GroupModel{ID: string(role), Label: say.S("tenants.groups_" + string(role)),
			FieldModel: field("groups."+string(role), f.groups[role])})
	}
	return m
}

func (w *Pages) tenantHistory(k page.Call, m *tenants.EditModel, name string) error {
	before, _ := strconv.ParseInt(k.Get("before"), 10, 64)
	list, more, err := w.Tenants.Revisions(k.Ctx, k.Actor, name, before, 20)
	if err != nil {
		return err
	}
	for _, r := range list {
		m.History = append(m.History, tenants.RevisionModel{Title: ui.StackModel{Title: k.Words.S("rules.version", "Version",
			r.Version), Detail: k.Words.Text(r.Note)}, Who: r.AuthorName, At: k.Words.Ago(r.At),
			What: savedLines(k.Words, r.Saved)})
	}
	m.More.Label = k.Words.S("tenants.history")
	if more {
		m.More.NextURL = page.TenantEditPath(name) + "&before=" + strconv.FormatInt(list[len(list)-1].Version, 10)
	}
	return nil
}

// savedLines say what a version has otherwise than the configuration.
func savedLines(say page.Words, s tenant.Saved) []string {
	var lines []string
	add := func(label, value string) { lines = append(lines, label+": "+value) }
	if s.Title != nil {
		add(say.S("tenants.field_title"), *s.Title)
	}
	for _, role := range tenant.MemberRoles {
		if groups, ok := s.Groups[role]; ok {
			add(say.S("tenants.groups_"+string(role)), strings.Join(groups, ", "))
		}
	}
	if len(s.Quota) > 0 {
		add(say.S("tenants.field_quota"), strings.ReplaceAll(quotaText(s.Quota), "\n", " · "))
	}
	if s.Disabled != nil {
		word := "tenants.on"
		if *s.Disabled {
			word = "team.disabled"
		}
		lines = append(lines, say.S(word))
	}
	if s.Defaults != nil {
		add(say.S("team.defaults"), strings.Join([]string{s.Defaults.Size, s.Defaults.Image, s.Defaults.Lease}, " · "))
	}
	return lines
}

// tenantSave makes a team or changes one; what is wrong comes back with what was typed.
func (w *Pages) tenantSave(c echo.Context) error {
	k := w.CallOf(c)
	f, problems := readTenantForm(c)
	if as := c.FormValue("turn"); as != "" && identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		return w.tenantTurned(c, k, f, as, problems)
	}
	validating, err := w.Validating(c)
	if err != nil {
		return err
	}
	if validating {
		return w.tenantValidated(c, k, f, problems)
	}
	err = fault.InvalidFields(problems)
	if err == nil || !identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		_, err = w.Tenants.Save(k.Ctx, k.Actor, f.Draft)
	}
	switch {
	case err == nil:
		return w.Done(c, "tenant-saved", page.TenantEditPath(strings.TrimSpace(f.Name)))
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.Conflict):
		v, viewErr := w.tenantView(k, f, page.ProblemsOf(err))
		if viewErr != nil {
			return viewErr
		}
		return w.Reply(c, k, page.Page{Name: w.tenantEditPage().Name}, v, page.StatusOf(err))
	}
	return err
}

// tenantValidated says what is wrong so far.
func (w *Pages) tenantValidated(c echo.Context, k page.Call, f tenantForm, problems []fault.Field) error {
	if err := w.Tenants.Check(k.Actor, f.Draft); err != nil {
		if !fault.Is(err, fault.Invalid) {
			return err
		}
		if len(problems) == 0 {
			problems = page.ProblemsOf(err)
		}
	}
	return w.Validated(c, "tenant-form", page.FieldProblems(k.Words, quotaAnchors(f.quota, problems)))
}

// tenantCheck writes nothing: it says what the quota would have meant for the requests of the last days, and which of
// what runs is over it.
func (w *Pages) tenantCheck(c echo.Context) error {
	k := w.CallOf(c)
	f, problems := readTenantForm(c)
	var compared *rules.ComparedModel
	if len(problems) == 0 {
		q, err := w.Comparisons.Quota(k.Ctx, k.Actor, f.Name, f.Quota)
		if err != nil {
			return err
		}
		m := w.quotaComparedModel(k.Words, q)
		if m.Changes, err = w.quotaChanges(k, f); err != nil {
			return err
		}
		compared = &m
	}
	v, err := w.tenantViewWith(k, f, problems, compared)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return w.Reply(c, k, page.Page{Name: w.tenantEditPage().Name}, v, status)
}

func readTenantForm(c echo.Context) (tenantForm, []fault.Field) {
	base := c.FormValue("base")
	f := tenantForm{groups: map[identity.Role]string{}}
	f.Draft = tenant.Draft{Name: c.FormValue("name"), New: base == "", Title: c.FormValue("title"),
		Namespace: c.FormValue("namespace"), Disabled: c.FormValue("disabled") != "", Note: c.FormValue("note"),
		Groups: map[identity.Role][]string{}}
	if n, err := strconv.ParseInt(base, 10, 64); err == nil {
		f.Base = n
	} else if base != "" {
		f.Base = -1
	}
	for _, role := range tenant.MemberRoles {
		f.groups[role] = c.FormValue("groups." + string(role))
		f.Groups[role] = tenant.ParseGroups(f.groups[role])
	}
	var problems []fault.Field
	f.quota, f.Quota, problems = readQuota(c)
	return f, problems
}

// noRole is the value of the filter that leaves those without any role.
const noRole = "none"

// people answers: who has signed in, and what are they here.
func (w *Pages) people(k page.Call) (page.View, error) {
	say := k.Words
	orders := []string{"-seen", "name"}
	all := k.Get("q") == "" && k.Get("role") == ""
	if !all { // who looks for somebody has found them
		slices.Reverse(orders)
	}
	l := page.ListOf(k, page.PeoplePath, orders, "q", "role")
	f := tenant.PeopleFilter{Text: k.Get("q"), NoRole: k.Get("role") == noRole, BySeen: l.Sort == "seen", Down: l.Down,
		Limit: page.RowsPerPage, Offset: l.Offset()}
	f.NoRoleFirst = all && l.Sort == "seen" && l.Down
	list, total, err := w.Tenants.PeoplePage(k.Ctx, k.Actor, f)
	if err == nil && l.Within(total).Page != l.Page { // beyond the end
		f.Offset = l.Within(total).Offset()
		list, total, err = w.Tenants.PeoplePage(k.Ctx, k.Actor, f)
	}
	if err != nil {
		return page.View{}, err
	}
	m := tenants.PeopleModel{Header: ui.HeaderModel{Title: say.S("tenants.people"), Lead: say.S("tenants.people_lead")},
		List: l.Model(say, say.S("tenants.people"), total)}
	m.Search = m.List.FilterBar(blocks.PeopleSearch(say, page.PeoplePath, k.Get("q")), "")
	without := ui.TabModel{Label: say.S("tenants.without_role"), Current: f.NoRole, Test: "without-role",
		Href: peoplePath(f.Text, noRole)}
	switch {
	case f.NoRole:
		without.Count = total
		m.Search.Hidden = append(m.Search.Hidden, ui.HiddenModel{Name: "role", Value: noRole})
	case all && total <= page.RowsPerPage: // of more it would take a look at everybody
		without.Count = withoutRole(list)
	}
	m.Search.Switch = &ui.TabsModel{Label: say.S("tenants.col_roles"), Items: []ui.TabModel{
		{Label: say.S("tenants.everyone"), Current: !f.NoRole, Test: "everyone",
			Href: peoplePath(f.Text, "")}, without}}
	m.Search.Go = "" // all of them are listed, Enter asks for fewer
	teams := ""
	if identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		teams = page.TenantsPath
	}
	for _, a := range list {
		m.Rows = append(m.Rows, tenants.PersonModel{Name: a.Person.Name, Email: a.Person.Email,
			Href: page.PersonPath(a.Person.ID), Roles: w.roleModels(say, a), Add: teams, Seen: say.Ago(a.Person.SeenAt),
			See: seeAs(k, a), Disabled: a.Person.Disabled})
	}
	return page.View{Title: m.Header.Title, Nav: page.PeoplePath, Body: tenants.People(m)}, nil
}

// peoplePath is the list of people that a text matches, of all or without a role.
func peoplePath(text, role string) string {
	q := url.Values{}
	for key, value := range map[string]string{"q": text, "role": role} {
		if value != "" {
			q.Set(key, value)
		}
	}
	return page.WithQuery(page.PeoplePath, q)
}

// withoutRole is how many have no role.
func withoutRole(list []identity.Actor) (n int) {
	for _, a := range list {
		if len(a.Global)+len(a.Tenants) == 0 {
			n++
		}
	}
	return n
}

// roleModels are the roles of a person by team, then those everywhere.
func (w *Pages) roleModels(say page.Words, a identity.Actor) []tenants.RoleModel {
	words := func(roles []identity.Role) []string {
		list := make([]string, len(roles))
		for i, r := range roles {
			list[i] = page.UpperFirst(say.Say(page.RoleWord(r)))
		}
		return list
	}
	var list []tenants.RoleModel
	for _, t := range a.TenantNames() {
		list = append(list, tenants.RoleModel{Team: w.TeamTitle(t), Href: page.TeamPath(t), Roles: words(a.Tenants[t])})
	}
	if len(a.Global) > 0 {
		list = append(list, tenants.RoleModel{Roles: words(a.Global)})
	}
	return list
}
