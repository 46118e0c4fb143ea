package admin

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/rules"
	"github.com/gpu-portal/gpu-portal/views/tenants"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func tenantPath(name string) string { return page.TenantsPath + "/edit?name=" + url.QueryEscape(name) }

// tenantsAdmin answers: which teams are there, and where do they come from.
func (w *Pages) tenantsAdmin(k page.Call) (page.View, error) {
	list, err := w.Tenants.List(k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := tenants.PageModel{Header: ui.HeaderModel{Title: say.S("tenants.title"), Lead: say.S("tenants.lead")}}
	if identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		m.Header.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("tenants.create"),
			Href: page.TenantsPath +
				"/edit", Icon: "plus", Kind: ui.Primary, Test: "create"}}}
	}
	for _, e := range list {
		m.Rows = append(m.Rows, tenantRow(say, e))
	}
	if len(list) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "team", Title: say.S("tenants.empty"),
			Lines: []string{say.S("tenants.empty_why")}, Test: "empty"}
	}
	return page.View{Title: m.Header.Title, Nav: page.TenantsPath, Wide: true, Body: tenants.Page(m),
		Parts: []page.Part{{ID: "tenants", Draw: func(page.Words) templ.Component { return tenants.Page(m) }}}}, nil
}

func tenantRow(say page.Words, e tenant.Entry) tenants.RowModel {
	r := tenants.RowModel{Name: ui.StackModel{Title: e.Display(), Href: tenantPath(e.Name), Detail: e.Name},
		From: tenantFrom(say, e), Space: e.NamespaceName(),
		State: ui.StateModel{Kind: ui.OK, Word: say.S("tenants.on"), Test: "state"},
		Quota: strings.ReplaceAll(quotaText(e.Quota), "\n", " · "),
		Members: ui.LinkButtonModel{Label: say.S("team.members"), Href: page.TeamPath(e.Name), Kind: ui.Secondary,
			Small: true,
			Test:  "members"}}
	if e.Disabled {
		r.State = ui.StateModel{Kind: ui.Warning, Word: say.S("team.disabled"), Test: "state"}
	}
	return r
}

func tenantFrom(say page.Words, e tenant.Entry) string {
	switch {
	case e.Configured == nil:
		return say.S("tenants.by_hand")
	case e.Newest == nil:
		return say.S("tenants.from_config")
	}
	return say.S("tenants.from_both")
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
	quota  string
	groups map[identity.Role]string
}

func formOf(e tenant.Entry) tenantForm {
	f := tenantForm{Draft: tenant.Draft{Name: e.Name, Title: e.Title, Namespace: e.NamespaceName(), Disabled: e.Disabled,
		Base: e.Version()}, quota: quotaText(e.Quota), groups: map[identity.Role]string{}}
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
	m := tenants.EditModel{Form: ui.FormModel{ID: "tenant-form", Action: page.TenantsPath + "/edit", Test: "tenant-form"},
		Errors: page.FormErrors(say, problems), Fields: tenantFields(say, f, problems),
		Save: ui.ButtonModel{Label: say.S("tenants.save"), Kind: ui.Primary, Test: "save"}}
	if !f.New {
		e, err := w.Tenants.Entry(k.Actor, f.Name)
		if err != nil {
			return page.View{}, err
		}
		title = e.Display()
		m.Form.Hidden = []ui.HiddenModel{{Name: "name", Value: f.Name}, {Name: "base", Value: strconv.FormatInt(f.Base, 10)}}
		m.Notices, m.Compared = tenantNotices(say, e), compared
		if identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
			m.Check = &ui.ButtonModel{Label: say.S("tenants.check"), Kind: ui.Secondary, FormAction: page.TenantsPath + "/check",
				Test: "check"}
		}
		if err := w.tenantHistory(k, &m, f.Name); err != nil {
			return page.View{}, err
		}
	}
	if !identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		m.Save.Disabled, m.Save.Why = true, say.S("tenant.admins_only")
	}
	m.Header = ui.HeaderModel{Title: title, Lead: say.S("tenants.edit_lead"),
		Crumbs: []ui.CrumbModel{{Label: say.S("tenants.title"), Href: page.TenantsPath}, {Label: title}}}
	return page.View{Title: title, Nav: page.TenantsPath, Body: tenants.Edit(m)}, nil
}

