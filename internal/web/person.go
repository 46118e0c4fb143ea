package web

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func personPath(id identity.PersonID) string { return peoplePath + "/" + string(id) }

// personOf answers, for administrators and auditors: who is this, how can they get in, and what do they hold.
func (w *Web) personOf(k call) (view, error) { return w.personView(k, "", nil) }

// personView shows the page; note is what was typed and problems what is wrong with it.
func (w *Web) personView(k call, note string, problems []fault.Field) (view, error) {
	say, id := k.words, identity.PersonID(k.get("id"))
	p, err := w.Accounts.Person(k.ctx, k.actor, id)
	if err == nil && !identity.Can(k.actor, identity.ReadPeople, identity.Resource{}) {
		err = fault.New(fault.NotFound, i18n.T("store.no_person"))
	}
	if err != nil {
		return view{}, err
	}
	m := account.PersonModel{Errors: formErrors(say, problems), Header: ui.HeaderModel{Title: p.Person.Name,
		Lead: p.Person.Email, State: disabledState(say, p.Person),
		Crumbs: []ui.CrumbModel{{Label: say.S("tenants.people"), Href: peoplePath}, {Label: p.Person.Name}}},
		Person: append(personItems(say, p), standingFacts(say, p.Person)...), Disabled: disabledNotice(say, p.Person)}
	manages := identity.Can(k.actor, identity.ManagePeople, identity.Resource{})
	if manages {
		w.personSwitch(k, &m, p.Person, note, problems)
	}
	if err := w.personCredentials(k, &m, p.Person, manages); err != nil {
		return view{}, err
	}
	if err := w.personHoldings(k, &m, p.Person, manages); err != nil {
		return view{}, err
	}
	return view{title: p.Person.Name, nav: peoplePath, body: account.Person(m)}, nil
}

func disabledState(say words, p identity.Person) *ui.StateModel {
	if !p.Disabled {
		return nil
	}
	return &ui.StateModel{Kind: ui.Off, Word: say.S("tenants.shut_out"), Test: "state"}
}

// disabledNotice says who disabled somebody, since when and why.
func disabledNotice(say words, p identity.Person) *ui.NoticeModel {
	n := &ui.NoticeModel{Kind: ui.Warning, Test: "disabled"}
	switch {
	case !p.DisabledAt.IsZero():
		n.Title = say.S("accounts.disabled_by", "Name", p.DisabledBy, "At", say.at(p.DisabledAt).Exact)
		n.Body = p.DisabledNote
	case p.Disabled:
		n.Title, n.Body = say.S("accounts.disabled_provider"), say.S("accounts.disabled_provider_why")
	default:
		return nil
	}
	return n
}

// standingFacts say when the provider told of somebody last, and until when their tokens count by it.
func standingFacts(say words, p identity.Person) []ui.DefModel {
	told := ui.DefModel{Term: say.S("accounts.told"), About: say.S("accounts.told_about"),
		Component: ui.Time(say.ago(p.ToldAt)), Test: "told"}
	if p.ToldAt.IsZero() {
		told.Component, told.Value = nil, say.S("accounts.not_known")
	}
	return []ui.DefModel{{Term: say.S("tenants.col_seen"), Component: ui.Time(say.ago(p.SeenAt))}, told}
}

// personSwitch is the way to disable, or to enable again.
func (w *Web) personSwitch(k call, m *account.PersonModel, p identity.Person, note string, problems []fault.Field) {
	say := k.words
	switch {
	case p.ID == k.actor.Person.ID:
		return
	case !p.DisabledAt.IsZero():
		m.Disabled.Actions = []ui.ActionModel{{Post: &ui.PostButtonModel{Action: personPath(p.ID) + "/enable",
			Button: ui.ButtonModel{Label: say.S("accounts.enable"), Icon: "undo", Small: true, Test: "enable"}}}}
	default:
		m.Disable = &account.DisableModel{Form: ui.FormModel{ID: "disable", Action: personPath(p.ID) + "/disable",
			Test: "disable-form"},
			Note: ui.FieldModel{ID: "note", Name: "note", Label: say.S("accounts.note"), Hint: say.S("accounts.note_hint"),
				Value: note, Error: wrongIn(say, problems, "note"), MaxLength: 300, Autocomplete: "off", Test: "note"},
			Go: ui.ButtonModel{Label: say.S("accounts.disable"), Kind: ui.DangerPrimary, Icon: "lock", Test: "disable"}}
	}
}

