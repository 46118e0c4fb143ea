package team

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/account"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// teamMembers answers: who is in, and why; and for owners: what can I change.
func (w *Pages) teamMembers(k page.Call) (page.View, error) {
	e, err := w.Tenants.Visible(k.Actor, k.Get("name"))
	if err != nil {
		return page.View{}, err
	}
	return w.teamMembersView(k, e, nil)
}

func (w *Pages) teamMembersView(k page.Call, e tenant.Entry, problems []fault.Field) (page.View, error) {
	members, err := w.Tenants.Members(k.Ctx, k.Actor, e.Name)
	if err != nil {
		return page.View{}, err
	}
	running, err := w.runningBy(k, e.Name)
	if err != nil {
		return page.View{}, err
	}
	say, manages := k.Words, identity.Can(k.Actor, identity.ChangeMembers, identity.Resource{Tenant: e.Name})
	m := teamview.MembersModel{Tabs: blocks.TeamTabs(k, e.Name, page.TeamPath(e.Name)),
		Errors: page.FormErrors(say, problems), Disabled: e.Disabled,
		Header: ui.HeaderModel{Title: say.S("team.heading", "Team", e.Display()),
			Crumbs: teamCrumbs(k, e, "")}}
	people, list := page.RowsOf(say, page.ListIn(k, page.TeamPath(e.Name), "members", memberOrders, "q"),
		say.S("team.members"), byPerson(members), memberKeys(running, manages))
	m.List = list
	for _, roles := range people {
		row := teamview.MemberModel{Name: roles[0].Person.Name, Email: roles[0].Person.Email,
			Running: say.Number(float64(running[roles[0].Person.ID]))}
		if seen := roles[0].Person.SeenAt; manages && !seen.IsZero() {
			ago := say.Ago(seen)
			row.Seen = &ago
		}
		for _, member := range roles {
			row.Roles = append(row.Roles, w.memberRole(k, e.Name, member, manages))
		}
		m.Members = append(m.Members, row)
	}
	for _, role := range tenant.MemberRoles {
		m.Roles = append(m.Roles, teamview.RoleChoiceModel{ID: string(role),
			Word: page.UpperFirst(say.Say(page.RoleWord(role)))})
	}
	if manages {
		if m.Manage, err = w.teamManage(k, e); err != nil {
			return page.View{}, err
		}
	}
	return page.View{Title: e.Display(), Nav: page.TeamPlace(k, e.Name), Body: teamview.Members(m)}, nil
}

// memberOrders and tokenOrders are what the lists of a team can be sorted by.
var (
	memberOrders = []string{"name", "role", "from", "-running", "-seen"}
	tokenOrders  = []string{"name", "holder", "expires", "-used"}
)

// memberKeys sort people, by the first of their roles where one has several; when somebody was seen is known to those
// who manage the team.
func memberKeys(running map[identity.PersonID]int, manages bool) map[string]page.Key[[]tenant.Membership] {
	return map[string]page.Key[[]tenant.Membership]{
		"name":    page.ByText(func(m []tenant.Membership) string { return m[0].Person.Name }),
		"role":    page.ByNumber(func(m []tenant.Membership) int { return slices.Index(tenant.MemberRoles, m[0].Role) }),
		"from":    page.ByText(func(m []tenant.Membership) string { return page.OrElse(m[0].Group, m[0].By) }),
		"running": page.ByNumber(func(m []tenant.Membership) int { return running[m[0].Person.ID] }),
		"seen": page.ByKnown(func(m []tenant.Membership) (int64, bool) {
			return m[0].Person.SeenAt.UnixMicro(), manages && !m[0].Person.SeenAt.IsZero()
		}),
	}
}

// runningBy is how many workloads of a team run, by owner.
func (w *Pages) runningBy(k page.Call, team string) (map[identity.PersonID]int, error) {
	living, err := w.Workloads.Living(k.Ctx, k.Actor, func(item *workload.Workload) bool {
		return item.Tenant == team && item.State == workload.Running
	})
	counts := map[identity.PersonID]int{}
	for _, item := range living {
		counts[item.Owner]++
	}
	return counts, err
}

// byPerson are memberships by who has them, in the order of the first of each; a person may have several roles, and
// one role from several groups.
func byPerson(members []tenant.Membership) [][]tenant.Membership {
	at := map[identity.PersonID]int{}
	var people [][]tenant.Membership
	for _, m := range members {
		i, known := at[m.Person.ID]
		if !known {
			i = len(people)
			at[m.Person.ID], people = i, append(people, nil)
		}
		people[i] = append(people[i], m)
	}
	return people
}

var tokenKeys = map[string]page.Key[tenant.HeldToken]{
	"name":    page.ByText(func(t tenant.HeldToken) string { return t.Name }),
	"holder":  page.ByText(func(t tenant.HeldToken) string { return t.Holder.Name }),
	"expires": page.ByNumber(func(t tenant.HeldToken) int64 { return t.ExpiresAt.UnixMicro() }),
	"used": page.ByKnown(func(t tenant.HeldToken) (int64, bool) {
		return t.LastUsedAt.UnixMicro(), !t.LastUsedAt.IsZero()
	}),
}

