package agent

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves /v1/report, /metrics and /healthz. tokenFile, when it is not "", holds the bearer token that the first
// two ask for; it is read anew for each request, so that a Secret may change under a running agent. An unreadable or
// empty file lets nobody in.
func Handler(l *Loop, tokenFile string) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&metrics{loop: l})
	guard := func(h http.Handler) http.Handler { return h }
	if tokenFile != "" {
		guard = func(h http.Handler) http.Handler { return bearer(tokenFile, h) }
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/report", guard(report(l)))
	mux.Handle("GET /metrics", guard(promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4,
		ErrorHandling: promhttp.ContinueOnError})))
	mux.Handle("GET /healthz", healthz(l))
	return mux
}

// Server answers on a node where anybody may try to keep connections open: everything has a time limit.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: http.MaxBytesHandler(h, 0), MaxHeaderBytes: 8 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute,
	}
}

// report serves the last report whatever its age: it says when it was taken.
func report(l *Loop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		round, ok := l.Last()
		if !ok {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "the first round has not ended", http.StatusServiceUnavailable)
			return
		}
		body, err := json.Marshal(round.Report)
		if err != nil {
			http.Error(w, "the report cannot be written", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(append(body, '\n'))
	}
}

// healthz is for the liveness probe: without a driver the agent is well, in a call that does not end it is not.
func healthz(l *Loop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if l.Stuck() {
			http.Error(w, "a call into the driver does not end", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}
}

func bearer(file string, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if want, known := token(file); !ok || !known || !same(given, want) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func token(file string) (string, bool) {
	data, err := os.ReadFile(file)
	t := strings.TrimSpace(string(data))
	return t, err == nil && t != ""
}

// same takes equally long whatever is given; hashing hides the length too.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
