package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// record is what a gateway has logged.
type record struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

// await gives the access line of the n-th call, which is written after its answer.
func (r *record) await(t *testing.T, n int) map[string]any {
	t.Helper()
	var calls []map[string]any
	waittest.For(t, fmt.Sprint("the line of call ", n), func() bool {
		r.mu.Lock()
		text := r.out.String()
		r.mu.Unlock()
		calls = nil
		for line := range strings.Lines(text) {
			var attrs map[string]any
			if err := json.Unmarshal([]byte(line), &attrs); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			if attrs["msg"] == "gateway call" {
				calls = append(calls, attrs)
			}
		}
		if len(calls) > n {
			t.Fatalf("want %d calls, got %v", n, calls)
		}
		return len(calls) == n
	})
	return calls[n-1]
}

// TestEachCallIsOneLine: also one that is refused, and a websocket, at its end; never what the user asked their own
// program for.
func TestEachCallIsOneLine(t *testing.T) {
	log := &record{}
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Logger = logging.New(log, logging.JSON, slog.LevelInfo) })
	refused := w.get("nb-anna", "/private/plan.txt?token=canary")
	text(t, refused)
	line := log.await(t, 1)
	want := func(what string, attrs map[string]any) {
		t.Helper()
		for key, value := range attrs {
			if line[key] != value {
				t.Errorf("%s: %s: want %v, got %v", what, key, value, line[key])
			}
		}
	}
	want("without a cookie", map[string]any{"status": float64(refused.StatusCode), "host": "nb-anna.apps.test",
		"method": "GET", "workload": nil, "actor": nil})

	cookie := w.signIn(annaPortal, "nb-anna") // the way to the portal, and the way back
	log.await(t, 3)
	res := w.get("nb-anna", "/private/plan.txt?token=canary", "Cookie", cookie)
	size := len(text(t, res))
	line = log.await(t, 4)
	want("to the pod", map[string]any{"status": float64(res.StatusCode), "workload": "w-nb-anna", "actor": "anna",
		"cluster": "c1", "bytes": float64(size), "path": nil})
	if id, _ := line["request"].(string); len(id) != 16 {
		t.Errorf("want the id of the call, got %q", id)
	}

	conn := w.mustDial("nb-anna", cookie)
	if _, err := w.echo(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseNow()
	line = log.await(t, 5)
	want("a websocket", map[string]any{"status": float64(http.StatusSwitchingProtocols), "workload": "w-nb-anna"})
	log.mu.Lock()
	defer log.mu.Unlock()
	if all := log.out.String(); strings.Contains(all, "canary") || strings.Contains(all, "plan.txt") {
		t.Errorf("the log has what is the user's own: %s", all)
	}
}

// TestTheAnswerNamesItsCall: what a program is told leads to the line of the log.
func TestTheAnswerNamesItsCall(t *testing.T) {
	log := &record{}
	w := newWorld(t, func(o *Options, _ *PodsOptions) { o.Logger = logging.New(log, logging.JSON, slog.LevelInfo) })
	res := w.get("nb-anna", "/", "Sec-Fetch-Mode", "cors", "Accept", "application/json")
	var problem struct{ Instance string }
	if err := json.NewDecoder(res.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	id, _ := log.await(t, 1)["request"].(string)
	if id == "" || problem.Instance != "urn:gpu-portal:request:"+id || res.Header.Get("X-Request-Id") != id {
		t.Errorf("want %q, got %q and %q", id, problem.Instance, res.Header.Get("X-Request-Id"))
	}
}
