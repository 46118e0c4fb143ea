package admin

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// seeAs lets an administrator see the portal as somebody who is none.
func seeAs(k page.Call, seen identity.Actor) *ui.PostButtonModel {
	if !identity.Can(k.Actor, identity.Impersonate, identity.Resource{}) || seen.Is(identity.Admin) ||
		seen.Person.Disabled ||
		seen.Person.ID == k.Actor.Person.ID {
		return nil
	}
	return &ui.PostButtonModel{Action: page.PeoplePath + "/" + string(seen.Person.ID) + "/see",
		Button: ui.ButtonModel{Label: k.Words.S("tenants.see_as"), Kind: ui.Secondary, Small: true, Icon: "eye",
			Test: "see-as"}}
}

// personOf answers, for administrators and auditors: who is this, how can they get in, and what do they hold.
func (w *Pages) personOf(k page.Call) (page.View, error) { return w.personView(k, "", nil) }

// personView shows the page; note is what was typed and problems what is wrong with it.
func (w *Pages) personView(k page.Call, note string, problems []fault.Field) (page.View, error) {
	say, id := k.Words, identity.PersonID(k.Get("id"))
	p, err := w.Accounts.Person(k.Ctx, k.Actor, id)
	if err == nil && !identity.Can(k.Actor, identity.ReadPeople, identity.Resource{}) {
		err = fault.New(fault.NotFound, i18n.T("store.no_person"))
	}
	if err != nil {
		return page.View{}, err
	}
	m := account.PersonModel{Errors: page.FormErrors(say, problems), Header: ui.HeaderModel{Title: p.Person.Name,
		Lead: p.Person.Email, State: disabledState(say, p.Person),
		Crumbs: []ui.CrumbModel{{Label: say.S("tenants.people"), Href: page.PeoplePath}, {Label: p.Person.Name}}},
		Person: append(blocks.PersonItems(say, p), standingFacts(say, p.Person)...), Disabled: disabledNotice(say, p.Person)}
	manages := identity.Can(k.Actor, identity.ManagePeople, identity.Resource{})
	if manages {
		w.personSwitch(k, &m, p.Person, note, problems)
	}
	if err := w.personCredentials(k, &m, p.Person, manages); err != nil {
		return page.View{}, err
	}
	if err := w.personHoldings(k, &m, p.Person, manages); err != nil {
		return page.View{}, err
	}
	return page.View{Title: p.Person.Name, Nav: page.PeoplePath, Body: account.Person(m)}, nil
}

func disabledState(say page.Words, p identity.Person) *ui.StateModel {
	if !p.Disabled {
		return nil
	}
	return &ui.StateModel{Kind: ui.Off, Word: say.S("tenants.shut_out"), Test: "state"}
}

// disabledNotice says who disabled somebody, since when and why.
func disabledNotice(say page.Words, p identity.Person) *ui.NoticeModel {
	n := &ui.NoticeModel{Kind: ui.Warning, Test: "disabled"}
	switch {
	case !p.DisabledAt.IsZero():
		n.Title = say.S("accounts.disabled_by", "Name", p.DisabledBy, "At", say.At(p.DisabledAt).Exact)
		n.Body = p.DisabledNote
	case p.Disabled:
		n.Title, n.Body = say.S("accounts.disabled_provider"), say.S("accounts.disabled_provider_why")
	default:
		return nil
	}
	return n
}

// standingFacts say when the provider told of somebody last, and until when their tokens count by it.
func standingFacts(say page.Words, p identity.Person) []ui.DefModel {
	told := ui.DefModel{Term: say.S("accounts.told"), About: say.S("accounts.told_about"),
		Component: ui.Time(say.Ago(p.ConfirmedAt)), Test: "told"}
	if p.ConfirmedAt.IsZero() {
		told.Component, told.Value = nil, say.S("accounts.not_known")
	}
	return []ui.DefModel{{Term: say.S("tenants.col_seen"), Component: ui.Time(say.Ago(p.SeenAt))}, told}
}

