package page

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

// Route is one entry of the surface; Action is what it is for. A route that is not Public needs someone who is signed
// in.
type Route struct {
	Method  string
	Path    string
	Action  identity.Action
	Public  bool
	Handler echo.HandlerFunc
	// Uploads: its body is a stream that the handler bounds
	Uploads bool
	page    *Page // what it shows; nil for a change or a part of a page
}

// Get is the route of a part of a page, or of a download.
func Get(path string, action identity.Action, handler echo.HandlerFunc) Route {
	return Route{Method: http.MethodGet, Path: path, Action: action, Handler: handler}
}

// Post is the route of a change.
func Post(path string, action identity.Action, handler echo.HandlerFunc) Route {
	return Route{Method: http.MethodPost, Path: path, Action: action, Handler: handler}
}

// Upload is the route of a change whose body the handler reads as it comes, and bounds.
func Upload(path string, action identity.Action, handler echo.HandlerFunc) Route {
	r := Post(path, action, handler)
	r.Uploads = true
	return r
}

// Shows is the route of a page.
func (w *Frame) Shows(path string, action identity.Action, p Page) Route {
	r := Get(path, action, w.Show(p))
	r.page = &p
	return r
}

// ShowsAll is the route of a page for visitors as well: its Build must not read what belongs to anybody.
func (w *Frame) ShowsAll(path string, p Page) Route {
	r := w.Shows(path, identity.ReadCatalog, p)
	r.Public = true
	return r
}

// classes are the routes whose work is more than that of a page: each is bounded by person.
var classes = map[string]limit.Class{
	"/start/summary": limit.Preview, "/start/form": limit.Preview, "/start/size": limit.Preview,
	IdlePath + "/preview": limit.Preview, PricesPath + "/check": limit.Preview,
	"/admin/rules/check": limit.Preview, "/admin/rules/rule": limit.Preview,
	"/admin/tenants/check": limit.Preview,
	"/admin/sizes/edit":    limit.Preview, "/admin/sizes/form": limit.Preview,
	"/account/notifications/test":    limit.Notice,
	"/workloads/:id/terminal/socket": limit.Preview,
	"/workloads/:id/files":           limit.Preview, "/workloads/:id/files/download": limit.Preview,
	"/workloads/:id/files/archive": limit.Preview,
}

// Bounded puts the bounds of classes before the routes that have one.
func (w *Frame) Bounded(routes []Route) []Route {
	for i, r := range routes {
		if class, bounded := classes[r.Path]; bounded {
			routes[i].Handler = w.limited(class, r.Handler)
		}
	}
	return routes
}

func (w *Frame) limited(class limit.Class, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := w.Limits.Take(class, string(ownPerson(identity.ActorFrom(c.Request().Context())))); err != nil {
			return err
		}
		return next(c)
	}
}

// Page is one page and what it follows while it is open.
type Page struct {
	Name   string // In the address of the stream
	Build  func(Call) (View, error)
	Topics Topics // whose changes make it read everything again; none: it has no stream
	// everyones: it shows free capacity or seats, which depend on the workloads of everybody; it names nobody.
	Everyones bool
}

// Topics are those of package live.
type Topics []live.Topic

// livePages are the pages of routes that follow topics, by name.
func livePages(routes []Route) map[string]Page {
	named := map[string]Page{}
	for _, r := range routes {
		if r.page != nil && len(r.page.Topics) > 0 {
			named[r.page.Name] = *r.page
		}
	}
	return named
}

// Routes are the addresses of the area.
func (w *Frame) Routes() []Route {
	return []Route{
		Get("/live", identity.ReadWorkload, w.live),
		Post("/settings/language", identity.ReadCatalog, w.setLanguage),
		Post("/settings/theme", identity.ReadCatalog, w.setTheme),
		Post("/settings/nav", identity.ReadCatalog, w.setNav),
		Post("/settings/acknowledged", identity.ReadCatalog, w.setAcknowledged),
		Post("/settings/keys", identity.ReadCatalog, w.setKeys),
		Post("/settings/team", identity.ReadTenant, w.setTeam),
	}
}
