// Package embeds has the panels that pages of other sites show in a frame: the form that makes an address, the list of
// addresses, and the panel itself, which needs no sign-in but a signed address (package embed).
package embeds

import (
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	embedview "github.com/gpu-portal/gpu-portal/views/embed"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Embeds *embed.Service
	Panels map[embed.Panel]page.BuildPanel
}

// Routes are the addresses of the area. The panel itself is Show, for it needs nobody who is signed in.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/embeds/new", identity.ManageEmbeds, w.newPage()),
		page.Post("/embeds", identity.ManageEmbeds, w.create),
		page.Post("/embeds/:id/revoke", identity.ManageEmbeds, w.revoke),
		page.Post(page.PeoplePath+"/:id/embeds/:embed/revoke", identity.ManageEmbeds, w.revokeOf),
	}
}

func (w *Pages) newPage() page.Page { return page.Page{Name: "embed", Build: w.ask} }

// form is what was typed.
type form struct {
	Panel   embed.Panel
	Subject string
	Theme   string
	Lasts   string
}

func (w *Pages) ask(k page.Call) (page.View, error) {
	f := form{Panel: embed.Panel(k.Get("panel")), Subject: k.Get("subject"), Lasts: "30d"}
	if !slices.Contains(embed.Panels(), f.Panel) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("embed.no_panel"))
	}
	return w.view(k, f, nil, nil)
}

// view is the form, or the address that it made.
func (w *Pages) view(k page.Call, f form, problems []fault.Field, made *embedview.MadeModel) (page.View, error) {
	say, nav := k.Words, placeOf(f)
	m := embedview.NewModel{Panel: embedview.Panel(f.Panel), Subject: f.Subject, Back: nav, Origins: w.Embeds.Origins(),
		Errors: page.FormErrors(say, problems), Theme: f.Theme, ThemeError: page.WrongIn(say, problems, "theme"),
		Lasts: f.Lasts, LastsError: page.WrongIn(say, problems, "lasts"), Lifetimes: w.lifetimes(say), Made: made}
	if f.Panel == embed.Team && made == nil {
		m.Teams = w.teams(k)
	}
	if f.Panel != embed.Team || f.Subject != "" {
		title, err := w.Embeds.Subject(k.Ctx, k.Actor, f.Panel, f.Subject)
		if err != nil {
			return page.View{}, err
		}
		m.Title = title
	}
	if f.Panel == embed.Workload {
		m.Back, nav = page.WorkloadPath(workload.ID(f.Subject)), "/"
	}
	return page.View{Title: say.S("embed.title"), Nav: nav, Body: embedview.New(m)}, nil
}

// placeOf is where a panel comes from.
func placeOf(f form) string {
	switch f.Panel {
	case embed.Team:
		return page.UsagePlace(usage.Team)
	case embed.Fleet:
		return "/fleet"
	case embed.Licenses:
		return "/licenses"
	}
	return "/"
}

// teams are those whose usage the reader may read.
func (w *Pages) teams(k page.Call) []ui.OptionModel {
	var options []ui.OptionModel
	for _, t := range w.Site().Directory.Tenants {
		if identity.Can(k.Actor, identity.ReadUsage, identity.Resource{Tenant: t.Name}) {
			options = append(options, ui.OptionModel{Value: t.Name, Label: t.Display()})
		}
	}
	return options
}

// lifetimes are offered up to the longest that the settings allow.
func (w *Pages) lifetimes(say page.Words) []ui.OptionModel {
	var options []ui.OptionModel
	for _, text := range []string{"1h", "1d", "7d", "30d", "90d", "365d"} {
		if d, _ := catalog.ParseDuration(text); d.Std() <= w.Embeds.MaxLife() {
			options = append(options, ui.OptionModel{Value: text, Label: say.Duration(d.Std())})
		}
	}
	return options
}