// personSwitch is the way to disable, or to enable again.
func (w *Pages) personSwitch(k page.Call, m *account.PersonModel, p identity.Person, note string,
	problems []fault.Field) {
	say := k.Words
	switch {
	case p.ID == k.Actor.Person.ID:
		return
	case !p.DisabledAt.IsZero():
		m.Disabled.Actions = []ui.ActionModel{{Post: &ui.PostButtonModel{Action: page.PersonPath(p.ID) + "/enable",
			Button: ui.ButtonModel{Label: say.S("accounts.enable"), Icon: "undo", Small: true, Test: "enable"}}}}
	default:
		m.Disable = &account.DisableModel{Form: ui.FormModel{ID: "disable", Action: page.PersonPath(p.ID) + "/disable",
			Test: "disable-form"},
			Note: ui.FieldModel{ID: "note", Name: "note", Label: say.S("accounts.note"), Hint: say.S("accounts.note_hint"),
				Value: note, Error: page.WrongIn(say, problems, "note"), MaxLength: 300, Autocomplete: "off", Test: "note"},
			Go: ui.ButtonModel{Label: say.S("accounts.disable"), Kind: ui.DangerPrimary, Icon: "lock", Test: "disable"}}
	}
}

// personCredentials are the sign-ins and tokens, with what ends them.
func (w *Pages) personCredentials(k page.Call, m *account.PersonModel, p identity.Person, manages bool) error {
	say, path := k.Words, page.PersonPath(p.ID)
	sessions, err := w.Accounts.Sessions(k.Ctx, k.Actor, p.ID)
	if err != nil {
		return err
	}
	tokens, err := w.Accounts.Tokens(k.Ctx, k.Actor, p.ID)
	if err != nil {
		return err
	}
	m.Sessions = account.SessionsModel{Lead: say.S("accounts.sessions_lead"),
		Rows: blocks.SessionRows(k, sessions, path, manages)}
	if len(sessions) == 0 {
		m.Sessions.Empty = blocks.NoSessions(say)
	} else if manages {
		m.Sessions.EndAll = &ui.PostButtonModel{Action: path + "/sessions/end", Button: ui.ButtonModel{
			Label: say.S("accounts.end_all"), Kind: ui.DangerSecondary, Test: "sessions-end"}}
	}
	for _, t := range tokens {
		row := blocks.TokenModel(say, t)
		row.Revoke = ui.ButtonModel{}
		if p.Disabled || !w.Accounts.Limits.Standing(p, say.Now) {
			row.State = ui.StateModel{Kind: ui.Off, Word: say.S("accounts.refused"), Test: "state"}
		}
		if manages {
			row.Post = &ui.PostButtonModel{Action: path + "/tokens/" + t.ID + "/revoke", Button: ui.ButtonModel{
				Label: say.S("account.revoke"), Kind: ui.DangerSecondary, Small: true, Test: "token-revoke"}}
		}
		m.Tokens = append(m.Tokens, row)
	}
	if len(tokens) == 0 {
		m.NoTokens = &ui.EmptyStateModel{Icon: "key", Title: say.S("account.no_tokens"), Level: 3, Test: "no-tokens"}
	}
	return nil
}

// personHoldings are the things, team by team, with the form that hands them over.
func (w *Pages) personHoldings(k page.Call, m *account.PersonModel, p identity.Person, manages bool) error {
	say := k.Words
	held, err := w.Accounts.Holdings(k.Ctx, k.Actor, p.ID)
	if err != nil {
		return err
	}
	for _, o := range held.Owns {
		line := say.S("accounts.owns", "Team", w.TeamTitle(o.Tenant))
		if o.Only {
			line = say.S("accounts.owns_only", "Team", w.TeamTitle(o.Tenant))
		}
		m.Owns = append(m.Owns, account.OwnedModel{Words: line, Only: o.Only, Members: ui.LinkButtonModel{
			Label: say.S("team.members"), Href: page.TeamPath(o.Tenant), Kind: ui.Secondary, Small: true, Test: "members"}})
	}
	for _, name := range held.Tenants() {
		team := account.HeldModel{Title: w.TeamTitle(name), ID: "held-" + page.Slug(name),
			Rows: w.heldRows(say, held.In(name))}
		if manages {
			if team.Hand, err = w.handForm(k, p, name); err != nil {
				return err
			}
		}
		m.Held = append(m.Held, team)
	}
	if len(m.Held) == 0 {
		m.NothingHeld = &ui.EmptyStateModel{Icon: "gpu", Title: say.S("accounts.holds_nothing"), Level: 3,
			Test: "holds-nothing"}
	}
	return nil
}

