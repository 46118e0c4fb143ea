package page

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Call is one request for a page: actor, language, path parameters and query. Path parameters are in the query too, so
// that a stream can ask the same again.
type Call struct {
	Ctx   context.Context
	Actor identity.Actor
	Words Words
	Query url.Values
	team  string // the team that the person chose to look at, "" for none
}

// Get is a parameter of the path, or else of the query.
func (k Call) Get(name string) string { return k.Query.Get(name) }

// View is the content of one page: title, body, parts.
type View struct {
	Title    string
	Nav      string // path of the current entry of the navigation
	Body     templ.Component
	Parts    []Part    // what the stream draws again
	AsOf     time.Time // of the data, where it comes from outside
	Wide     bool
	StartOff bool
	Paused   bool        // the reader wants it to stay as it is
	Tour     layout.Tour // the stops that it has; "" for none
	Back     string      // where its forms of settings lead; "" for itself
	NewsRead bool        // with this page the reader has seen what is new
	Waiting  *int        // what Frame.Waiting gave, where the page has asked; nil: it has not
}

// Part is a region of a page that can be updated: the element with its id. Draw makes it from what was read last, with
// fresh words; Ticks marks regions that show readings or money, which change without an event.
type Part struct {
	ID    string
	Ticks bool
	Draw  func(Words) templ.Component
}

// CallOf gathers what a handler needs to know of a call.
func (w *Frame) CallOf(c echo.Context) Call {
	ctx := c.Request().Context()
	k := Call{Ctx: ctx, Actor: identity.ActorFrom(ctx), Words: w.wordsIn(ctx), Query: url.Values{}}
	for name, values := range c.Request().URL.Query() {
		k.Query[name] = values
	}
	for _, name := range c.ParamNames() {
		k.Query.Set(name, c.Param(name))
	}
	if team := edge.Value(c.Request(), edge.Team); k.Actor.Member(team) {
		k.team = team
	}
	return k
}

func (w *Frame) wordsIn(ctx context.Context) Words {
	return Words{Localizer: i18n.From(ctx), Now: w.Now()}
}

// Show answers with a whole page.
func (w *Frame) Show(p Page) echo.HandlerFunc {
	return func(c echo.Context) error {
		k := w.CallOf(c)
		k.Ctx = live.AtOneMoment(k.Ctx)
		v, err := p.Build(k)
		if err != nil {
			return err
		}
		return w.Reply(c, k, p, v, http.StatusOK)
	}
}

// Reply wraps a view into its frame.
func (w *Frame) Reply(c echo.Context, k Call, p Page, v View, status int) error {
	alarms := w.alarms() // before the strips are made: what comes in between is told twice rather than never
	frame, err := w.frame(c, k, v)
	if err != nil {
		return err
	}
	if len(v.Parts) > 0 && p.Topics != nil && !v.Paused {
		q := url.Values{}
		for name, values := range k.Query {
			q[name] = values
		}
		q.Set("page", p.Name)
		q.Set(alarmsParam, alarms)
		frame.LiveURL = "/live?" + q.Encode()
	}
	around := layout.Page
	if k.Actor.Via == identity.ViaConsole {
		around = layout.Fragment
	}
	document := templ.ComponentFunc(func(ctx context.Context, out io.Writer) error {
		return around(frame).Render(templ.WithChildren(ctx, v.Body), out)
	})
	return w.Write(c, status, document)
}

// Write renders to a buffer first: a page is whole or an error.
func (w *Frame) Write(c echo.Context, status int, component templ.Component) error {
	buffer := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= mostKept {
			buffers.Put(buffer)
		}
	}()
	ctx := c.Request().Context()
	if err := component.Render(ui.WithLocalizer(ctx, i18n.From(ctx)), buffer); err != nil {
		return err
	}
	return c.HTMLBlob(status, buffer.Bytes())
}

// buffers are those of pages that were written: one that grows to a page takes twice its size again and again.
var buffers = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// mostKept is in bytes; few pages are larger.
const mostKept = 1 << 20

// frame is what stands around the content.
func (w *Frame) frame(c echo.Context, k Call, v View) (layout.PageModel, error) {
	if k.Actor.IsZero() { // a visitor: nothing of the site but the page itself
		return layout.PageModel{Title: v.Title, Lang: k.Words.Lang(), Theme: theme(c), Path: back(c, v), Wide: v.Wide,
			Links: links(), StartOff: true, SignIn: "/signin?" + url.Values{"return": {back(c, v)}}.Encode()}, nil
	}
	waiting, err := w.waitingOf(k, v)
	if err != nil {
		return layout.PageModel{}, err
	}
	if v.NewsRead {
		k.Actor.Person.Acknowledged = append(slices.Clip(k.Actor.Person.Acknowledged), news.Mark())
	}
	tour := w.tour(c, k, v)
	places, closed := navigationOf(k.Actor, v.Nav), folded(c)
	help := w.help(k, tourHref(c, tour), back(c, v))
	m := layout.PageModel{
		Title: v.Title, Lang: k.Words.Lang(), Theme: theme(c), Nav: w.nav(k, places, waiting, closed),
		Keys: w.keys(c, k), User: userModel(k, v.Nav), Sides: w.sides(k, places),
		NavFolded: slices.Contains(closed, navBar), Tour: tour,
		HelpMark: layout.HelpMark(k.Words.Localizer, help), Help: layout.HelpItems(k.Words.Localizer, help),
		Teams:     w.teamChoice(k),
		Languages: layout.DefaultLanguages(), Waiting: waiting, StartOff: v.StartOff || !w.starts(k),
		Strips: slices.Concat(impersonationStrip(k), w.banners(k.Words), w.Banners(k)),
		Flash:  w.takeFlash(c, k.Words), Path: back(c, v), Wide: v.Wide, Links: links(),
	}
	m.Now = w.Now().UTC().Format(time.RFC3339)
	if !v.AsOf.IsZero() {
		m.AsOf = v.AsOf.UTC().Format(time.RFC3339)
	}
	return m, nil
}

