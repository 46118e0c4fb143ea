package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// outsideKey marks a call that came by the external domain.
type outsideKey struct{}

func fromOutside(ctx context.Context) bool { return ctx.Value(outsideKey{}) != nil }

// serveOutside answers a call by the external domain. A key of an endpoint that is reached from outside is all that
// opens anything here: cookies are not read, nobody is sent to the portal to sign in, and there are no pages for
// people. What is not reached from outside and what does not exist look alike.
func (g *Gateway) serveOutside(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(context.WithValue(r.Context(), outsideKey{}, true))
	name, ok := g.outside.name(r.Host)
	switch {
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace || r.Method == "TRACK":
		g.refuse(w, r, http.StatusMethodNotAllowed, i18n.T("gateway.method"))
	case headerBytes(r) > g.opts.MaxHeaderBytes:
		g.refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, i18n.T("gateway.headers"))
	case r.URL.RawQuery != "" && keyInQuery(r.URL.RawQuery):
		g.badKey(w, r, http.StatusBadRequest, "key_in_query", i18n.T("gateway.key_in_query"))
	case !ok || strings.HasPrefix(r.URL.Path, ownPaths):
		g.denied(w, r, name, errKey)
	case name == workload.ModelsHost:
		g.route(w, r)
	default:
		g.pass(w, r, name)
	}
}

// siteOfCall is the domain that a call came by.
func (g *Gateway) siteOfCall(ctx context.Context) site {
	if fromOutside(ctx) {
		return g.outside
	}
	return site{domain: g.domain, port: g.port}
}