// personCredentials are the sign-ins and tokens, with what ends them.
func (w *Web) personCredentials(k call, m *account.PersonModel, p identity.Person, manages bool) error {
	say, path := k.words, personPath(p.ID)
	sessions, err := w.Accounts.Sessions(k.ctx, k.actor, p.ID)
	if err != nil {
		return err
	}
	tokens, err := w.Accounts.Tokens(k.ctx, k.actor, p.ID)
	if err != nil {
		return err
	}
	m.Sessions = account.SessionsModel{Lead: say.S("accounts.sessions_lead"),
		Rows: sessionRows(k, sessions, path, manages)}
	if len(sessions) == 0 {
		m.Sessions.Empty = noSessions(say)
	} else if manages {
		m.Sessions.EndAll = &ui.PostButtonModel{Action: path + "/sessions/end", Button: ui.ButtonModel{
			Label: say.S("accounts.end_all"), Kind: ui.DangerSecondary, Test: "sessions-end"}}
	}
	for _, t := range tokens {
		row := tokenModel(say, t)
		row.Revoke = ui.ButtonModel{}
		if p.Disabled || !w.Accounts.Limits.Standing(p, say.now) {
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
func (w *Web) personHoldings(k call, m *account.PersonModel, p identity.Person, manages bool) error {
	say := k.words
	held, err := w.Accounts.Holdings(k.ctx, k.actor, p.ID)
	if err != nil {
		return err
	}
	for _, o := range held.Owns {
		line := say.S("accounts.owns", "Team", w.teamTitle(o.Tenant))
		if o.Only {
			line = say.S("accounts.owns_only", "Team", w.teamTitle(o.Tenant))
		}
		m.Owns = append(m.Owns, account.OwnedModel{Words: line, Only: o.Only, Members: ui.LinkButtonModel{
			Label: say.S("team.members"), Href: teamPath(o.Tenant), Kind: ui.Secondary, Small: true, Test: "members"}})
	}
	for _, name := range held.Tenants() {
		team := account.HeldModel{Title: w.teamTitle(name), ID: "held-" + slug(name), Rows: w.heldRows(say, held.In(name))}
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

func (w *Web) heldRows(say words, held accounts.Holdings) []account.HeldRowModel {
	var rows []account.HeldRowModel
	add := func(icon, title, href, kind, detail string) {
		rows = append(rows, account.HeldRowModel{Name: ui.StackModel{Title: title, Href: href, Icon: icon},
			Kind: say.S("accounts.kind." + kind), Detail: detail})
	}
	for _, item := range held.Workloads {
		add("gpu", item.Name, workloadPath(item.ID), "workload", item.Size.Title+" · "+say.S("state."+string(item.State)))
	}
	for _, v := range held.Volumes {
		add("storage", v.Name, "/storage?scope=all", "volume", say.gib(float64(v.GiB)))
	}
	for _, r := range held.Requests {
		add("requests", requestWhat(say, r), requestPath(r.ID), "request", r.Spec.Size.Title)
	}
	return rows
}

// handForm chooses who gets what somebody holds in a team.
func (w *Web) handForm(k call, p identity.Person, team string) (*account.HandModel, error) {
	say := k.words
	people, err := w.Accounts.Receivers(k.ctx, k.actor, p.ID, team)
	if err != nil {
		return nil, err
	}
	if len(people) == 0 {
		return &account.HandModel{Nobody: say.S("accounts.no_receiver")}, nil
	}
	m := &account.HandModel{Form: ui.FormModel{ID: "hand-" + slug(team), Action: personPath(p.ID) + "/hand-over",
		Hidden: []ui.HiddenModel{{Name: "tenant", Value: team}}, Test: "hand-over"},
		To: ui.FieldModel{ID: "to-" + slug(team), Name: "to", Kind: ui.SelectField, Label: say.S("accounts.receiver"),
			Test: "receiver"},
		Go: ui.ButtonModel{Label: say.S("accounts.hand_over"), Kind: ui.Secondary, Icon: "arrow-right", Test: "hand-over-go"}}
	for _, to := range people {
		m.To.Options = append(m.To.Options, ui.OptionModel{Value: string(to.ID), Label: to.Name + " · " + to.Email})
	}
	return m, nil
}

// personChanged answers a change on the page of a person, or brings the page back with what is wrong.
func (w *Web) personChanged(c echo.Context, k call, flash string, err error) error {
	if err == nil {
		return w.done(c, flash, personPath(identity.PersonID(c.Param("id"))))
	}
	if kind := fault.KindOf(err); kind != fault.Invalid && kind != fault.Conflict {
		return err
	}
	v, viewErr := w.personView(k, strings.TrimSpace(c.FormValue("note")), problemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, page{name: personPage.name}, v, statusOf(err))
}

func (w *Web) personDisable(c echo.Context) error {
	k := w.callOf(c)
	return w.personChanged(c, k, "person-disabled", w.Accounts.Disable(k.ctx, k.actor,
		identity.PersonID(c.Param("id")), c.FormValue("note")))
}

func (w *Web) personEnable(c echo.Context) error {
	k := w.callOf(c)
	return w.personChanged(c, k, "person-enabled", w.Accounts.Enable(k.ctx, k.actor, identity.PersonID(c.Param("id"))))
}

func (w *Web) personSessionsEnd(c echo.Context) error {
	k := w.callOf(c)
	return w.personChanged(c, k, "sessions-ended", w.Accounts.EndSessions(k.ctx, k.actor,
		identity.PersonID(c.Param("id")), false))
}

func (w *Web) personSessionEnd(c echo.Context) error {
	k := w.callOf(c)
	return w.personChanged(c, k, "sessions-ended", w.Accounts.EndSession(k.ctx, k.actor,
		identity.PersonID(c.Param("id")), c.Param("session")))
}

func (w *Web) personTokenRevoke(c echo.Context) error {
	k := w.callOf(c)
	return w.personChanged(c, k, "token-revoked", w.Accounts.RevokeToken(k.ctx, k.actor,
		identity.PersonID(c.Param("id")), c.Param("token")))
}

func (w *Web) personHandOver(c echo.Context) error {
	k := w.callOf(c)
	done, err := w.Accounts.HandOver(k.ctx, k.actor, identity.PersonID(c.Param("id")), c.FormValue("tenant"),
		identity.PersonID(c.FormValue("to")))
	flash := "handed-over"
	if len(done.Left) > 0 {
		flash = "handed-over-some"
	}
	return w.personChanged(c, k, flash, err)
}
