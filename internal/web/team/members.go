package team

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
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
	say, manages := k.Words, identity.Can(k.Actor, identity.ChangeMembers, identity.Resource{Tenant: e.Name})
	m := teamview.MembersModel{Tabs: blocks.TeamTabs(k, e.Name, page.TeamPath(e.Name)),
		Errors: page.FormErrors(say, problems),
		Header: ui.HeaderModel{Title: e.Display(), Lead: say.S("team.inside_lead"),
			Crumbs: teamCrumbs(k, e, "")}}
	if e.Disabled {
		m.Notices = append(m.Notices, ui.NoticeModel{Kind: ui.Warning, Title: say.S("team.disabled"),
			Body: say.S("team.disabled_why"), Test: "disabled"})
	}
	for _, member := range members {
		m.Members = append(m.Members, w.memberModel(k, e.Name, member, manages))
	}
	for _, role := range tenant.MemberRoles {
		m.Rights = append(m.Rights, ui.DefModel{Term: page.UpperFirst(say.Say(page.RoleWord(role))),
			Value: say.S("team.may." + string(role)), Test: "may-" + string(role)})
	}
	if len(members) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "team", Title: say.S("team.nobody"), Lines: []string{say.S("team.nobody_why")},
			Level: 3, Test: "empty"}
	}
	if manages {
		if m.Manage, err = w.teamManage(k, e, problems); err != nil {
			return page.View{}, err
		}
	}
	return page.View{Title: e.Display(), Nav: page.TeamPlace(k, e.Name), Body: teamview.Members(m)}, nil
}

