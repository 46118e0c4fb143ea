package api

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// pod is one workload whose server sends back what it gets.
type pod struct {
	server net.Listener
	mu     sync.Mutex
	item   workload.Workload
	events []audit.Event
}

func (p *pod) Get(_ context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != p.item.ID {
		return workload.Workload{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	return p.item, workload.Permit(a, identity.ReadWorkload, p.item)
}

func (p *pod) Dials(string) bool { return true }

func (p *pod) Dial(context.Context, workload.Workload, int32) (net.Conn, error) {
	return net.Dial("tcp", p.server.Addr().String())
}

func (p *pod) Append(_ context.Context, events ...audit.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, events...)
	return nil
}

func (p *pod) change(change func(*workload.Workload)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.item)
}

// portal has the surface with a tunnel to the pod, for one who calls by via.
func newTunnel(t *testing.T, via identity.Via) (*pod, string) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	p := &pod{server: server, item: workload.Workload{ID: "w-1", Kind: catalog.Notebook, Tenant: "vision", Owner: "p-1",
		Image:   catalog.Image{Port: 8888, SSH: &catalog.SSH{Port: 2222, User: "jovyan"}},
		Desired: workload.WantRunning, State: workload.Running, Observed: workload.Observation{Pod: "a-0"}}}
	tunnels := tunnel.New(tunnel.Options{Workloads: p, Pods: p, Record: p, Every: 5 * time.Millisecond,
		Rules: tunnel.Rules{Enabled: true, MaxBytes: 1 << 30, Limits: session.Limits{Idle: time.Hour, Longest: time.Hour,
			Most: 5, PerPerson: 5}}})
	someone := identity.Actor{Person: identity.Person{ID: "p-1"}, Via: via,
		Tenants: map[string][]identity.Role{"vision": {identity.Developer}}}
	surface := New(Deps{Tunnels: tunnels})
	english := i18n.MustLoad().For("en")
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		surface.ServeHTTP(w, r.WithContext(i18n.With(identity.WithActor(r.Context(), someone), english)))
	}))
	t.Cleanup(portal.Close)
	return p, portal.URL + "/api/v1/workloads/w-1/tunnel"
}

// TestATunnelPassesBytes of a WebSocket to the pod and back, and says why it ends.
func TestATunnelPassesBytes(t *testing.T) {
	p, url := newTunnel(t, identity.ViaToken)
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	sent := strings.Repeat("\x00\xff every byte\r\n", 40_000)
	conn.SetReadLimit(1 << 20)
	go func() {
		for rest := sent; rest != ""; rest = rest[min(len(rest), 10_000):] {
			if conn.Write(t.Context(), websocket.MessageBinary, []byte(rest[:min(len(rest), 10_000)])) != nil {
				return
			}
		}
	}()
	var got strings.Builder
	for got.Len() < len(sent) {
		kind, message, err := conn.Read(t.Context())
		if err != nil || kind != websocket.MessageBinary {
			t.Fatalf("after %d bytes: %v %v %s", got.Len(), kind, err, message)
		}
		got.Write(message)
	}
	if got.String() != sent {
		t.Error("want the same bytes back")
	}
	p.change(func(w *workload.Workload) { w.State, w.Desired = workload.Stopping, workload.WantStopped })
	kind, message, err := conn.Read(t.Context())
	var last struct{ End string }
	if err != nil || kind != websocket.MessageText || json.Unmarshal(message, &last) != nil ||
		!strings.Contains(last.End, "the workload stopped") {
		t.Errorf("want it told why it ended, got %v %s %v", kind, message, err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("want it closed in order, got %v", err)
	}
	waittest.For(t, "the end in the record", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.events) == 2 && p.events[0].Kind == audit.TunnelOpened && p.events[1].Kind == audit.TunnelClosed
	})
}

// TestATextIsNoByte: what is no byte of the connection ends it.
func TestATextIsNoByte(t *testing.T) {
	_, url := newTunnel(t, identity.ViaToken)
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("want it refused, got %v", err)
	}
}

// TestATunnelIsRefusedInWords before there is a WebSocket.
func TestATunnelIsRefusedInWords(t *testing.T) {
	for name, c := range map[string]struct {
		via    identity.Via
		change func(*workload.Workload)
		plain  bool
		query  string
		status int
		words  string
	}{
		"a browser session": {via: identity.ViaSession, status: 403, words: "programs that sign in with an API token"},
		"somebody else's": {change: func(w *workload.Workload) { w.Owner = "p-2" }, status: 403,
			words: "has not shared it"},
		"no server": {change: func(w *workload.Workload) { w.Image.SSH = nil }, status: 409,
			words: "no SSH server"},
		"no such port": {query: "?port=grpc", status: 409, words: "It has: ssh"},
		"stopped": {change: func(w *workload.Workload) { w.State = workload.Stopped }, status: 409,
			words: "It is not running"},
		"no WebSocket": {plain: true, status: 409, words: "supports only WebSocket"},
	} {
		t.Run(name, func(t *testing.T) {
			via := identity.ViaToken
			if c.via != "" {
				via = c.via
			}
			p, url := newTunnel(t, via)
			if c.change != nil {
				p.change(c.change)
			}
			url += c.query
			var resp *http.Response
			var err error
			if c.plain {
				resp, err = http.Get(url) //nolint:noctx // of a test
				if err != nil {
					t.Fatal(err)
				}
			} else if _, resp, err = websocket.Dial(t.Context(), url, nil); err == nil || resp == nil {
				t.Fatalf("want it refused, got %v", err)
			}
			defer func() { _ = resp.Body.Close() }()
			text, _ := io.ReadAll(resp.Body)
			var problem Problem
			if err := json.Unmarshal(text, &problem); err != nil || resp.StatusCode != c.status ||
				!strings.Contains(problem.Detail, c.words) {
				t.Errorf("want %d %q, got %d %s", c.status, c.words, resp.StatusCode, text)
			}
			if len(p.events) != 0 {
				t.Errorf("want no tunnel recorded, got %v", p.events)
			}
		})
	}
}
