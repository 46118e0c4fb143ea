package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// CheckKey says to a gateway of the site whether the key of a call opens an endpoint, by the same check as of a call
// that comes here: endpointkey.Answer, or an error of the OpenAI API for the caller. Whoever has a key would learn the
// same by a call with it. It is called at the portal's own address, whose edge writes the access line and the headers.
// An answer holds for Recheck, so that a key that is revoked opens nothing after it.
func (g *Gateway) CheckKey(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	gr, err := g.grantOf(r, query.Get(endpointkey.QueryNamespace), query.Get(endpointkey.QueryEndpoint),
		query.Get(endpointkey.QueryOutside) == "true")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		g.refuseKey(w, r, err)
		return
	}
	g.traffic.elsewhere(gr, g.opts.Now())
	g.watch() // which writes it down
	limits := gr.key.Limits
	w.Header().Set(endpointkey.KeyHeader, gr.key.ID)
	w.Header().Set(endpointkey.RequestsHeader, strconv.Itoa(limits.RequestsPerMinute))
	w.Header().Set(endpointkey.TokensHeader, strconv.Itoa(limits.TokensPerMinute))
	_ = json.NewEncoder(w).Encode(endpointkey.Answer{ID: gr.key.ID, RequestsPerMinute: limits.RequestsPerMinute,
		TokensPerMinute: limits.TokensPerMinute})
}

// refuseKey says why a key opens nothing, or that nobody can say.
func (g *Gateway) refuseKey(w http.ResponseWriter, r *http.Request, err error) {
	a := answer{status: http.StatusServiceUnavailable, title: i18n.T("gateway.unavailable.title"),
		text: i18n.T("gateway.unavailable")}
	if code, text, ok := keyRefusal(err); ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		a = answer{status: http.StatusUnauthorized, text: text, code: code}
	} else if r.Context().Err() == nil {
		g.opts.Logger.ErrorContext(r.Context(), "cannot ask whether a key opens an endpoint", "error", err.Error())
	}
	w.WriteHeader(a.status)
	a.writeOpenAI(w, g.opts.Bundle.For(r.Header.Get("Accept-Language")))
}

// grantOf is what the key of a call opens: an endpoint in a namespace. A call without a key is refused like one with a
// wrong key.
func (g *Gateway) grantOf(r *http.Request, namespace, name string, outside bool) (grant, error) {
	bearer, key, err := bearerOf(r)
	switch {
	case err != nil:
		return grant{}, err
	case bearer == "":
		return grant{}, errKey
	}
	_, gr, err := g.admit(r.Context(), claim{name: name, bearer: bearer, key: key, outside: outside})
	if err == nil && gr.workload.Namespace != namespace {
		return grant{}, errKey
	}
	return gr, err
}

// elsewhere counts a call that a gateway of the site carries: what it takes, nobody tells.
func (t *keyCounts) elsewhere(gr grant, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of(gr.key).hour(gr.key.ID, gr.workload.ID, now)
	h.Requests++
	h.WithoutUsage++
}
