package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// Route is one entry of the surface. A route that is not Public needs someone who is signed in; Action says what it is
// for, and guards walk it.
type Route struct {
	Method string
	Path   string
	Action identity.Action
	Public bool
	// Anonymous looks at no cookie and no credential of the call, whoever makes it; such a route is Public.
	Anonymous bool
	// OwnCredential leaves the Authorization header to the handler: it is of no person. Such a route is Public.
	OwnCredential bool
	// Uploads leaves the bound of the body to the handler, which has it as it comes.
	Uploads bool
	Handler echo.HandlerFunc
}

// Store keeps people, sessions and tokens. Faults: NotFound, Unavailable.
type Store interface {
	SavePerson(ctx context.Context, p identity.Person) error
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	CreateSession(ctx context.Context, s identity.Session) error
	Session(ctx context.Context, id string) (identity.Session, error)
	TouchSession(ctx context.Context, id string, now time.Time) error
	// RenewSecret gives a session another secret; false when another call did.
	RenewSecret(ctx context.Context, n identity.Session, hash, roles string, now time.Time) (bool, error)
	Impersonate(ctx context.Context, id string, person identity.PersonID, until time.Time, event audit.Event) error
	EndImpersonation(ctx context.Context, id string, event audit.Event) error
	EndSession(ctx context.Context, id string) error
	// LimitSessions ends those of a person beyond so many, the longest unused first.
	LimitSessions(ctx context.Context, person identity.PersonID, keep int) error
	// EndSessionsAt ends what the provider has ended. Conflict when it said so before.
	EndSessionsAt(ctx context.Context, l identity.ProviderLogout, why func(identity.Person) audit.Event) (int, error)
	Append(ctx context.Context, events ...audit.Event) error
}

// Provider is the sign-in provider; see identity/oidc. Unavailable when it cannot be reached.
type Provider interface {
	Begin(ctx context.Context, returnTo string) (redirect string, flow oidc.Flow, err error)
	Finish(ctx context.Context, flow oidc.Flow, query url.Values) (oidc.SignedIn, error)
	LogoutURL(ctx context.Context, idToken, back string) string
	BackChannelLogout(ctx context.Context, token string) (identity.ProviderLogout, error)
}

// Renewals keeps sessions at what the provider says now; see identity/renewal.
type Renewals interface {
	// Begin makes a fresh session one that can be renewed, or one that ends with the provider's token.
	Begin(n identity.Session, in oidc.SignedIn) (identity.Session, error)
	// Fresh gives the session with groups that count. Unauthenticated when the provider has ended it, Unavailable while
	// nobody can say.
	Fresh(ctx context.Context, n identity.Session) (identity.Session, error)
	// IDToken opens the one of a session that can be renewed, "" for none.
	IDToken(n identity.Session) string
}

// Pages draws what the edge itself shows to a person.
type Pages interface {
	Error(c echo.Context, d problem.Details) error
	SignIn(c echo.Context, returnTo string, problem i18n.Text) error
	// Leave sends the browser to another site by a page of our own, not by a redirect: form-action covers the whole chain
	// of redirects after a form, and providers pass people on to hosts that nobody can list.
	Leave(c echo.Context, target string) error
}

// Options is what the edge needs.
type Options struct {
	URL            string // how browsers reach the portal
	TrustedProxies []*net.IPNet
	Idle, Absolute time.Duration  // limits of a session
	MostSessions   int            // of one person; 0: any number
	Limits         *limit.Limiter // nil: nothing is limited
	Store          Store
	Provider       Provider
	Renewals       Renewals // nil: groups count as told at the sign-in
	Tokens         Tokens
	Actor          func(p identity.Person, via identity.Via) identity.Actor
	// Delegators gives those for whom somebody decides requests now; nil: nobody does for anybody.
	Delegators func(ctx context.Context, id identity.PersonID) ([]identity.Actor, error)
	Pages      Pages
	Bundle     *i18n.Bundle
	// Context adds to the context of every call what its pages need besides the language; nil: nothing.
	Context func(context.Context) context.Context
	Key     []byte // for the short-lived sign-in cookie
	Now     func() time.Time
	Logger  *slog.Logger
	// Gateway handles every host that is a workload's; nil when this process plays no gateway.
	Gateway    http.Handler
	IsWorkload func(host string) bool
	Ready      func(ctx context.Context) error
	Parts      func() []Part         // what /readyz?verbose names beside the database; nil: nothing
	Alive      func() []jobs.Check   // of the loops of this process; nil: there are none
	Metrics    prometheus.Registerer // nil: calls are not counted
	Traces     trace.Provider        // zero: calls are not traced
}