func tenantNotices(say page.Words, e tenant.Entry) []ui.NoticeModel {
	var list []ui.NoticeModel
	if e.Configured != nil {
		list = append(list, ui.NoticeModel{Kind: ui.Info, Title: say.S("tenants.over_config"),
			Body: say.S("tenants.over_config_body"), Test: "over-config"})
	}
	if e.Disabled {
		list = append(list, ui.NoticeModel{Kind: ui.Warning, Title: say.S("team.disabled"), Body: say.S("team.disabled_why"),
			Test: "disabled"})
	}
	return list
}

func tenantFields(say page.Words, f tenantForm, problems []fault.Field) []ui.FieldModel {
	wrong := func(name string) string {
		for _, p := range problems {
			if p.Name == name {
				return say.Text(p.Reason)
			}
		}
		return ""
	}
	fields := []ui.FieldModel{{ID: "title", Name: "title", Label: say.S("tenants.field_title"), Value: f.Title,
		Error: wrong("title"), MaxLength: 80, Autocomplete: "off", Test: "title"}}
	if f.New {
		fields = append([]ui.FieldModel{{ID: "name", Name: "name", Label: say.S("team.name"),
			Hint: say.S("tenants.name_hint"), Value: f.Name, Error: wrong("name"), Required: true, MaxLength: 50,
			Autocomplete: "off", Mono: true, Test: "name"}},
			append(fields, ui.FieldModel{ID: "namespace", Name: "namespace", Label: say.S("workload.namespace"),
				Hint: say.S("tenants.namespace_hint"), Value: f.Namespace, Error: wrong("namespace"), MaxLength: 63,
				Autocomplete: "off", Mono: true, Test: "namespace"})...)
	}
	for _, role := range []identity.Role{identity.Owner, identity.Developer, identity.Approver} {
		id := "groups." + string(role)
		fields = append(fields, ui.FieldModel{ID: id, Name: id, Kind: ui.TextareaField, Rows: 3, Mono: true,
			Label: say.S("tenants.field_groups", "Role", page.RoleWord(role)), Hint: say.S("tenants.groups_hint"),
			Value: f.groups[role], Error: wrong(id), Test: "groups-" + string(role)})
	}
	return append(fields,
		ui.FieldModel{ID: "quota", Name: "quota", Kind: ui.TextareaField, Rows: 6, Mono: true,
			Label: say.S("tenants.field_quota"), Hint: say.S("tenants.quota_hint"), Value: f.quota, Error: wrong("quota"),
			Test: "quota"},
		ui.FieldModel{ID: "disabled", Name: "disabled", Kind: ui.CheckboxField, Label: say.S("tenants.field_disabled"),
			Hint: say.S("team.disabled_why"), Checked: f.Disabled, Test: "disabled"},
		ui.FieldModel{ID: "note", Name: "note", Label: say.S("rules.note"), Value: f.Note, Error: wrong("note"),
			MaxLength: 300, Autocomplete: "off", Test: "note"})
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
		m.More.NextURL = tenantPath(name) + "&before=" + strconv.FormatInt(list[len(list)-1].Version, 10)
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
			add(say.S("tenants.field_groups", "Role", page.RoleWord(role)), strings.Join(groups, ", "))
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
	err := fault.InvalidFields(problems)
	if err == nil || !identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		_, err = w.Tenants.Save(k.Ctx, k.Actor, f.Draft)
	}
	switch {
	case err == nil:
		return w.Done(c, "tenant-saved", tenantPath(strings.TrimSpace(f.Name)))
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.Conflict):
		v, viewErr := w.tenantView(k, f, page.ProblemsOf(err))
		if viewErr != nil {
			return viewErr
		}
		return w.Reply(c, k, page.Page{Name: w.tenantEditPage().Name}, v, page.StatusOf(err))
	}
	return err
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
		m := quotaComparedModel(k.Words, q)
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