func (w *Pages) heldRows(say page.Words, held accounts.Holdings) []account.HeldRowModel {
	var rows []account.HeldRowModel
	add := func(icon, title, href, kind, detail string) {
		rows = append(rows, account.HeldRowModel{Name: ui.StackModel{Title: title, Href: href, Icon: icon},
			Kind: say.S("accounts.kind." + kind), Detail: detail})
	}
	for _, item := range held.Workloads {
		add("gpu", item.Name, page.WorkloadPath(item.ID), "workload", item.Size.Title+" · "+
			say.S("state."+string(item.State)))
	}
	for _, v := range held.Volumes {
		add("storage", v.Name, "/storage?scope=all", "volume", say.GiB(float64(v.GiB)))
	}
	for _, r := range held.Requests {
		add("requests", blocks.RequestWhat(say, r), page.RequestPath(r.ID), "request", r.Spec.Size.Title)
	}
	return rows
}

// handForm chooses who gets what somebody holds in a team.
func (w *Pages) handForm(k page.Call, p identity.Person, team string) (*account.HandModel, error) {
	say := k.Words
	people, err := w.Accounts.Receivers(k.Ctx, k.Actor, p.ID, team)
	if err != nil {
		return nil, err
	}
	if len(people) == 0 {
		return &account.HandModel{Nobody: say.S("accounts.no_receiver")}, nil
	}
	m := &account.HandModel{Form: ui.FormModel{ID: "hand-" + page.Slug(team), Action: page.PersonPath(p.ID) + "/hand-over",
		Hidden: []ui.HiddenModel{{Name: "tenant", Value: team}}, Test: "hand-over"},
		To: ui.FieldModel{ID: "to-" + page.Slug(team), Name: "to", Kind: ui.SelectField, Label: say.S("accounts.receiver"),
			Test: "receiver"},
		Go: ui.ButtonModel{Label: say.S("accounts.hand_over"), Kind: ui.Secondary, Icon: "arrow-right", Test: "hand-over-go"}}
	for _, to := range people {
		m.To.Options = append(m.To.Options, ui.OptionModel{Value: string(to.ID), Label: to.Name + " · " + to.Email})
	}
	return m, nil
}

// personChanged answers a change on the page of a person, or brings the page back with what is wrong.
func (w *Pages) personChanged(c echo.Context, k page.Call, flash string, err error) error {
	if err == nil {
		return w.Done(c, flash, page.PersonPath(identity.PersonID(c.Param("id"))))
	}
	if kind := fault.KindOf(err); kind != fault.Invalid && kind != fault.Conflict {
		return err
	}
	v, viewErr := w.personView(k, strings.TrimSpace(c.FormValue("note")), page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.personPage().Name}, v, page.StatusOf(err))
}

func (w *Pages) personDisable(c echo.Context) error {
	k := w.CallOf(c)
	return w.personChanged(c, k, "person-disabled", w.Accounts.Disable(k.Ctx, k.Actor,
		identity.PersonID(c.Param("id")), c.FormValue("note")))
}

func (w *Pages) personEnable(c echo.Context) error {
	k := w.CallOf(c)
	return w.personChanged(c, k, "person-enabled", w.Accounts.Enable(k.Ctx, k.Actor, identity.PersonID(c.Param("id"))))
}

func (w *Pages) personSessionsEnd(c echo.Context) error {
	k := w.CallOf(c)
	return w.personChanged(c, k, "sessions-ended", w.Accounts.EndSessions(k.Ctx, k.Actor,
		identity.PersonID(c.Param("id")), false))
}

func (w *Pages) personSessionEnd(c echo.Context) error {
	k := w.CallOf(c)
	return w.personChanged(c, k, "sessions-ended", w.Accounts.EndSession(k.Ctx, k.Actor,
		identity.PersonID(c.Param("id")), c.Param("session")))
}

func (w *Pages) personTokenRevoke(c echo.Context) error {
	k := w.CallOf(c)
	return w.personChanged(c, k, "token-revoked", w.Accounts.RevokeToken(k.Ctx, k.Actor,
		identity.PersonID(c.Param("id")), c.Param("token")))
}

func (w *Pages) personHandOver(c echo.Context) error {
	k := w.CallOf(c)
	done, err := w.Accounts.HandOver(k.Ctx, k.Actor, identity.PersonID(c.Param("id")), c.FormValue("tenant"),
		identity.PersonID(c.FormValue("to")))
	flash := "handed-over"
	if len(done.Left) > 0 {
		flash = "handed-over-some"
	}
	return w.personChanged(c, k, flash, err)
}
