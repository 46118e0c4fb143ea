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

// seeAs is where an administrator sees the portal as somebody who is none; "" where that is not possible.
func seeAs(k page.Call, seen identity.Actor) string {
	if !identity.Can(k.Actor, identity.Impersonate, identity.Resource{}) || seen.Is(identity.Admin) ||
		seen.Person.Disabled ||
		seen.Person.ID == k.Actor.Person.ID {
		return ""
	}
	return page.PeoplePath + "/" + string(seen.Person.ID) + "/see"
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
		Lead:   p.Person.Email,
		Crumbs: []ui.CrumbModel{{Label: say.S("tenants.people"), Href: page.PeoplePath}, {Label: p.Person.Name}}},
		Person: blocks.PersonItems(say, p), Seen: say.Ago(p.Person.SeenAt), Disabled: disabledModel(say, p.Person)}
	if !p.Person.ConfirmedAt.IsZero() {
		told := say.Ago(p.Person.ConfirmedAt)
		m.Told = &told
	}
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

// disabledModel says who disabled somebody, since when and why.
func disabledModel(say page.Words, p identity.Person) *account.DisabledModel {
	switch {
	case !p.DisabledAt.IsZero():
		return &account.DisabledModel{By: p.DisabledBy, At: say.At(p.DisabledAt).Exact, Note: p.DisabledNote,
			Gone: p.Disabled}
	case p.Disabled:
		return &account.DisabledModel{Gone: true}
	}
	return nil
}

// personSwitch is the way to disable, or to enable again.
func (w *Pages) personSwitch(k page.Call, m *account.PersonModel, p identity.Person, note string,
	problems []fault.Field) {
	switch {
	case p.ID == k.Actor.Person.ID:
		return
	case !p.DisabledAt.IsZero():
		m.Disabled.Enable = page.PersonPath(p.ID) + "/enable"
	default:
		m.Disable = &account.DisableModel{Action: page.PersonPath(p.ID) + "/disable", Note: note,
			NoteError: page.WrongIn(k.Words, problems, "note")}
	}
}

// personCredentials are the sign-ins and tokens, with what ends them.
func (w *Pages) personCredentials(k page.Call, m *account.PersonModel, p identity.Person, manages bool) error {
	path := page.PersonPath(p.ID)
	sessions, err := w.Accounts.Sessions(k.Ctx, k.Actor, p.ID)
	if err != nil {
		return err
	}
	tokens, err := w.Accounts.Tokens(k.Ctx, k.Actor, p.ID)
	if err != nil {
		return err
	}
	m.Sessions = account.SessionsModel{Rows: blocks.SessionRows(k, sessions, path, manages)}
	if len(sessions) > 0 && manages {
		m.Sessions.EndAll = path + "/sessions/end"
	}
	for _, t := range tokens {
		row := blocks.TokenModel(k.Words, t)
		if p.Disabled || !w.Accounts.Limits.Standing(p, k.Words.Now) {
			row.State = account.TokenRefused
		}
		if manages {
			row.Revoke = path + "/tokens/" + t.ID + "/revoke"
		}
		m.Tokens = append(m.Tokens, row)
	}
	m.Embeds, err = blocks.EmbedList(k, w.Embeds, p.ID)
	return err
}

// personHoldings are the things, team by team, with the form that hands them over.
func (w *Pages) personHoldings(k page.Call, m *account.PersonModel, p identity.Person, manages bool) error {
	held, err := w.Accounts.Holdings(k.Ctx, k.Actor, p.ID)
	if err != nil {
		return err
	}
	for _, o := range held.Owns {
		m.Owns = append(m.Owns, account.OwnedModel{Team: w.TeamTitle(o.Tenant), Only: o.Only,
			Members: page.TeamPath(o.Tenant)})
	}
	for _, name := range held.Tenants() {
		team := account.HeldModel{Title: w.TeamTitle(name), Slug: page.Slug(name),
			Rows: w.heldRows(k.Words, held.In(name))}
		if manages {
			if team.Transfer, err = w.transferForm(k, p, name); err != nil {
				return err
			}
		}
		m.Held = append(m.Held, team)
	}
	return nil
}

func (w *Pages) heldRows(say page.Words, held accounts.Holdings) []account.HeldRowModel {
	var rows []account.HeldRowModel
	for _, item := range held.Workloads {
		rows = append(rows, account.HeldRowModel{Kind: account.HeldWorkload, Title: item.Name,
			Href: page.WorkloadPath(item.ID), Detail: say.SizeTitle(item.Size) + " · " + say.S("state."+string(item.State))})
	}
	for _, v := range held.Volumes {
		rows = append(rows, account.HeldRowModel{Kind: account.HeldVolume, Title: v.Name, Href: "/storage?scope=all",
			Detail: say.GiB(float64(v.GiB))})
	}
	for _, r := range held.Requests {
		rows = append(rows, account.HeldRowModel{Kind: account.HeldRequest, Title: w.RequestWhat(say, r),
			Href: page.RequestPath(r.ID), Detail: say.SizeTitle(r.Spec.Size)})
	}
	return rows
}

// transferForm chooses who gets what somebody holds in a team.
func (w *Pages) transferForm(k page.Call, p identity.Person, team string) (*account.TransferModel, error) {
	people, err := w.Accounts.Recipients(k.Ctx, k.Actor, p.ID, team)
	if err != nil {
		return nil, err
	}
	m := &account.TransferModel{Action: page.PersonPath(p.ID) + "/transfer", Tenant: team}
	for _, to := range people {
		m.Recipients = append(m.Recipients, ui.OptionModel{Value: string(to.ID), Label: to.Name + " · " + to.Email})
	}
	return m, nil
}

// personChanged answers a change on the page of a person, or brings the page back with what is wrong.
func (w *Pages) personChanged(c echo.Context, k page.Call, flash string, err error) error {
	if err == nil {
		return w.Done(c, flash, page.PersonPath(identity.PersonID(c.Param("id"))), c.Param("id"))
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

func (w *Pages) personTransfer(c echo.Context) error {
	k := w.CallOf(c)
	done, err := w.Accounts.Transfer(k.Ctx, k.Actor, identity.PersonID(c.Param("id")), c.FormValue("tenant"),
		identity.PersonID(c.FormValue("to")))
	flash := "transferred"
	if len(done.Left) > 0 {
		flash = "transferred-some"
	}
	return w.personChanged(c, k, flash, err)
}