func (w *Pages) memberRole(k page.Call, team string, member tenant.Membership, manages bool) teamview.MemberRoleModel {
	say := k.Words
	m := teamview.MemberRoleModel{Role: say.Say(page.RoleWord(member.Role)), Group: member.Group, By: member.By}
	if member.Group != "" {
		return m
	}
	m.Note = barredWords(say, member)
	own := member.Person.ID == k.Actor.Person.ID
	if err := w.Tenants.MayName(k.Actor); manages && err != nil && member.Role == identity.Approver && !own {
		m.Note = strings.TrimSpace(m.Note + " " + say.Text(fault.As(err).Sentence))
		manages = false
	}
	if manages {
		m.Remove = page.TeamPath(team) + "/members/" + string(member.Person.ID) + "/" + string(member.Role) + "/remove"
	}
	return m
}

// barredWords say whose requests somebody cannot decide by a role, for want of a second person.
func barredWords(say page.Words, member tenant.Membership) string {
	var names []string
	for _, p := range member.Barred {
		if p.ID == member.Person.ID {
			return say.S("team.barred_self")
		}
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return say.S("team.barred", "Names", strings.Join(names, ", "))
}

func (w *Pages) teamManage(k page.Call, e tenant.Entry) (*teamview.ManageModel, error) {
	say, typed := k.Words, k.Get("q")
	m := &teamview.ManageModel{Search: blocks.PeopleSearch(say, page.TeamPath(e.Name), typed),
		Add: page.TeamPath(e.Name) + "/members", Role: string(identity.Developer)}
	if err := w.Tenants.MayName(k.Actor); err != nil {
		m.NoApprovers = say.Text(fault.As(err).Sentence)
	}
	m.Roles = roleOptions(say, m.NoApprovers == "")
	found, err := w.Tenants.Search(k.Ctx, k.Actor, e.Name, typed)
	if err != nil {
		return nil, err
	}
	m.NotFound = typed != "" && len(found) == 0
	for _, p := range found {
		m.Found = append(m.Found, teamview.FoundModel{ID: string(p.ID), Slug: page.Slug(string(p.ID)), Name: p.Name,
			Email: p.Email})
	}
	tokens, err := w.Tenants.Tokens(k.Ctx, k.Actor, e.Name)
	if err != nil {
		return nil, err
	}
	tokens, m.List = page.RowsOf(say, page.ListIn(k, page.TeamPath(e.Name), "tokens", tokenOrders, "q"),
		say.S("team.tokens"), tokens, tokenKeys)
	for _, t := range tokens {
		m.Tokens = append(m.Tokens, heldToken(say, e.Name, t))
	}
	return m, nil
}

func roleOptions(say page.Words, approver bool) []ui.OptionModel {
	var options []ui.OptionModel
	for _, role := range tenant.MemberRoles {
		if role == identity.Approver && !approver {
			continue
		}
		options = append(options, ui.OptionModel{Value: string(role), Label: page.UpperFirst(say.Say(page.RoleWord(role)))})
	}
	return options
}

func heldToken(say page.Words, team string, t tenant.HeldToken) teamview.TokenModel {
	m := account.TokenModel{Name: t.Name, ID: identity.TokenPrefix + t.ID,
		Expires: say.Around(t.ExpiresAt), Used: ui.TimeModel{Words: say.S("account.never")},
		Revoke: page.TeamPath(team) + "/tokens/" + t.ID + "/revoke"}
	if !t.LastUsedAt.IsZero() {
		m.Used = say.Ago(t.LastUsedAt)
	}
	return teamview.TokenModel{Token: m, Holder: t.Holder.Name}
}

// teamChanged answers a change of a team: back to its page, or the page with what is wrong.
func (w *Pages) teamChanged(c echo.Context, k page.Call, flash string, err error, of ...string) error {
	name := c.Param("name")
	if err == nil {
		if flash == "member-removed" && !k.Actor.SeesAll() && !w.actorStays(k, name) {
			return w.Done(c, flash, "/team")
		}
		return w.Done(c, flash, page.TeamPath(name), of...)
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	e, viewErr := w.Tenants.Visible(k.Actor, name)
	if viewErr != nil {
		return viewErr
	}
	v, viewErr := w.teamMembersView(k, e, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.teamMembersPage().Name}, v, page.StatusOf(err))
}

// actorStays: somebody who has just removed their own last role cannot see the team any more.
func (w *Pages) actorStays(k page.Call, name string) bool {
	return w.Site().Directory.Actor(k.Actor.Person, k.Actor.Via).Member(name)
}

func (w *Pages) memberAdd(c echo.Context) error {
	k := w.CallOf(c)
	err := w.Tenants.AddMember(k.Ctx, k.Actor, c.Param("name"), identity.PersonID(c.FormValue("person")),
		identity.Role(c.FormValue("role")))
	return w.teamChanged(c, k, "member-added", err, c.Param("name"), c.FormValue("person"), c.FormValue("role"))
}

func (w *Pages) memberRemove(c echo.Context) error {
	k := w.CallOf(c)
	err := w.Tenants.RemoveMember(k.Ctx, k.Actor, c.Param("name"), identity.PersonID(c.Param("person")),
		identity.Role(c.Param("role")))
	return w.teamChanged(c, k, "member-removed", err, c.Param("name"), c.Param("person"), c.Param("role"))
}

func (w *Pages) memberTokenRevoke(c echo.Context) error {
	k := w.CallOf(c)
	err := w.Tenants.RevokeToken(k.Ctx, k.Actor, c.Param("name"), c.Param("id"))
	return w.teamChanged(c, k, "token-revoked", err)
}