// Server is the edge.
type Server struct {
	opts   Options
	echo   *echo.Echo
	https  bool
	origin string // of the portal, as browsers write it

	anonymous map[string]bool // paths of routes
	own       map[string]bool // paths of routes with OwnCredential
	uploads   map[string]bool // methods and paths of routes

	refusals *audit.Aggregator
}

// maxBody bounds what anyone may send; the largest honest form is some kilobytes.
const maxBody = 1 << 20

// New builds the edge around the given routes and mounted handlers (path prefix to handler; they are public and guard
// themselves, as static files do).
func New(o Options, routes []Route, mounts map[string]http.Handler) (*Server, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, echo: echo.New(), https: u.Scheme == "https", origin: strings.ToLower(u.Scheme + "://" + u.Host),
		anonymous: map[string]bool{}, own: map[string]bool{}, uploads: map[string]bool{},
		refusals: audit.NewAggregator(o.Now, func(ctx context.Context, events ...audit.Event) error {
			return o.Store.Append(ctx, events...)
		})}
	e := s.echo
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.answerError
	// The language comes before everything that refuses: refusals are read by people too, and finding words without it is
	// slow.
	counts := newCalls(o.Metrics)
	e.Use(counts.counted, s.traced(counts), requestID, s.access(counts), s.headers, s.language, recovered, s.limitBody,
		s.crossOrigin, s.authenticate)
	for _, r := range append(routes, s.ownRoutes()...) {
		handler := r.Handler
		if r.Anonymous {
			s.anonymous[r.Path] = true
		}
		s.own[r.Path] = r.OwnCredential
		s.uploads[r.Method+" "+r.Path] = r.Uploads
		if !r.Public {
			handler = s.signedIn(handler)
		}
		e.Add(r.Method, r.Path, handler)
	}
	for prefix, h := range mounts {
		wrapped := echo.WrapHandler(h)
		e.Any(prefix, wrapped)
		if strings.HasSuffix(prefix, "/") {
			e.Any(prefix+"*", wrapped)
		}
	}
	counts.knows(e.Routes())
	return s, nil
}

// Routes lists everything that is mounted, for guards.
func (s *Server) Routes() []*echo.Route { return s.echo.Routes() }

// ServeHTTP is the host switch: workloads live on their own hosts, everything else is the portal.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opts.IsWorkload != nil && s.opts.IsWorkload(r.Host) {
		if s.opts.Gateway == nil {
			s.setHeaders(w.Header())
			http.Error(w, "no gateway here", http.StatusMisdirectedRequest)
			return
		}
		s.opts.Gateway.ServeHTTP(w, r)
		return
	}
	edge.KeepOwn(r.Header)
	if s.anonymous[r.URL.Path] {
		r.Header.Del("Cookie")
		r.Header.Del("Authorization")
	}
	s.echo.ServeHTTP(w, r)
}

func (s *Server) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.uploads[r.Method+" "+c.Path()] {
			return next(c)
		}
		if r.ContentLength > maxBody {
			return echo.NewHTTPError(http.StatusRequestEntityTooLarge)
		}
		r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBody)
		if r.ContentLength >= 0 {
			return next(c)
		}
		// Whoever reads a form hears nothing of a body that does not end: one of unknown length is read here.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return next(c)
	}
}

// signedIn lets only known people through: others get the sign-in page, programs a 401.
func (s *Server) signedIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !identity.ActorFrom(c.Request().Context()).IsZero() {
			return next(c)
		}
		if err, ok := c.Get(undecidedKey).(error); ok {
			return err
		}
		if c.Request().Method == http.MethodGet && wantsPage(c.Request()) {
			target := "/signin?return=" + url.QueryEscape(oidc.LocalPath(c.Request().URL.RequestURI()))
			if edge.Value(c.Request(), edge.Session) != "" {
				target += "&ended=1"
			}
			return c.Redirect(http.StatusSeeOther, target)
		}
		if s.opts.Pages != nil && wantsPage(c.Request()) && c.Request().Header.Get("HX-Request") == "" {
			c.Response().Status = http.StatusUnauthorized
			return s.opts.Pages.SignIn(c, formPage(c.Request()), i18n.T("signin.form_kept"))
		}
		return fault.New(fault.Unauthenticated, i18n.T("problem.sign_in_first"))
	}
}

