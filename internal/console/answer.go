package console

import (
	"net/http"

	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// answer passes an answer of the portal on without what would count for the console's own origin: cookies, and
// redirects, which a fetch follows by itself to a page of the console.
type answer struct {
	http.ResponseWriter
	wrote bool
}

// Unwrap lets streams flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.wrote = true
		status = a.translate(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if !a.wrote {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

func (a *answer) translate(status int) int {
	h := a.Header()
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if c.Name == edge.Flash && c.MaxAge >= 0 {
			h.Set(flashHeader, c.Value)
		}
	}
	h.Del("Set-Cookie")
	if to := h.Get("Location"); to != "" && status >= 300 && status < 400 {
		h.Set(locationHeader, to)
		h.Del("Location")
		return http.StatusNoContent
	}
	return status
}
