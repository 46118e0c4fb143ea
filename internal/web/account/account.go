package account

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// tokenForm is what was typed to make a token.
type tokenForm struct{ Name, Lasts string }

// account answers: who am I here, and which programs may act for me.
func (w *Pages) account(k page.Call) (page.View, error) {
	return w.accountView(k, tokenForm{Lasts: w.usualLife()}, nil, "")
}

// accountView shows a fresh secret once: it is in no other answer and is kept nowhere.
func (w *Pages) accountView(k page.Call, form tokenForm, problems []fault.Field, secret string) (page.View, error) {
	say := k.Words
	var tokens []identity.Token
	var sessions []identity.Session
	// not through somebody else's eyes
	if identity.Can(k.Actor, identity.ReadAccount, identity.Resource{Owner: k.Actor.Person.ID}) {
		var err error
		if tokens, err = w.Accounts.Tokens(k.Ctx, k.Actor, accounts.Me); err != nil {
			return page.View{}, err
		}
		if sessions, err = w.Accounts.Sessions(k.Ctx, k.Actor, accounts.Me); err != nil {
			return page.View{}, err
		}
	}
	m := account.PageModel{Header: ui.HeaderModel{Title: say.S("account.title")}, Person: blocks.PersonItems(say, k.Actor),
		Secret: secret, Sessions: ownSessions(k, sessions), Errors: page.FormErrors(say, problems),
		Form: account.TokenFormModel{Name: form.Name, NameError: page.WrongIn(say, problems, "name"),
			MaxName: accounts.MaxTokenName, Lasts: form.Lasts, LastsError: page.WrongIn(say, problems, "lasts"),
			Lifetimes: w.lifetimes(say)},
		Hidden: k.Actor.Impersonator != nil,
		Example: "curl -H \"Authorization: Bearer $GPU_PORTAL_TOKEN\" " + page.ShellQuote(strings.TrimRight(w.PortalURL, "/")+
			"/api/v1/workloads"),
	}
	for _, t := range tokens {
		row := blocks.TokenModel(say, t)
		row.Revoke = "/account/tokens/" + t.ID + "/revoke"
		m.Tokens = append(m.Tokens, row)
	}
	var err error
	if m.Embeds, err = blocks.EmbedList(k, w.Embeds, embed.Me); err != nil {
		return page.View{}, err
	}
	return page.View{Title: m.Header.Title, Nav: "/account", Body: account.Page(m)}, nil
}

// ownSessions are the reader's own sign-ins, with the way to end all but this one.
func ownSessions(k page.Call, sessions []identity.Session) account.SessionsModel {
	slices.SortStableFunc(sessions, func(a, b identity.Session) int { // this one first
		switch this, other := accounts.Current(k.Actor, a), accounts.Current(k.Actor, b); {
		case this && !other:
			return -1
		case other && !this:
			return 1
		}
		return 0
	})
	m := account.SessionsModel{Own: true, Hidden: k.Actor.Impersonator != nil,
		Rows: blocks.SessionRows(k, sessions, "/account", true)}
	if len(sessions) > 1 {
		m.EndAll = "/account/sessions/end"
	}
	return m
}

// lifetimes are offered up to the longest that the settings allow.
func (w *Pages) lifetimes(say page.Words) []ui.OptionModel {
	var options []ui.OptionModel
	for _, text := range []string{"1d", "7d", "30d", "90d", "180d", "365d"} {
		if d, _ := catalog.ParseDuration(text); d.Std() <= w.Accounts.Limits.Lifetime {
			options = append(options, ui.OptionModel{Value: text, Label: say.Duration(d.Std())})
		}
	}
	return options
}

// usualLife is what the form begins with: 90 days, or the longest below.
func (w *Pages) usualLife() string {
	if w.Accounts.Limits.Lifetime >= 90*24*time.Hour {
		return "90d"
	}
	return "30d"
}

// tokenCreate makes a token and answers with its secret, this once. It is no redirect: a secret belongs into no address
// and no cookie.
func (w *Pages) tokenCreate(c echo.Context) error {
	k := w.CallOf(c)
	form := tokenForm{Name: strings.TrimSpace(c.FormValue("name")), Lasts: c.FormValue("lasts")}
	life, _ := catalog.ParseDuration(form.Lasts) // what cannot be read is no length, which is a problem of its own
	secret, err := w.Accounts.CreateToken(k.Ctx, k.Actor, accounts.TokenDraft{Name: form.Name, Life: life.Std()})
	status := http.StatusOK
	switch {
	case fault.Is(err, fault.Invalid):
		status = http.StatusUnprocessableEntity
	case err != nil:
		return err
	default:
		form.Name = ""
	}
	v, viewErr := w.accountView(k, form, page.ProblemsOf(err), secret)
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, w.accountPage(), v, status)
}

func (w *Pages) tokenRevoke(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Accounts.RevokeToken(k.Ctx, k.Actor, accounts.Me, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "token-revoked", "/account")
}

func (w *Pages) sessionEnd(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Accounts.EndSession(k.Ctx, k.Actor, accounts.Me, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "session-ended", "/account")
}

// sessionsEnd ends all sign-ins but the one that asks.
func (w *Pages) sessionsEnd(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Accounts.EndSessions(k.Ctx, k.Actor, accounts.Me, true); err != nil {
		return err
	}
	return w.Done(c, "sessions-ended", "/account")
}