// formPage is the page on which the form stood that was sent, "/" where the browser does not tell. Scripts of that page
// keep what was typed until its person is back (static/js/draft.js).
func formPage(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host {
		return "/"
	}
	return oidc.LocalPath(from.RequestURI())
}

// answerError is where an error becomes a reply: problem+json for programs, a page for people.
func (s *Server) answerError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	d := problem.Of(err, i18n.From(c.Request().Context()), RequestID(c))
	d.Trace = trace.ID(c.Request().Context())
	if d.Status >= 500 {
		s.opts.Logger.ErrorContext(c.Request().Context(), "failed", "trace", d.Trace, "path", c.Request().URL.Path,
			"error", err)
	}
	if d.Status == http.StatusUnauthorized {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="gpu-portal"`)
	}
	if s.opts.Pages != nil && wantsPage(c.Request()) {
		d.SetRetryAfter(c.Response().Header())
		if pageErr := s.opts.Pages.Error(c, d); pageErr == nil {
			return
		}
	}
	problem.Write(c.Response(), d)
}

func (s *Server) ownRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/healthz", Public: true, Handler: s.healthz},
		{Method: http.MethodGet, Path: "/readyz", Public: true, Handler: s.readyz},
		{Method: http.MethodGet, Path: "/signin", Public: true, Handler: s.signInPage},
		{Method: http.MethodPost, Path: "/signin", Public: true, Handler: s.signInStart},
		{Method: http.MethodGet, Path: "/signin/callback", Public: true, Handler: s.signInCallback},
		{Method: http.MethodPost, Path: "/signout", Public: true, Handler: s.signOut},
		{Method: http.MethodPost, Path: BackChannelPath, Public: true, Handler: s.backChannelLogout},
		{Method: http.MethodPost, Path: "/admin/people/:id/see", Action: identity.Impersonate, Handler: s.impersonate},
		{Method: http.MethodPost, Path: impersonationEndPath, Action: identity.ReadCatalog, Handler: s.endImpersonation},
	}
}

// healthz is for the liveness probe: it fails while a loop of this process hangs. With ?verbose it names the loops, as
// the Kubernetes API server does with its checks.
func (s *Server) healthz(c echo.Context) error {
	var checks []jobs.Check
	if s.opts.Alive != nil {
		checks = s.opts.Alive()
	}
	var text strings.Builder
	status := http.StatusOK
	for _, check := range checks {
		if check.Hung {
			status = http.StatusServiceUnavailable
			fmt.Fprintf(&text, "[-]%s failed: no sign of life for %s\n", check.Name, check.Since.Round(time.Second))
			continue
		}
		fmt.Fprintf(&text, "[+]%s ok\n", check.Name)
	}
	if !c.QueryParams().Has("verbose") {
		text.Reset()
	}
	text.WriteString(map[bool]string{true: "ok\n", false: "not ok\n"}[status == http.StatusOK])
	return c.String(status, text.String())
}

func (s *Server) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), 3*time.Second)
	defer cancel()
	if s.opts.Ready != nil {
		if err := s.opts.Ready(ctx); err != nil {
			return fault.Wrap(fault.Unavailable, err, i18n.T("problem.not_ready"))
		}
	}
	if !c.QueryParams().Has("verbose") || s.opts.Parts == nil {
		return c.String(http.StatusOK, "ready\n")
	}
	text := "[+]database ok\n"
	for _, p := range s.opts.Parts() {
		if p.Problem == "" {
			text += "[+]" + p.Name + " ok\n"
		} else {
			text += "[-]" + p.Name + " " + p.Problem + "\n"
		}
	}
	return c.String(http.StatusOK, text+"ready\n")
}

// Part is a system that the portal works with and can serve without for a while: it makes nothing unready.
type Part struct {
	Name    string // cluster/main, prometheus/main, oidc
	Problem string // in English, without secrets; "" where it answers
}

// errNoCredential says that a call carries nothing to know anybody by.
var errNoCredential = errors.New("no credential")

// wantsPage reports whether the caller is a person's browser asking for a page.
func wantsPage(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/api/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}