func quotaComparedModel(say page.Words, q request.QuotaComparison) rules.ComparedModel {
	over := 0
	for _, o := range q.Excesses {
		over += o.Holds - o.Limit
	}
	m := rules.ComparedModel{Notice: ui.NoticeModel{Kind: ui.OK, Title: say.S("tenants.differ", "Differ",
		len(q.Refused)+len(q.Allowed), "Count", q.Seen), Body: say.S("tenants.differ_body"), Test: "differ"},
		Running: ui.NoticeModel{Kind: ui.OK, Title: say.S("tenants.over", "Over", over, "Count", q.Running),
			Test: "affected"}}
	if len(q.Refused)+len(q.Allowed) > 0 {
		m.Notice.Kind = ui.Info
	}
	if q.Capped {
		m.Notice.Items = append(m.Notice.Items, say.S("rules.capped", "Count", q.Seen))
	}
	inside := ui.StateModel{Kind: ui.OK, Word: say.S("tenants.inside_quota")}
	outside := ui.StateModel{Kind: ui.Danger, Word: say.S("tenants.over_quota")}
	add := func(list []rules.DifferenceModel, compared []request.Compared,
		was, now ui.StateModel) []rules.DifferenceModel {
		for _, r := range compared[:max(0, min(len(compared), mostShown-len(list)))] {
			list = append(list, rules.DifferenceModel{Name: comparedName(say, r), Was: was, Now: now})
		}
		return list
	}
	m.Rows = add(add(nil, q.Refused, inside, outside), q.Allowed, outside, inside)
	if all := len(q.Refused) + len(q.Allowed); all > len(m.Rows) {
		m.Shown = say.S("rules.shown", "Shown", len(m.Rows), "Count", all)
	}
	for _, o := range q.Excesses {
		m.Running.Kind, m.Running.Body = ui.Warning, say.S("tenants.over_body")
		m.Running.Items = append(m.Running.Items, say.S("tenants.over_size", "Size", o.Size, "Holds", o.Holds, "Limit",
			o.Limit))
		m.Affected = add(m.Affected, o.Started, inside, outside)
	}
	return m
}

func readTenantForm(c echo.Context) (tenantForm, []fault.Field) {
	base := c.FormValue("base")
	f := tenantForm{quota: c.FormValue("quota"), groups: map[identity.Role]string{}}
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
	quota, problem := tenant.ParseQuota(f.quota)
	if problem != nil {
		return f, []fault.Field{*problem}
	}
	f.Quota = quota
	return f, nil
}

// people answers: who has signed in, and what are they here.
func (w *Pages) people(k page.Call) (page.View, error) {
	say := k.Words
	list, err := w.Tenants.People(k.Ctx, k.Actor, k.Get("q"))
	if err != nil {
		return page.View{}, err
	}
	m := tenants.PeopleModel{Header: ui.HeaderModel{Title: say.S("tenants.people"), Lead: say.S("tenants.people_lead")},
		Search: blocks.PeopleSearch(say, page.PeoplePath, k.Get("q"))}
	for _, a := range list {
		m.Rows = append(m.Rows, tenants.PersonModel{Person: ui.StackModel{Title: a.Person.Name, Detail: a.Person.Email,
			Href: page.PersonPath(a.Person.ID)}, Roles: blocks.RoleList(say, a), Seen: say.Ago(a.Person.SeenAt),
			See:   seeAs(k, a),
			State: disabledState(say, a.Person)})
	}
	if len(list) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "team", Title: say.S("tenants.nobody"),
			Lines: []string{say.S("tenants.nobody_why")}, Test: "empty"}
	}
	return page.View{Title: m.Header.Title, Nav: page.PeoplePath, Body: tenants.People(m)}, nil
}
