package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/clusteruser"
	"github.com/gpu-portal/gpu-portal/internal/serve"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Headers and a parameter between the plugin's script and the portal; see static/console/plugin-entry.js.
const (
	flashHeader    = "X-Gpu-Portal-Flash"    // what was just done, from one answer to the next call
	locationHeader = "X-Gpu-Portal-Location" // of a redirect
	languageParam  = "console-language"      // of the console; an EventSource sends no headers of its own
)

// assetsPrefix is the basePath of the plugin's backend in its ConsolePlugin object.
const assetsPrefix = "/console-plugin/"

// Options are all needed.
type Options struct {
	Plugin  string       // name of the ConsolePlugin object
	Version string       // of the portal
	URL     string       // how browsers reach the portal itself
	Pages   http.Handler // the portal
	Bundle  *i18n.Bundle
	// Review says whom a token of the cluster belongs to. Faults: Unauthenticated, TooMany, Unavailable.
	Review func(ctx context.Context, token string) (clusteruser.User, error)
	// Person is the caller of the portal that a user of the cluster is. Faults: NotFound for nobody, Unauthenticated for
	// somebody who has to sign in at the portal again.
	Person func(ctx context.Context, u clusteruser.User) (identity.Actor, error)
	// Decides reports whether somebody decides requests.
	Decides func(identity.Actor) bool
	// Workloads counts those in a namespace that somebody may see.
	Workloads func(ctx context.Context, a identity.Actor, namespace string) (int, error)
}

// Handler answers the console.
type Handler struct {
	o    Options
	host string // of the portal
	*plugin
}

// New fails where the version is not one that a plugin can have.
func New(o Options) (*Handler, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	p, err := newPlugin(o)
	return &Handler{o: o, host: u.Host, plugin: p}, err
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "same-origin")
	if name, ok := strings.CutPrefix(r.URL.Path, assetsPrefix); ok {
		h.serveFile(w, r, name)
		return
	}
	l := h.o.Bundle.For(r.URL.Query().Get(languageParam), r.Header.Get("Accept-Language"))
	ctx := i18n.With(r.Context(), l)
	a, err := h.caller(ctx, r)
	var unknown unknownError
	switch {
	case errors.As(err, &unknown):
		h.unknown(ctx, w, unknown)
	case err != nil:
		problem.Write(w, problem.Of(err, l, problem.NewRequestID()))
	case strings.HasPrefix(r.URL.Path, "/console/"):
		h.serveData(ctx, w, r, a)
	case !shown(r.URL.Path):
		problem.Write(w, problem.Of(fault.New(fault.NotFound, i18n.T("web.no_page")), l, problem.NewRequestID()))
	default:
		out := &answer{ResponseWriter: w}
		h.o.Pages.ServeHTTP(out, h.translated(r, l, a))
	}
}

// serveData answers what the plugin asks beside pages: who the reader is to the navigation, and what a project holds.
func (h *Handler) serveData(ctx context.Context, w http.ResponseWriter, r *http.Request, a identity.Actor) {
	var body any
	namespace, project := strings.CutPrefix(r.URL.Path, "/console/projects/")
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "read only", http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/console/me":
		body = map[string]bool{"decides": h.o.Decides(a)}
	case project:
		n, err := h.o.Workloads(ctx, a, namespace)
		if err != nil {
			problem.Write(w, problem.Of(err, i18n.From(ctx), problem.NewRequestID()))
			return
		}
		body = map[string]any{"workloads": n, "text": i18n.From(ctx).S("console.workloads", "Count", n)}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(body) // the reader has gone
}

// shown reports whether a page belongs to what the console shows. Credentials, settings and the way in are the portal's
// own; /live is the stream of each page.
func shown(path string) bool {
	first, _, more := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if first == "" && more { // "//admin", whatever a router makes of it
		return false
	}
	return first == "live" || slices.Contains(layout.ConsolePlaces, first)
}

// caller is the person whose token came with a call.
func (h *Handler) caller(ctx context.Context, r *http.Request) (identity.Actor, error) {
	if impersonates(r.Header) {
		return identity.Actor{}, fault.New(fault.Forbidden, i18n.T("console.impersonates"))
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || strings.TrimSpace(token) == "" {
		return identity.Actor{}, fault.New(fault.Unauthenticated, i18n.T("console.no_token"))
	}
	u, err := h.o.Review(ctx, strings.TrimSpace(token))
	if err != nil {
		return identity.Actor{}, err
	}
	a, err := h.o.Person(ctx, u)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unauthenticated):
		return a, unknownError{user: u.Name, again: fault.Is(err, fault.Unauthenticated)}
	case err != nil:
		return a, err
	}
	a.Via, a.Session = identity.ViaConsole, sessionOf(token)
	return a, nil
}

// impersonates reports whether a page of the console asked to act as somebody else. The console passes the headers of
// the Kubernetes API for that on unchecked, and one of its own.
func impersonates(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") || strings.Contains(name, "-Impersonate-") {
			return true
		}
	}
	return false
}

// unknownError is for a user of the cluster who is nobody in the portal, or not any more.
type unknownError struct {
	user  string
	again bool
}

func (e unknownError) Error() string { return "no person for the user " + e.user }

func (h *Handler) unknown(ctx context.Context, w http.ResponseWriter, e unknownError) {
	l := i18n.From(ctx)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusForbidden)
	m := layout.UnknownModel{Lang: l.Lang(), User: e.user, Portal: h.o.URL, Again: e.again}
	_ = layout.Unknown(m).Render(ui.WithLocalizer(ctx, l), w) // the reader has gone
}

// translated is a call of the console as the portal's own handler reads one.
func (h *Handler) translated(r *http.Request, l *i18n.Localizer, a identity.Actor) *http.Request {
	own := r.Clone(serve.WithAdmitted(r.Context(), a))
	own.Host = h.host
	query := own.URL.Query()
	query.Del(languageParam)
	own.URL.RawQuery = query.Encode()
	own.RequestURI = own.URL.RequestURI()
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Sec-Fetch-Site"} {
		own.Header.Del(name)
	}
	own.Header.Set("Accept-Language", l.Lang())
	if flash := r.Header.Get(flashHeader); flash != "" {
		own.AddCookie(&http.Cookie{Name: edge.Flash, Value: flash})
	}
	return own
}
