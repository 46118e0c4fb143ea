package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// tokenForm is what was typed to make a token.
type tokenForm struct{ Name, Lasts string }

// account answers: who am I here, and which programs may act for me.
func (w *Web) account(k call) (view, error) {
	return w.accountView(k, tokenForm{Lasts: w.usualLife()}, nil, "")
}

// accountView shows a fresh secret once: it is in no other answer and is kept nowhere.
func (w *Web) accountView(k call, form tokenForm, problems []fault.Field, secret string) (view, error) {
	say := k.words
	var tokens []identity.Token
	var sessions []identity.Session
	// not through somebody else's eyes
	if identity.Can(k.actor, identity.ReadAccount, identity.Resource{Owner: k.actor.Person.ID}) {
		var err error
		if tokens, err = w.Accounts.Tokens(k.ctx, k.actor, accounts.Me); err != nil {
			return view{}, err
		}
		if sessions, err = w.Accounts.Sessions(k.ctx, k.actor, accounts.Me); err != nil {
			return view{}, err
		}
	}
	wrong := func(name string) string {
		for _, p := range problems {
			if p.Name == name {
				return say.say(p.Reason)
			}
		}
		return ""
	}
	m := account.PageModel{Header: ui.HeaderModel{Title: say.S("account.title")}, Person: personItems(say, k.actor),
		Sessions: ownSessions(k, sessions),
		Errors:   formErrors(say, problems),
		Form:     ui.FormModel{ID: "token-form", Action: "/account/tokens", Test: "token-form"},
		Fields: []ui.FieldModel{
			{ID: "token-name", Name: "name", Label: say.S("account.name"), Value: form.Name, Error: wrong("name"),
				Hint: say.S("account.name_hint"), MaxLength: accounts.MaxTokenName, Autocomplete: "off", Test: "token-name"},
			{ID: "token-lasts", Name: "lasts", Kind: ui.SelectField, Label: say.S("account.lasts"), Value: form.Lasts,
				Error: wrong("lasts"), Test: "token-lasts", Options: w.lifetimes(say)}},
		Create: ui.ButtonModel{Label: say.S("account.create"), Icon: "plus", Kind: ui.Primary, Test: "token-create"},
		Example: "curl -H \"Authorization: Bearer $GPU_PORTAL_TOKEN\" " + shellQuote(strings.TrimRight(w.PortalURL, "/")+
			"/api/v1/workloads"),
	}
	if secret != "" {
		m.Fresh = &account.FreshModel{Secret: secret, Notice: ui.NoticeModel{Kind: ui.OK, Title: say.S("account.fresh"),
			Body: say.S("account.fresh_body"), Alert: true, Test: "token-fresh"}}
	}
	for _, t := range tokens {
		m.Tokens = append(m.Tokens, tokenModel(say, t))
		m.Dialogs = append(m.Dialogs, ui.DialogModel{ID: "revoke-" + slug(t.ID), Kind: ui.Danger,
			Title: say.S("account.revoke_title", "Name", t.Name), Body: say.S("account.revoke_body"),
			Action: "/account/tokens/" + t.ID + "/revoke", Confirm: ui.ButtonModel{Label: say.S("account.revoke"),
				Kind: ui.DangerPrimary, Test: "token-revoke-confirm"}})
	}
	if len(tokens) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "key", Title: say.S("account.no_tokens"),
			Lines: []string{say.S("account.no_tokens_why")}, Level: 3, Test: "empty"}
	}
	if k.actor.Impersonator != nil {
		m.Empty = notShown(say)
	}
	return view{title: m.Header.Title, nav: "/account", body: account.Page(m)}, nil
}

// ownSessions are the reader's own sign-ins, with the way to end all but this one.
func ownSessions(k call, sessions []identity.Session) account.SessionsModel {
	say := k.words
	m := account.SessionsModel{Lead: say.S("account.sessions_lead"), Rows: sessionRows(k, sessions, "/account", true)}
	if len(sessions) == 0 {
		m.Empty = noSessions(say)
	}
	if k.actor.Impersonator != nil {
		m.Empty = notShown(say)
	}
	if len(sessions) > 1 {
		m.EndAll = &ui.PostButtonModel{Action: "/account/sessions/end", Button: ui.ButtonModel{
			Label: say.S("account.end_others"), Kind: ui.DangerSecondary, Test: "sessions-end"}}
	}
	return m
}

// notShown stands where something is shown to nobody but its person.
func notShown(say words) *ui.EmptyStateModel {
	return &ui.EmptyStateModel{Icon: "lock", Title: say.S("account.not_shown"), Level: 3, Test: "not-shown"}
}

