package app

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/reference"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// edgePages draws what the edge itself shows to a person: errors, and the way in.
type edgePages struct {
	provider string
	// framed shows an error within the frame of the pages; it fails where that cannot be drawn.
	framed func(c echo.Context, status int, m layout.ErrorModel) error
}

// framed is for those who are signed in, where this process has pages.
func (a *App) framed(c echo.Context, status int, m layout.ErrorModel) error {
	if a.pages == nil {
		return errors.New("no pages here")
	}
	return a.pages.Error(c, status, m)
}

// Error says what happened, what was not lost and what to do.
func (p edgePages) Error(c echo.Context, d problem.Details) error {
	l := i18n.From(c.Request().Context())
	m := layout.ErrorModel{Lang: l.Lang(), Theme: theme(c), Kind: ui.Warning, Title: d.Title, Body: d.Detail,
		RequestID: c.Response().Header().Get("X-Request-Id")}
	switch {
	case d.Status >= http.StatusInternalServerError:
		m.Kind, m.Kept = ui.Danger, []string{l.S("error.kept")}
		m.Todo = []string{l.S("error.todo.retry"), l.S("error.todo.report")}
	case d.Status == http.StatusNotFound:
		m.Kind, m.Todo = ui.Info, []string{l.S("error.todo.home")}
	case d.Status == http.StatusForbidden: // its sentence says who may
	case d.Status == http.StatusConflict:
		m.Todo = []string{l.S("error.todo.reload")}
	default:
		m.Todo = []string{l.S("error.todo.back")}
	}
	for _, f := range d.Fields {
		m.Body += " " + f.Reason
	}
	if d.Status < http.StatusInternalServerError && !identity.ActorFrom(c.Request().Context()).IsZero() &&
		!page.IsFragment(c) {
		if err := p.framed(c, d.Status, m); err == nil {
			return nil
		}
	}
	return write(c, d.Status, l, layout.ErrorPage(m))
}

// SignIn is one button with the provider's name, and the reason when the last try failed.
func (p edgePages) SignIn(c echo.Context, returnTo string, reason i18n.Text) error {
	l := i18n.From(c.Request().Context())
	m := layout.SignInModel{Lang: l.Lang(), Theme: theme(c),
		Providers: []layout.ProviderModel{{Name: p.provider, Action: "/signin",
			Hidden: []ui.HiddenModel{{Name: "return", Value: returnTo}}}}}
	if !reason.IsZero() {
		m.Notice = &ui.NoticeModel{Kind: ui.Danger, Title: l.Say(reason)}
	}
	status := c.Response().Status
	if status == 0 {
		status = http.StatusOK
	}
	return write(c, status, l, layout.SignIn(m))
}

// Leave goes on by itself after no time, and has a link for where that is switched off.
func (p edgePages) Leave(c echo.Context, target string) error {
	l := i18n.From(c.Request().Context())
	return write(c, http.StatusOK, l, layout.Leave(layout.LeaveModel{Lang: l.Lang(), Theme: theme(c), Href: target,
		Title: l.S("leave.title"), Link: l.S("leave.link")}))
}

// write renders to a buffer first, so that a failure while drawing still becomes an error.
func write(c echo.Context, status int, l *i18n.Localizer, component templ.Component) error {
	var page bytes.Buffer
	if err := component.Render(ui.WithLocalizer(c.Request().Context(), l), &page); err != nil {
		return err
	}
	return c.HTMLBlob(status, page.Bytes())
}

// panel is what pages of other sites show. Nobody is known here, so that it is bounded by the network address.
func (a *App) panel(c echo.Context) error {
	if err := a.limits.Take(limit.Embed, a.server.Address(c.Request())); err != nil {
		return err
	}
	return a.pages.Panel(c)
}

func theme(c echo.Context) string { return edge.ThemeOf(c.Request()) }

// referenceOf reads what the pages show of the API from its own document.
func referenceOf(surface *api.API) (reference.Document, error) {
	document, err := surface.Document()
	if err != nil {
		return reference.Document{}, err
	}
	return reference.Parse(document)
}

// authorizeGateway answers the gateway's question whether this person may open a workload, wherever the gateway runs.
func (a *App) authorizeGateway(c echo.Context) error {
	actor := identity.ActorFrom(c.Request().Context())
	if actor.Via != identity.ViaSession {
		return fault.New(fault.Forbidden, i18n.T("problem.browser_only"))
	}
	target, err := a.gateway.Authorize(c.Request().Context(), actor, actor.Session, c.QueryParam("workload"),
		c.QueryParam("return"), c.QueryParam("state"))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, target)
}
