package gateway

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Trial is one call of an endpoint that a person makes from the portal's own page.
type Trial struct {
	Workload string // its name
	Method   string
	Path     string // with its query: "/v1/chat/completions"
}

// TriedHeader says what kind of content an endpoint answered with. It is on every answer of Try that was not the
// portal's own; the answer itself is plain text to the browser, whatever the endpoint says.
const TriedHeader = "Gpu-Portal-Content-Type"

// trialKey has the claim of a call by Try.
type trialKey struct{}

// Try passes on a call from the portal's page, as the person's own call in a browser would be: with their rights, which
// are asked again while it is under way, and their limits. The answer comes from the portal's origin, so nothing of it
// may act there: of its headers none but Retry-After goes on, its body is text, and the portal's headers stay. Faults:
// Forbidden for anybody but a person in a browser of their own, Invalid for a path or method that cannot be.
func (g *Gateway) Try(w http.ResponseWriter, r *http.Request, a identity.Actor, t Trial) error {
	if a.IsZero() || a.Via != identity.ViaSession || a.Session == "" || a.Impersonator != nil {
		return fault.New(fault.Forbidden, i18n.T("problem.browser_only"))
	}
	u, err := url.ParseRequestURI(t.Path)
	if err != nil || !isLabel(t.Workload) || localPath(t.Path) != t.Path {
		return fault.New(fault.Invalid, i18n.T("gateway.try_path"))
	}
	switch t.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		return fault.New(fault.Invalid, i18n.T("gateway.try_path"))
	}
	c := claim{name: t.Workload, session: a.Session, person: a.Person.ID}
	out := r.Clone(context.WithValue(r.Context(), trialKey{}, c))
	out.Method, out.URL, out.RequestURI, out.Pattern = t.Method, u, t.Path, ""
	out.Host = strings.TrimPrefix(g.URL(t.Workload), g.scheme+"://")
	out.Header = http.Header{"Accept": {"application/json, text/event-stream, */*"}}
	for _, name := range []string{"Content-Type", "Accept-Language", "User-Agent", "X-Forwarded-For"} {
		if v, ok := r.Header[name]; ok {
			out.Header[name] = v
		}
	}
	if t.Method == http.MethodGet {
		out.Body, out.ContentLength = http.NoBody, 0
		out.Header.Del("Content-Type")
	}
	g.ServeHTTP(&triedWriter{ResponseWriter: w, header: http.Header{}}, out)
	return nil
}

// triedWriter keeps the headers of an endpoint from the portal's origin.
type triedWriter struct {
	http.ResponseWriter
	header http.Header // as the endpoint, or the gateway, sets them; they go nowhere
	wrote  bool
}

func (w *triedWriter) Header() http.Header { return w.header }

// Unwrap lets http.ResponseController find Flush and the deadlines.
func (w *triedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *triedWriter) WriteHeader(status int) {
	if status < http.StatusOK || w.wrote {
		return
	}
	w.wrote = true
	kind, _, err := mime.ParseMediaType(w.header.Get("Content-Type"))
	if err != nil {
		kind = "application/octet-stream"
	}
	h := w.ResponseWriter.Header()
	h.Set(TriedHeader, kind)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	if v := w.header.Get("Retry-After"); v != "" {
		h.Set("Retry-After", v)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *triedWriter) Write(data []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(data)
}
