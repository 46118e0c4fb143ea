package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// csp allows our own files only: no inline script or style, no frames, no other origin.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// headers sets what every answer carries, errors and streams included (ASVS 3.4).
func (s *Server) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s.setHeaders(c.Response().Header())
		return next(c)
	}
}

func (s *Server) setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if s.https {
		h.Set("Strict-Transport-Security", edge.HSTS)
	}
}

// requestID gives every call an id of our own; one sent by a client is not believed.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := problem.NewRequestID()
		c.Set(requestIDKey, id)
		c.Response().Header().Set("X-Request-Id", id)
		c.SetRequest(c.Request().WithContext(problem.WithRequestID(c.Request().Context(), id)))
		return next(c)
	}
}

const requestIDKey = "request_id"

// RequestID is the id of the call, as the person sees it on an error page and the log has it.
func RequestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// access writes one line for each call, with outcome and latency. Queries are left out: they may hold codes.
func (s *Server) access(calls *calls) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return s.accessed(c, calls, next) }
	}
}

func (s *Server) accessed(c echo.Context, calls *calls, next echo.HandlerFunc) error {
	start := time.Now()
	c.SetRequest(c.Request().WithContext(audit.WithRefusalMark(c.Request().Context())))
	err := next(c)
	if err != nil {
		c.Error(err)
	}
	r := c.Request()
	level := slog.LevelInfo
	if strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		level = slog.LevelDebug
	}
	attrs := []any{"method", r.Method, "path", r.URL.Path, "status", c.Response().Status, "ms",
		time.Since(start).Milliseconds(), "address", s.Address(r)}
	if id := trace.ID(r.Context()); id != "" {
		attrs = append(attrs, "trace", id)
	}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	s.opts.Logger.Log(r.Context(), level, "call", attrs...)
	s.noteAccess(c, calls)
	return nil
}

// recovered turns a panic into an error, which is answered and logged as any other.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return next(c)
	}
}

// crossOrigin refuses state changes that another site makes a browser send. Bearer tokens are not sent by browsers on
// their own, so API calls with one pass. A call with a session has to show where it comes from: browsers do, with every
// POST. The provider's logout tokens prove themselves by their signature, and that route looks at nothing else.
func (s *Server) crossOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(s.origin); err != nil { // a proxy may have put another Host into the call
		s.opts.Logger.Warn("the portal's own origin cannot be trusted by name", "error", err)
	}
	return func(c echo.Context) error {
		r := c.Request()
		if _, admitted := admittedBy(r.Context()); admitted || bearer(r) != "" || c.Path() == BackChannelPath {
			return next(c)
		}
		err := protection.Check(r)
		if err == nil && changes(r.Method) && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" &&
			!sessionless(r) {
			err = errNoOrigin
		}
		if err != nil {
			return echo.NewHTTPError(http.StatusForbidden).SetInternal(err)
		}
		return next(c)
	}
}

var errNoOrigin = errors.New("neither Origin nor Sec-Fetch-Site")

// changes reports whether a method may change something.
func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// sessionless is a program's call without its token: it hears that it is not signed in, which helps more.
func sessionless(r *http.Request) bool {
	return len(edge.Values(r, edge.Session)) == 0 && strings.HasPrefix(r.URL.Path, "/api/")
}

// language chooses the reader's language: their own choice, then what the browser prefers.
func (s *Server) language(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		l := s.opts.Bundle.For(edge.Value(c.Request(), edge.Language), c.Request().Header.Get("Accept-Language"))
		ctx := i18n.With(c.Request().Context(), l)
		if s.opts.Context != nil {
			ctx = s.opts.Context(ctx)
		}
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Header().Set("Content-Language", l.Lang())
		return next(c)
	}
}

// Address is where a call came from: the peer, or, when the peer is a trusted proxy, the last address that no trusted
// proxy added.
func (s *Server) Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if !s.trusted(host) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := strings.TrimSpace(hops[i])
		if net.ParseIP(hop) == nil {
			break
		}
		host = hop
		if !s.trusted(hop) {
			break
		}
	}
	return host
}

func (s *Server) trusted(address string) bool {
	ip := net.ParseIP(address)
	for _, n := range s.opts.TrustedProxies {
		if ip != nil && n.Contains(ip) {
			return true
		}
	}
	return false
}

// bearer is the API token of a call, "" for none.
func bearer(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
