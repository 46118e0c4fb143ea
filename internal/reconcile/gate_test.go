package reconcile_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
)

// gate stands between a controller and the API server: it holds back what watches say, cuts them, and makes the server
// sick. It counts what passes.
type gate struct {
	mu     sync.Mutex
	held   chan struct{} // watches wait until it is closed; nil: they do not
	cut    chan struct{} // closed: watches are broken and refused; nil: they are not
	fault  func(r *http.Request, next http.RoundTripper) (*http.Response, error)
	calls  int
	writes map[string][]time.Time // by path
	gone   int                    // observeReady that a resourceVersion is too old
}

func newGate() *gate { return &gate{writes: map[string][]time.Time{}} }

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.held)
	g.held = nil
}

func (g *gate) cutWatches() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = make(chan struct{})
	close(g.cut)
}

func (g *gate) mend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = nil
}

// sick makes every call go through a fault; nil heals.
func (g *gate) sick(fault func(*http.Request, http.RoundTripper) (*http.Response, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = fault
}

func (g *gate) state() (held, cut chan struct{}, fault func(*http.Request, http.RoundTripper) (*http.Response, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held, g.cut, g.fault
}

func (g *gate) counted() (calls, gone int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls, g.gone
}

// writesSince is how often each path was written to.
func (g *gate) writesSince(begun time.Time) map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := map[string]int{}
	for path, times := range g.writes {
		for _, at := range times {
			if at.After(begun) {
				counts[path]++
			}
		}
	}
	return counts
}

type gated struct {
	next http.RoundTripper
	gate *gate
}

func (t gated) RoundTrip(r *http.Request) (*http.Response, error) {
	g := t.gate
	_, cut, fault := g.state()
	g.mu.Lock()
	g.calls++
	if r.Method != http.MethodGet {
		g.writes[r.URL.Path] = append(g.writes[r.URL.Path], time.Now())
	}
	g.mu.Unlock()
	watches := r.URL.Query().Get("watch") != ""
	switch {
	case cut != nil && watches:
		return nil, syscall.ECONNREFUSED
	case cut != nil && r.URL.Path == "/readyz": // only the watches are cut
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
			Body: io.NopCloser(strings.NewReader("ok"))}, nil
	case fault != nil:
		return fault(r, t.next)
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil || !watches {
		return answer, err
	}
	if answer.StatusCode == http.StatusGone {
		g.tooOld()
	}
	answer.Body = &watchBody{ReadCloser: answer.Body, gate: g, ctx: r.Context()}
	return answer, nil
}

func (g *gate) tooOld() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone++
}

// watchBody is what a watch says.
type watchBody struct {
	io.ReadCloser
	gate *gate
	ctx  context.Context
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for {
		held, cut, _ := b.gate.state()
		if cut != nil {
			return 0, syscall.ECONNRESET
		}
		if held == nil {
			break
		}
		select {
		case <-held:
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		case <-time.After(50 * time.Millisecond): // it may have been cut
		}
	}
	if bytes.Contains(p[:n], []byte("too old resource version")) {
		b.gate.tooOld()
	}
	return n, err
}

// optionalInformers is a controller of its own on the same store, behind a gate.
func (r *real) behind(g *gate, adjust ...func(*reconcile.Options)) (c *reconcile.Controller, stop func()) {
	config := rest.CopyConfig(r.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gated{next, g} })
	cluster, err := reconcile.NewCluster(reconciletest.Cluster, config)
	if err != nil {
		r.t.Fatal(err)
	}
	o := reconciletest.Options(r.store, r.namespace, cluster)
	for _, a := range adjust {
		a(&o)
	}
	c = reconcile.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	r.t.Cleanup(stop)
	return c, stop
}

// newBehind is a world whose only controller is behind a gate.
func newBehind(t *testing.T, adjust ...func(*reconcile.Options)) (*real, *gate) {
	r := &real{Devstack: reconciletest.NeedDevstack(t), t: t, store: reconciletest.NewStore()}
	r.namespace = r.Namespace(t)
	g := newGate()
	r.controller, r.stop = r.behind(g, adjust...)
	return r, g
}

// passCount is how many passes over workloads a controller with that registry has made.
func passCount(t *testing.T, registry *prometheus.Registry) (n uint64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "gpu_portal_reconcile_duration_seconds" {
			for _, m := range f.GetMetric() {
				n += m.GetHistogram().GetSampleCount()
			}
		}
	}
	return n
}