// lifetimes are offered up to the longest that the settings allow.
func (w *Web) lifetimes(say words) []ui.OptionModel {
	var options []ui.OptionModel
	for _, text := range []string{"1d", "7d", "30d", "90d", "180d", "365d"} {
		if d, _ := catalog.ParseDuration(text); d.Std() <= w.Accounts.Limits.Lifetime {
			options = append(options, ui.OptionModel{Value: text, Label: say.duration(d.Std())})
		}
	}
	return options
}

// usualLife is what the form begins with: 90 days, or the longest below.
func (w *Web) usualLife() string {
	if w.Accounts.Limits.Lifetime >= 90*24*time.Hour {
		return "90d"
	}
	return "30d"
}

func personItems(say words, a identity.Actor) []ui.DefModel {
	items := []ui.DefModel{{Term: say.S("account.person"), Value: a.Person.Name},
		{Term: say.S("account.email"), Value: a.Person.Email}, {Term: say.S("account.roles"), Value: roleList(say, a)},
		{Term: say.S("account.groups"), Value: strings.Join(a.Person.Groups, ", ")},
		{Term: say.S("account.id"), Component: ui.Copy(ui.CopyModel{Value: string(a.Person.ID), Label: say.S("account.id")})}}
	return items
}

// roleList is "vision: developer, team owner · administrator".
func roleList(say words, a identity.Actor) string {
	join := func(roles []identity.Role) string {
		list := make([]string, len(roles))
		for i, r := range roles {
			list[i] = say.Say(roleWord(r))
		}
		return strings.Join(list, ", ")
	}
	var parts []string
	for _, t := range a.TenantNames() {
		parts = append(parts, t+": "+join(a.Tenants[t]))
	}
	if len(a.Global) > 0 {
		parts = append(parts, join(a.Global))
	}
	return strings.Join(parts, " · ")
}

func tokenModel(say words, t identity.Token) account.TokenModel {
	m := account.TokenModel{Name: t.Name, ID: identity.TokenPrefix + t.ID, Created: say.at(t.CreatedAt),
		Expires: say.around(t.ExpiresAt), Used: ui.TimeModel{Words: say.S("account.never")},
		State: ui.StateModel{Kind: ui.OK, Word: say.S("account.valid"), Test: "state"},
		Revoke: ui.ButtonModel{Label: say.S("account.revoke"), Kind: ui.DangerSecondary, Small: true, OpensDialog: "revoke-" +
			slug(t.ID), Test: "token-revoke"}}
	if !t.LastUsedAt.IsZero() {
		m.Used = say.ago(t.LastUsedAt)
	}
	if !t.ExpiresAt.IsZero() && !say.now.Before(t.ExpiresAt) {
		m.State = ui.StateModel{Kind: ui.Off, Word: say.S("account.expired"), Test: "state"}
	}
	return m
}

// tokenCreate makes a token and answers with its secret, this once. It is no redirect: a secret belongs into no address
// and no cookie.
func (w *Web) tokenCreate(c echo.Context) error {
	k := w.callOf(c)
	form := tokenForm{Name: strings.TrimSpace(c.FormValue("name")), Lasts: c.FormValue("lasts")}
	life, _ := catalog.ParseDuration(form.Lasts) // what cannot be read is no length, which is a problem of its own
	secret, err := w.Accounts.CreateToken(k.ctx, k.actor, accounts.TokenDraft{Name: form.Name, Life: life.Std()})
	status := http.StatusOK
	switch {
	case fault.Is(err, fault.Invalid):
		status = http.StatusUnprocessableEntity
	case err != nil:
		return err
	default:
		form.Name = ""
	}
	v, viewErr := w.accountView(k, form, problemsOf(err), secret)
	if viewErr != nil {
		return viewErr
	}
	return w.reply(c, k, accountPage, v, status)
}

func (w *Web) tokenRevoke(c echo.Context) error {
	k := w.callOf(c)
	if err := w.Accounts.RevokeToken(k.ctx, k.actor, accounts.Me, c.Param("id")); err != nil {
		return err
	}
	return w.done(c, "token-revoked", "/account")
}

func (w *Web) sessionEnd(c echo.Context) error {
	k := w.callOf(c)
	if err := w.Accounts.EndSession(k.ctx, k.actor, accounts.Me, c.Param("id")); err != nil {
		return err
	}
	return w.done(c, "session-ended", "/account")
}

// sessionsEnd ends all sign-ins but the one that asks.
func (w *Web) sessionsEnd(c echo.Context) error {
	k := w.callOf(c)
	if err := w.Accounts.EndSessions(k.ctx, k.actor, accounts.Me, true); err != nil {
		return err
	}
	return w.done(c, "sessions-ended", "/account")
}