// back is the page that forms of settings lead to: this one, where it can be asked for again.
func back(c echo.Context, v View) string {
	switch {
	case v.Back != "":
		return v.Back
	case c.Request().Method != http.MethodGet:
		return v.Nav
	}
	return c.Request().URL.RequestURI()
}

func links() layout.LinksModel {
	l := layout.DefaultLinks()
	l.Requests, l.Theme, l.Language, l.Team, l.SignOut, l.Nav = "/approvals", "/settings/theme", "/settings/language",
		"/settings/team", "/signout", "/settings/nav"
	l.Keys, l.Search, l.Acknowledged = "/settings/keys", SearchPath, "/settings/acknowledged"
	return l
}

func theme(c echo.Context) string {
	return edge.ThemeOf(c.Request())
}

// Waiting is how many requests wait for the actor's decision.
func (w *Frame) Waiting(k Call) (int, error) {
	if !w.Approvals.Decides(k.Actor) {
		return 0, nil
	}
	return w.Approvals.Waiting(k.Ctx, k.Actor)
}

// waitingOf is Waiting, asked once for each page.
func (w *Frame) waitingOf(k Call, v View) (int, error) {
	if v.Waiting != nil {
		return *v.Waiting, nil
	}
	return w.Waiting(k)
}

func userModel(k Call, current string) layout.UserModel {
	p := k.Actor.Person
	return layout.UserModel{ID: string(p.ID), Name: p.Name, Detail: p.Email, Initials: initials(p.Name),
		Links: layout.AccountItems(k.Words.Localizer, layout.AccountModel{Account: "/account", Secrets: SecretsPath,
			Notices: "/account/notifications", Current: current})}
}

func initials(name string) string {
	letters := ""
	for _, part := range strings.Fields(name) {
		if first := []rune(part)[0]; unicode.IsLetter(first) {
			letters += string(first)
		}
	}
	runes := []rune(strings.ToUpper(letters))
	if len(runes) > 2 {
		runes = []rune{runes[0], runes[len(runes)-1]}
	}
	return string(runes)
}

// Startable lists the teams for which the actor may start something.
func (w *Frame) Startable(k Call) []tenant.Tenant {
	var teams []tenant.Tenant
	all := w.Site().Directory.Tenants
	for i := range all {
		if startsIn(k.Actor, &all[i]) {
			teams = append(teams, all[i])
		}
	}
	return teams
}

// starts reports whether there is a team for which the actor may start something.
func (w *Frame) starts(k Call) bool {
	all := w.Site().Directory.Tenants
	for i := range all {
		if startsIn(k.Actor, &all[i]) {
			return true
		}
	}
	return false
}

// startsIn looks first whether they belong to the team at all, without which nobody starts anything in it: each page
// asks it of all teams.
func startsIn(a identity.Actor, t *tenant.Tenant) bool {
	return a.Member(t.Name) && identity.Can(a, identity.SubmitRequest, identity.Resource{Tenant: t.Name})
}

// OwnTeams lists the teams that the actor belongs to.
func (w *Frame) OwnTeams(k Call) []tenant.Tenant {
	var teams []tenant.Tenant
	all := w.Site().Directory.Tenants
	for i := range all {
		if k.Actor.Member(all[i].Name) {
			teams = append(teams, all[i])
		}
	}
	return teams
}

func (w *Frame) teamChoice(k Call) []layout.TeamModel {
	var models []layout.TeamModel
	for i, t := range w.OwnTeams(k) {
		models = append(models, layout.TeamModel{Name: t.Display(), Value: t.Name, Current: t.Name == k.team ||
			(k.team == "" && i == 0)})
	}
	return models
}

// banners say what is away, since when, and what still works.
func (w *Frame) banners(say Words) []ui.StripModel {
	var strips []ui.StripModel
	for _, o := range w.Health() {
		strips = append(strips, layout.OutageStrip(say.Localizer, layout.OutageModel{System: string(o.System), Name: o.Name,
			Slug: Slug(o.Name), Since: ui.Clock(o.Since, time.UTC) + " UTC"}))
	}
	return strips
}

// Slug makes a value safe as part of an element's id.
func Slug(text string) string {
	return strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '-' {
			return r
		}
		return '-'
	}, text)
}

// IsFragment reports whether htmx asks for a part of a page.
func IsFragment(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }
