package serve

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// calls counts what is asked of the portal. The route is the pattern that matched, never the path, so that nobody can
// make new series by asking.
type calls struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
	open  prometheus.Gauge
	known map[string]bool // the patterns that are mounted
}

func newCalls(registry prometheus.Registerer) *calls {
	m := &calls{known: map[string]bool{},
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_http_requests_total",
			Help: "Calls of pages and API that were answered."}, []string{"method", "route", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gpu_portal_http_request_duration_seconds",
			Help:    "Time until a call of pages or API was answered; streams of open pages are left out.",
			Buckets: []float64{.005, .02, .05, .15, .5, 1, 2.5, 10}}, []string{"route"}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "gpu_portal_http_requests_in_flight",
			Help: "Calls of pages and API that are being answered, streams included."}),
	}
	if registry != nil {
		registry.MustRegister(m.total, m.took, m.open)
	}
	return m
}

func (m *calls) counted(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		m.open.Inc()
		defer m.open.Dec()
		err := next(c)
		route := m.routeOf(c)
		m.total.WithLabelValues(methodOf(c.Request().Method), route, strconv.Itoa(c.Response().Status)).Inc()
		if c.Response().Status != http.StatusSwitchingProtocols &&
			!strings.HasPrefix(c.Response().Header().Get("Content-Type"), "text/event-stream") {
			m.took.WithLabelValues(route).Observe(time.Since(start).Seconds())
		}
		return err
	}
}

// noRoute stands for every path that leads nowhere.
const noRoute = "none"

// routeOf is the pattern that matched: within what is mounted as a whole, as the API is, that of its own mux. Where
// nothing matched, echo has the path itself in the place of the pattern.
func (m *calls) routeOf(c echo.Context) string {
	if _, pattern, inner := strings.Cut(c.Request().Pattern, " "); inner {
		return pattern
	}
	if !m.known[c.Path()] {
		return noRoute
	}
	return c.Path()
}

// knows notes what is mounted, once everything is.
func (m *calls) knows(routes []*echo.Route) {
	for _, r := range routes {
		m.known[r.Path] = true
	}
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions}

func methodOf(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "other"
}

// traced begins a trace for each call but those of machines that only look whether we live, and of files. Its name is
// the pattern that matched.
func (s *Server) traced(m *calls) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if path := c.Path(); path == "/healthz" || path == "/readyz" || strings.HasPrefix(path, "/static/") {
				return next(c)
			}
			ctx, span := s.opts.Traces.Begin(c.Request().Context(), "call")
			c.SetRequest(c.Request().WithContext(ctx))
			err := next(c)
			method, route, status := methodOf(c.Request().Method), m.routeOf(c), c.Response().Status
			span.Name(method + " " + route)
			span.Set("http.request.method", method, "http.route", route, "http.response.status_code", strconv.Itoa(status),
				"request", RequestID(c))
			var failed error
			if status >= http.StatusInternalServerError {
				failed = errFailed
			}
			span.End(failed)
			return err
		}
	}
}

// errFailed stands for what the log has: an error's words may hold what is nobody's business.
var errFailed = errors.New("answered with a failure")
