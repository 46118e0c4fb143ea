package web

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const (
	maxTokens    = 20
	maxTokenName = 60
	maxTokenLife = 365 * 24 * time.Hour
)

// tokenForm is what was typed to make a token.
type tokenForm struct{ Name, Lasts string }

// account answers: who am I here, and which programs may act for me.
func (w *Web) account(k call) (view, error) {
	return w.accountView(k, tokenForm{Lasts: "90d"}, nil, "")
}

// accountView shows a fresh secret once: it is in no other answer and is kept nowhere.
func (w *Web) accountView(k call, form tokenForm, problems []fault.Field, secret string) (view, error) {
	say := k.words
	var tokens []identity.Token
	// not through somebody else's eyes
	if identity.Can(k.actor, identity.ManageTokens, identity.Thing{Owner: k.actor.Person.ID}) {
		var err error
		if tokens, err = w.Tokens.TokensOf(k.ctx, k.actor.Person.ID); err != nil {
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
	m := account.PageModel{Header: ui.HeaderModel{Title: say.S("account.title")}, Person: personItems(k),
		Errors: formErrors(say, problems),
		Form:   ui.FormModel{ID: "token-form", Action: "/account/tokens", Test: "token-form"},
		Fields: []ui.FieldModel{
			{ID: "token-name", Name: "name", Label: say.S("account.name"), Value: form.Name, Error: wrong("name"),
				Hint: say.S("account.name_hint"), MaxLength: maxTokenName, Autocomplete: "off", Test: "token-name"},
			{ID: "token-lasts", Name: "lasts", Kind: ui.SelectField, Label: say.S("account.lasts"), Value: form.Lasts,
				Error: wrong("lasts"), Test: "token-lasts", Options: lifetimes(say)}},
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
	if k.actor.Behind != nil {
		m.Empty = &ui.EmptyStateModel{Icon: "lock", Title: say.S("account.not_shown"), Level: 3, Test: "not-shown"}
	}
	return view{title: m.Header.Title, nav: "/account", body: account.Page(m)}, nil
}

func lifetimes(say words) []ui.OptionModel {
	var options []ui.OptionModel
	for _, text := range []string{"7d", "30d", "90d", "365d"} {
		d, _ := catalog.ParseDuration(text)
		options = append(options, ui.OptionModel{Value: text, Label: say.duration(d.Std())})
	}
	return options
}

func personItems(k call) []ui.DefModel {
	say, a := k.words, k.actor
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
	tokens, err := w.Tokens.TokensOf(k.ctx, k.actor.Person.ID)
	if err != nil {
		return err
	}
	life, problems := form.check(len(tokens))
	if k.actor.Via == identity.ViaToken {
		problems = append(problems, fault.Field{Name: "name", Reason: i18n.T("account.no_token_by_token")})
	}
	if len(problems) > 0 {
		v, err := w.accountView(k, form, problems, "")
		if err != nil {
			return err
		}
		return w.reply(c, k, accountPage, v, http.StatusUnprocessableEntity)
	}
	now, credential := w.Now(), identity.NewCredential()
	event := audit.By(k.actor, audit.TokenCreated, now)
	event.Detail = i18n.Literal(form.Name)
	token := identity.Token{ID: credential.ID, Name: form.Name, SecretHash: credential.Hash(), Person: k.actor.Person.ID,
		CreatedAt: now, ExpiresAt: now.Add(life)}
	if err := w.Tokens.CreateToken(k.ctx, token, event); err != nil {
		return err
	}
	v, err := w.accountView(k, tokenForm{Lasts: form.Lasts}, nil, identity.TokenPrefix+credential.String())
	if err != nil {
		return err
	}
	return w.reply(c, k, accountPage, v, http.StatusOK)
}

func (f tokenForm) check(have int) (time.Duration, []fault.Field) {
	var problems []fault.Field
	add := func(field string, reason i18n.Text) {
		problems = append(problems, fault.Field{Name: field, Reason: reason})
	}
	switch {
	case f.Name == "":
		add("name", i18n.T("account.name_missing"))
	case !utf8.ValidString(f.Name) || utf8.RuneCountInString(f.Name) > maxTokenName:
		add("name", i18n.T("account.name_too_long", "Most", maxTokenName))
	}
	if have >= maxTokens {
		add("name", i18n.T("account.too_many", "Most", maxTokens))
	}
	life, err := catalog.ParseDuration(f.Lasts)
	if err != nil || life.Std() <= 0 || life.Std() > maxTokenLife {
		add("lasts", i18n.T("account.lasts_wrong"))
	}
	return life.Std(), problems
}

func (w *Web) tokenRevoke(c echo.Context) error {
	k := w.callOf(c)
	event := audit.By(k.actor, audit.TokenRevoked, w.Now())
	event.Detail = i18n.Literal(identity.TokenPrefix + c.Param("id"))
	if err := w.Tokens.RevokeToken(k.ctx, k.actor.Person.ID, c.Param("id"), event); err != nil {
		return err
	}
	return w.done(c, "token-revoked", "/account")
}