func (w *Pages) memberModel(k page.Call, team string, member tenant.Membership, manages bool) teamview.MemberModel {
	say := k.Words
	m := teamview.MemberModel{Person: ui.StackModel{Title: member.Person.Name, Detail: member.Person.Email},
		Role: say.Say(page.RoleWord(member.Role)), From: say.S("team.from_group", "Group", member.Group)}
	if member.Group != "" {
		return m
	}
	m.From, m.Note = say.S("team.from_hand", "By", member.By), barredWords(say, member)
	own := member.Person.ID == k.Actor.Person.ID
	if err := w.Tenants.MayName(k.Actor); manages && err != nil && member.Role == identity.Approver && !own {
		m.Note = strings.TrimSpace(m.Note + " " + say.Text(fault.As(err).Sentence))
		manages = false
	}
	if manages {
		m.Remove = &ui.PostButtonModel{Action: page.TeamPath(team) + "/members/" + string(member.Person.ID) + "/" +
			string(member.Role) + "/remove",
			Button: ui.ButtonModel{Label: say.S("team.remove"), Kind: ui.DangerSecondary, Small: true, Test: "remove"}}
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

func (w *Pages) teamManage(k page.Call, e tenant.Entry, problems []fault.Field) (*teamview.ManageModel, error) {
	say, typed := k.Words, k.Get("q")
	m := &teamview.ManageModel{Search: blocks.PeopleSearch(say, page.TeamPath(e.Name), typed),
		TokenLead: say.S("team.tokens_lead"),
		Defaults:  ui.FormModel{ID: "defaults", Action: page.TeamPath(e.Name) + "/defaults", Test: "defaults-form"},
		Fields:    w.defaultFields(say, e, problems),
		Save:      ui.ButtonModel{Label: say.S("team.defaults_save"), Kind: ui.Primary, Test: "defaults-save"}}
	if err := w.Tenants.MayName(k.Actor); err != nil {
		m.NoApprovers = say.Text(fault.As(err).Sentence)
	}
	found, err := w.Tenants.Search(k.Ctx, k.Actor, e.Name, typed)
	if err != nil {
		return nil, err
	}
	if typed != "" && len(found) == 0 {
		m.NotFound = say.S("team.not_found")
	}
	for _, p := range found {
		id := "role-" + page.Slug(string(p.ID))
		m.Found = append(m.Found, teamview.FoundModel{Person: ui.StackModel{Title: p.Name, Detail: p.Email, Icon: "team"},
			Form: ui.FormModel{Action: page.TeamPath(e.Name) + "/members",
				Hidden: []ui.HiddenModel{{Name: "person", Value: string(p.ID)}}, Test: "found"},
			Role: ui.FieldModel{ID: id, Name: "role", Kind: ui.SelectField, Label: say.S("team.col_role"),
				Value: string(identity.Developer), Options: roleOptions(say, m.NoApprovers == ""), Test: "role"},
			Add: ui.ButtonModel{Label: say.S("team.add_person", "Name", p.Name), Kind: ui.Secondary, Icon: "plus", Test: "add"}})
	}
	tokens, err := w.Tenants.Tokens(k.Ctx, k.Actor, e.Name)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		m.Tokens = append(m.Tokens, heldToken(say, e.Name, t))
	}
	if len(tokens) == 0 {
		m.NoTokens = &ui.EmptyStateModel{Icon: "key", Title: say.S("team.no_tokens"), Level: 3, Test: "no-tokens"}
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
	m := teamview.TokenModel{Name: ui.StackModel{Title: t.Name, Detail: identity.TokenPrefix + t.ID, Icon: "key"},
		Holder: t.Holder.Name, Expires: say.Around(t.ExpiresAt), Used: ui.TimeModel{Words: say.S("account.never")},
		Revoke: ui.PostButtonModel{Action: page.TeamPath(team) + "/tokens/" + t.ID + "/revoke",
			Button: ui.ButtonModel{Label: say.S("account.revoke"), Kind: ui.DangerSecondary, Small: true, Test: "revoke"}}}
	if !t.LastUsedAt.IsZero() {
		m.Used = say.Ago(t.LastUsedAt)
	}
	return m
}

// defaultFields offer what the team may use; nothing chosen leaves it to the portal.
func (w *Pages) defaultFields(say page.Words, e tenant.Entry, problems []fault.Field) []ui.FieldModel {
	none := ui.OptionModel{Label: say.S("team.no_default")}
	sizes, images := []ui.OptionModel{none}, []ui.OptionModel{none}
	for _, s := range w.Site().Catalog.Sizes {
		if s.OfferedTo(e.Name) {
			sizes = append(sizes, ui.OptionModel{Value: s.Name, Label: s.Title})
		}
	}
	for _, i := range w.Site().ImagesFor(e.Name) {
		if i.OfferedTo(e.Name) {
			images = append(images, ui.OptionModel{Value: i.Name, Label: blocks.ImageTitle(say, i)})
		}
	}
	fields := []ui.FieldModel{
		{ID: "size", Name: "size", Kind: ui.SelectField, Label: say.S("team.default_size"), Value: e.Defaults.Size,
			Options: sizes, Test: "default-size"},
		{ID: "image", Name: "image", Kind: ui.SelectField, Label: say.S("team.default_image"), Value: e.Defaults.Image,
			Options: images, Test: "default-image"},
		{ID: "lease", Name: "lease", Label: say.S("team.default_lease"), Hint: say.S("team.default_lease_hint"),
			Value: e.Defaults.Lease, Short: true, MaxLength: 32, Autocomplete: "off", Test: "default-lease"}}
	for i := range fields {
		for _, p := range problems {
			if p.Name == fields[i].Name {
				fields[i].Error = say.Text(p.Reason)
			}
		}
	}
	return fields
}

// teamChanged answers a change of a team: back to its page, or the page with what is wrong.
func (w *Pages) teamChanged(c echo.Context, k page.Call, flash string, err error) error {
	name := c.Param("name")
	if err == nil {
		if flash == "member-removed" && !k.Actor.SeesAll() && !w.actorStays(k, name) {
			return w.Done(c, flash, "/team")
		}
		return w.Done(c, flash, page.TeamPath(name))
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
	return w.teamChanged(c, k, "member-added", err)
}

func (w *Pages) memberRemove(c echo.Context) error {
	k := w.CallOf(c)
	err := w.Tenants.RemoveMember(k.Ctx, k.Actor, c.Param("name"), identity.PersonID(c.Param("person")),
		identity.Role(c.Param("role")))
	return w.teamChanged(c, k, "member-removed", err)
}

func (w *Pages) teamDefaults(c echo.Context) error {
	k := w.CallOf(c)
	_, err := w.Tenants.SaveDefaults(k.Ctx, k.Actor, c.Param("name"), tenant.Defaults{Size: c.FormValue("size"),
		Image: c.FormValue("image"), Lease: c.FormValue("lease")})
	return w.teamChanged(c, k, "tenant-saved", err)
}

func (w *Pages) memberTokenRevoke(c echo.Context) error {
	k := w.CallOf(c)
	err := w.Tenants.RevokeToken(k.Ctx, k.Actor, c.Param("name"), c.Param("id"))
	return w.teamChanged(c, k, "token-revoked", err)
}
