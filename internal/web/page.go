package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// call is who asks, in which language, and for what. Path parameters are in the query too, so that a stream can ask the
// same again.
type call struct {
	ctx   context.Context
	actor identity.Actor
	words words
	query url.Values
	team  string // the team that the person chose to look at, "" for none
}

func (k call) get(name string) string { return k.query.Get(name) }

// view is one page as it stands.
type view struct {
	title    string
	nav      string // path of the current entry of the navigation
	body     templ.Component
	parts    []part    // what the stream draws again
	asOf     time.Time // of the data, where it comes from outside
	wide     bool
	startOff bool
	paused   bool // the reader wants it to stay as it is
}

// part is a region of a page: the element with its id. draw makes it from what was read last, with fresh words; ticks
// says that it shows readings or money, which change without anything being written.
type part struct {
	id    string
	ticks bool
	draw  func(words) templ.Component
}

// callOf gathers what a handler needs to know of a call.
func (w *Web) callOf(c echo.Context) call {
	ctx := c.Request().Context()
	k := call{ctx: ctx, actor: identity.ActorFrom(ctx), words: w.wordsIn(ctx), query: url.Values{}}
	for name, values := range c.Request().URL.Query() {
		k.query[name] = values
	}
	for _, name := range c.ParamNames() {
		k.query.Set(name, c.Param(name))
	}
	if team := edge.Value(c.Request(), edge.Team); k.actor.Member(team) {
		k.team = team
	}
	return k
}

func (w *Web) wordsIn(ctx context.Context) words {
	return words{Localizer: i18n.From(ctx), now: w.Now()}
}

// show answers with a whole page.
func (w *Web) show(p page) echo.HandlerFunc {
	return func(c echo.Context) error {
		k := w.callOf(c)
		v, err := p.build(w, k)
		if err != nil {
			return err
		}
		return w.reply(c, k, p, v, http.StatusOK)
	}
}

// reply wraps a view into its frame.
func (w *Web) reply(c echo.Context, k call, p page, v view, status int) error {
	frame, err := w.frame(c, k, v)
	if err != nil {
		return err
	}
	if len(v.parts) > 0 && p.topics != nil && !v.paused {
		q := url.Values{}
		for name, values := range k.query {
			q[name] = values
		}
		q.Set("page", p.name)
		frame.LiveURL = "/live?" + q.Encode()
	}
	document := templ.ComponentFunc(func(ctx context.Context, out io.Writer) error {
		return layout.Page(frame).Render(templ.WithChildren(ctx, v.body), out)
	})
	return w.write(c, status, document)
}

// write renders to a buffer first: a page is whole or an error.
func (w *Web) write(c echo.Context, status int, component templ.Component) error {
	var buffer bytes.Buffer
	ctx := c.Request().Context()
	if err := component.Render(ui.WithLocalizer(ctx, i18n.From(ctx)), &buffer); err != nil {
		return err
	}
	return c.HTMLBlob(status, buffer.Bytes())
}

// frame is what stands around the content.
func (w *Web) frame(c echo.Context, k call, v view) (layout.PageModel, error) {
	waiting, err := w.waiting(k)
	if err != nil {
		return layout.PageModel{}, err
	}
	places, closed := navigationOf(k.actor, v.nav), folded(c)
	m := layout.PageModel{
		Title: v.title, Lang: k.words.Lang(), Theme: theme(c), Nav: w.nav(k, places, waiting, closed),
		User: userModel(k, v.nav), Sides: w.sides(k, places), NavFolded: slices.Contains(closed, navBar), Help: help(k),
		Teams:     w.teamChoice(k),
		Languages: layout.DefaultLanguages(), Waiting: waiting, StartOff: v.startOff || len(w.startable(k)) == 0,
		Strips: slices.Concat(impersonationStrip(k), w.strips(k.words), w.banners(k)),
		Flash:  w.takeFlash(c, k.words), Path: c.Request().URL.RequestURI(), Wide: v.wide, Links: links(),
	}
	if c.Request().Method != http.MethodGet {
		m.Path = v.nav
	}
	m.Now = w.Now().UTC().Format(time.RFC3339)
	if !v.asOf.IsZero() {
		m.AsOf = v.asOf.UTC().Format(time.RFC3339)
	}
	return m, nil
}