// create answers with the address.
func (w *Pages) create(c echo.Context) error {
	k := w.CallOf(c)
	f := form{Panel: embed.Panel(c.FormValue("panel")), Subject: c.FormValue("subject"), Theme: c.FormValue("theme"),
		Lasts: c.FormValue("lasts")}
	life, _ := catalog.ParseDuration(f.Lasts) // what cannot be read is no length, which is a problem of its own
	e, address, err := w.Embeds.Create(k.Ctx, k.Actor, embed.Draft{Panel: f.Panel, Subject: f.Subject,
		Theme: embed.Theme(f.Theme), Life: life.Std()})
	var made *embedview.MadeModel
	status := http.StatusOK
	switch {
	case fault.Is(err, fault.Invalid):
		status = http.StatusUnprocessableEntity
	case err != nil:
		return err
	default:
		made = &embedview.MadeModel{Address: address, Snippet: Snippet(address, k.Words.S("embed.panel_"+string(f.Panel))),
			Ends: k.Words.At(e.ExpiresAt)}
	}
	v, viewErr := w.view(k, f, page.ProblemsOf(err), made)
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, w.newPage(), v, status)
}

// Snippet is an iframe that shows an address.
func Snippet(address, title string) string {
	return `<iframe src="` + html.EscapeString(address) + `" title="` + html.EscapeString(title) +
		`" width="100%" height="420" loading="lazy" referrerpolicy="no-referrer" style="border:0"></iframe>`
}

func (w *Pages) revoke(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Embeds.Revoke(k.Ctx, k.Actor, embed.Me, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "embed-revoked", "/account")
}

// revokeOf is for administrators.
func (w *Pages) revokeOf(c echo.Context) error {
	k, id := w.CallOf(c), identity.PersonID(c.Param("id"))
	if err := w.Embeds.Revoke(k.Ctx, k.Actor, id, c.Param("embed")); err != nil {
		return err
	}
	return w.Done(c, "embed-revoked", page.PersonPath(id))
}

// refreshEvery is how often a panel asks anew: as often as readings change.
const refreshEvery = 30 * time.Second

// Show is a panel, for everybody who has its address and looks at it within a page of an allowed site. It reads no
// cookie, sets none, and holds nothing that acts.
func (w *Pages) Show(c echo.Context) error {
	ctx := c.Request().Context()
	origins := w.Embeds.Origins()
	if len(origins) == 0 {
		return fault.New(fault.NotFound, i18n.T("embed.not_valid"))
	}
	setHeaders(c.Response().Header(), origins)
	e, actor, err := w.Embeds.Open(ctx, c.QueryParam("token"))
	k := w.CallOf(c)
	k.Actor, k.Ctx, k.Query = actor, identity.WithActor(ctx, actor), nil
	say := k.Words
	m := embedview.PageModel{Lang: say.Lang(), Theme: string(e.Theme), Product: say.S("layout.product"),
		Panel: embedview.Panel(e.Panel), At: say.At(w.Now())}
	status, again := http.StatusOK, true
	if err == nil {
		var p page.Panel
		if p, err = w.Panels[e.Panel](k, e.Subject); err == nil {
			m.Title, m.State, m.Body = p.Title, p.State, p.Body
		}
	}
	if err != nil {
		f := fault.As(err)
		status, m.Problem = problem.Status(f.Kind), say.Text(f.Sentence)
		if f.Kind != fault.Unavailable && f.Kind != fault.Forbidden { // it stays so
			again = false
		}
	}
	if again {
		// The header, not the element: browsers do not heed the element in a sandbox without allow-scripts, in which
		// Grafana puts the iframes of its text panels (https://html.spec.whatwg.org/#shared-declarative-refresh-steps).
		c.Response().Header().Set("Refresh", strconv.Itoa(int(refreshEvery/time.Second)))
	}
	return w.Write(c, status, embedview.Document(m))
}

// setHeaders lets pages of some sites show this one, and nothing in it run or send anything.
func setHeaders(h http.Header, origins []string) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"form-action 'none'; base-uri 'none'; frame-ancestors "+strings.Join(origins, " "))
	h.Set("Referrer-Policy", "no-referrer")
}