func links() layout.LinksModel {
	l := layout.DefaultLinks()
	l.Requests, l.Theme, l.Language, l.Team, l.SignOut, l.Nav = "/approvals", "/settings/theme", "/settings/language",
		"/settings/team", "/signout", "/settings/nav"
	return l
}

func theme(c echo.Context) string {
	return edge.ThemeOf(c.Request())
}

// waiting is how many requests wait for the actor's decision.
func (w *Web) waiting(k call) (int, error) {
	if !w.Approvals.Decides(k.actor) {
		return 0, nil
	}
	return w.Approvals.Waiting(k.ctx, k.actor)
}

// help is what explains the portal.
func help(k call) []ui.MenuItemModel {
	return []ui.MenuItemModel{{Label: k.words.S("web.nav.api"), Icon: "audit", Href: "/api/docs", Test: "nav-api"}}
}

func userModel(k call, current string) layout.UserModel {
	p := k.actor.Person
	return layout.UserModel{ID: string(p.ID), Name: p.Name, Detail: p.Email, Initials: initials(p.Name),
		Links: []ui.MenuItemModel{
			{Label: k.words.S("web.nav.account"), Icon: "key", Href: "/account", Current: current == "/account",
				Test: "nav-account"},
			{Label: k.words.S("web.nav.notices"), Icon: "bell", Href: "/account/notifications",
				Current: current == "/account/notifications", Test: "nav-notices"},
		}}
}

func initials(name string) string {
	letters := ""
	for _, part := range strings.Fields(name) {
		letters += string([]rune(part)[:1])
	}
	runes := []rune(strings.ToUpper(letters))
	if len(runes) > 2 {
		runes = []rune{runes[0], runes[len(runes)-1]}
	}
	return string(runes)
}

// startable lists the teams for which the actor may start something.
func (w *Web) startable(k call) []tenant.Tenant {
	var teams []tenant.Tenant
	for _, t := range w.Site().Directory.Tenants {
		if identity.Can(k.actor, identity.SubmitRequest, identity.Resource{Tenant: t.Name}) {
			teams = append(teams, t)
		}
	}
	return teams
}

// ownTeams lists the teams that the actor belongs to.
func (w *Web) ownTeams(k call) []tenant.Tenant {
	var teams []tenant.Tenant
	for _, t := range w.Site().Directory.Tenants {
		if k.actor.Member(t.Name) {
			teams = append(teams, t)
		}
	}
	return teams
}

func (w *Web) teamChoice(k call) []layout.TeamModel {
	var models []layout.TeamModel
	for i, t := range w.ownTeams(k) {
		models = append(models, layout.TeamModel{Name: t.Display(), Value: t.Name, Current: t.Name == k.team ||
			(k.team == "" && i == 0)})
	}
	return models
}

// strips say what is away, since when, and what still works.
func (w *Web) strips(say words) []ui.StripModel {
	var strips []ui.StripModel
	for _, o := range w.Health() {
		strips = append(strips, ui.StripModel{
			Kind: ui.Warning, ID: "strip-" + string(o.System) + "-" + slug(o.Name), Test: "strip-" + string(o.System),
			Words: say.S("web.away."+string(o.System), "Name", o.Name, "Since", ui.Clock(o.Since, time.UTC)+" UTC"),
		})
	}
	return strips
}

// slug makes a value safe as part of an element's id.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '-' {
			return r
		}
		return '-'
	}, text)
}

// isFragment reports whether htmx asks for a part of a page.
func isFragment(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }
