package agent

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// fakeSource gives the reports it is told to, and waits where it is told to.
type fakeSource struct {
	report Report
	err    error
	hold   chan struct{}
	inside chan struct{}
	closed atomic.Bool
}

func (f *fakeSource) Read(time.Time) (Report, error) {
	if f.hold != nil {
		close(f.inside)
		<-f.hold
	}
	return f.report, f.err
}

func (f *fakeSource) Close() { f.closed.Store(true) }

// clock is a time that a test moves.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(now.UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

func oneCard() Report {
	g := GPU{
		Index: 0, UUID: Known("GPU-1"), Name: Known("NVIDIA H100"), Memory: Memory{Total: Known(uint64(80 << 30)),
			Used: Unknown[uint64](NoPermission)},
		ECC:  ECC{AggregateCorrected: Known(uint64(0))},
		XIDs: Known(XIDs{Since: now, Counts: []XIDCount{{XID: 79, Count: 2, Last: now}}}),
		Processes: Known([]Process{
			{PID: 1, Kind: "compute", UsedBytes: Known(uint64(10)), Container: Known(Container{ID: id1, PodUID: Known(uid)})},
			{PID: 2, Kind: "compute", UsedBytes: Known(uint64(32)), Container: Known(Container{ID: id1, PodUID: Known(uid)})},
			{PID: 3, Kind: "compute", UsedBytes: Known(uint64(32)), Container: Known(Container{ID: id2, PodUID: Known(uid)})},
			{PID: 4, Kind: "mps", UsedBytes: Unknown[uint64](NotAvailable),
				Container: Known(Container{ID: id2, PodUID: Known(uid)})},
		}),
	}
	return Report{Driver: Driver{State: Ready, Version: Known("580.1"), Sessions: 1}, GPUs: Known([]GPU{g})}
}

func get(t *testing.T, h http.Handler, method, path, authorization string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// samples are by name and, where it has any, the label that the test is about.
func samples(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := get(t, h, "GET", "/metrics", "")
	if w.Code != http.StatusOK {
		t.Fatalf("metrics answer %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func value(f *dto.MetricFamily, labels ...string) (float64, bool) {
next:
	for _, m := range f.GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		for i := 0; i < len(labels); i += 2 {
			if has[labels[i]] != labels[i+1] {
				continue next
			}
		}
		return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
	}
	return 0, false
}

func TestServing(t *testing.T) {
	c := newClock()
	loop := NewLoop(Options{Source: &fakeSource{report: oneCard()}, Interval: 10 * time.Second, Node: "n1", Version: "v1",
		Now: c.now})
	h := Handler(loop, "")
	if w := get(t, h, "GET", "/v1/report", ""); w.Code != http.StatusServiceUnavailable ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("before the first round: %d", w.Code)
	}
	if w := get(t, h, "GET", "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("healthz before the first round: %d", w.Code)
	}
	if err := loop.round(); err != nil {
		t.Fatal(err)
	}
	w := get(t, h, "GET", "/v1/report", "")
	r, err := Parse(w.Body)
	if err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %v", w.Code, w.Header(), err)
	}
	if r.Node != "n1" || r.AgentVersion != "v1" || !r.TakenAt.Equal(now) || r.IntervalSeconds != 10 {
		t.Errorf("got %+v", r)
	}
	for _, path := range []string{"/v1/report", "/metrics"} {
		if w := get(t, h, "POST", path, ""); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
	if w := get(t, h, "GET", "/", ""); w.Code != http.StatusNotFound {
		t.Errorf("another path: %d", w.Code)
	}
}

func TestMetrics(t *testing.T) {
	c := newClock()
	loop := NewLoop(Options{Source: &fakeSource{report: oneCard()}, Interval: 10 * time.Second, Version: "v1", Now: c.now})
	h := Handler(loop, "")
	_ = loop.round()
	s := samples(t, h)
	for name, want := range map[string]float64{
		"driver_ready": 1, "gpus": 1, "memory_total_bytes": 80 << 30, "ecc_errors_total": 0, "rounds_total": 1,
		"driver_sessions_total": 1, "gpu_lost": 0,
	} {
		if got, ok := value(s["gpu_portal_agent_"+name]); !ok || got != want {
			t.Errorf("%s: want %v, got %v (%v)", name, want, got, ok)
		}
	}
	if got, _ := value(s["gpu_portal_agent_xid_errors_total"], "uuid", "GPU-1", "xid", "79"); got != 2 {
		t.Errorf("XID 79: %v", got)
	}
	held := s["gpu_portal_agent_container_memory_used_bytes"]
	if got, _ := value(held, "container_id", id1, "pod_uid", uid); got != 42 {
		t.Errorf("a container's memory is %v", got)
	}
	if _, ok := value(held, "container_id", id2); ok {
		t.Error("a sum with an unknown in it is shown as known")
	}
	for _, name := range []string{"memory_used_bytes", "mig_enabled", "remapped_rows", "row_remap_failed",
		"vgpu_instances"} {
		if _, ok := s["gpu_portal_agent_"+name]; ok {
			t.Errorf("%s is unknown, and is a metric", name)
		}
	}
	if got, _ := value(s["gpu_portal_agent_unknown_values"], "reason", "no_permission"); got != 1 {
		t.Errorf("unknown for want of permission: %v", got)
	}

	c.advance(31 * time.Second)
	s = samples(t, h)
	if _, ok := s["gpu_portal_agent_memory_total_bytes"]; ok {
		t.Error("a report older than three intervals is shown as how things are")
	}
	if _, ok := value(s["gpu_portal_agent_report_timestamp_seconds"]); !ok {
		t.Error("how old the report is cannot be seen")
	}
}

// A card that is listed twice, or whose name is no text, must not take the other samples away.
func TestMetricsOfOddCards(t *testing.T) {
	r := oneCard()
	gpus := append([]GPU{}, r.GPUs.Or(nil)[0], r.GPUs.Or(nil)[0])
	r.GPUs = Known(gpus)
	loop := NewLoop(Options{Source: &fakeSource{report: r}, Interval: time.Second, Now: newClock().now})
	_ = loop.round()
	if got, _ := value(samples(t, Handler(loop, ""))["gpu_portal_agent_gpus"]); got != 2 {
		t.Errorf("gpus: %v", got)
	}
}

func TestBearerToken(t *testing.T) {
	loop := NewLoop(Options{Source: &fakeSource{report: oneCard()}, Interval: time.Second})
	_ = loop.round()
	file := filepath.Join(t.TempDir(), "token")
	h := Handler(loop, file)
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what, given string, want int) {
		t.Helper()
		for _, path := range []string{"/v1/report", "/metrics"} {
			if w := get(t, h, "GET", path, given); w.Code != want {
				t.Errorf("%s: %s answers %d, want %d", what, path, w.Code, want)
			}
		}
	}
	check("no file", "Bearer ", 401)
	write("\n")
	check("an empty file", "Bearer ", 401)
	write("secret\n")
	check("none given", "", 401)
	check("a wrong one", "Bearer secreT", 401)
	check("another scheme", "Basic secret", 401)
	check("the right one", "Bearer secret", 200)
	write("newer")
	check("after the change", "Bearer secret", 401)
	check("the new one", "Bearer newer", 200)
	if w := get(t, h, "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("the kubelet has no token: %d", w.Code)
	}
}

func TestLoop(t *testing.T) {
	t.Run("a round per tick until it is told to end", func(t *testing.T) {
		ticks, source := make(chan time.Time), &fakeSource{report: oneCard()}
		loop := NewLoop(Options{Source: source, Interval: time.Hour, Ticks: ticks})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- loop.Run(ctx) }()
		ticks <- now
		ticks <- now // taken after the second round
		if r, ok := loop.Last(); !ok || r.Number < 2 {
			t.Errorf("%d rounds after one tick", r.Number)
		}
		cancel()
		if err := <-ended; err != nil || !source.closed.Load() {
			t.Errorf("%v, closed: %v", err, source.closed.Load())
		}
	})
	t.Run("the source asks for a new process", func(t *testing.T) {
		source := &fakeSource{err: ErrRestart}
		loop := NewLoop(Options{Source: source, Interval: time.Hour})
		if err := loop.Run(t.Context()); err != ErrRestart || !source.closed.Load() {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a call that does not end", func(t *testing.T) {
		c, source := newClock(), &fakeSource{hold: make(chan struct{}), inside: make(chan struct{})}
		loop := NewLoop(Options{Source: source, Interval: 10 * time.Second, Now: c.now})
		h := Handler(loop, "")
		ended := make(chan error)
		go func() { ended <- loop.round() }()
		<-source.inside
		c.advance(time.Minute)
		if w := get(t, h, "GET", "/healthz", ""); w.Code != 200 {
			t.Errorf("after a minute: %d", w.Code)
		}
		c.advance(2 * time.Minute)
		if w := get(t, h, "GET", "/healthz", ""); w.Code != http.StatusServiceUnavailable {
			t.Errorf("after three minutes: %d", w.Code)
		}
		close(source.hold)
		<-ended
		if w := get(t, h, "GET", "/healthz", ""); w.Code != 200 {
			t.Errorf("when it has ended: %d", w.Code)
		}
	})
}

// Each metric is in doc.go and each in doc.go exists, so far as its name goes.
func TestMetricsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "# Metrics")
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(source), "\n") {
		for _, f := range []string{`s.gauge("`, `s.counter("`} {
			if _, rest, ok := strings.Cut(line, f); ok {
				if name, _, _ := strings.Cut(rest, `"`); !strings.Contains(list, name) {
					t.Errorf("%s is not in doc.go", name)
				}
			}
		}
	}
}

func TestServerHasLimits(t *testing.T) {
	s := Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("a body was read")
		}
	}))
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 ||
		s.MaxHeaderBytes == 0 || s.MaxHeaderBytes > 64<<10 {
		t.Errorf("got %+v", s)
	}
	s.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", strings.NewReader("body")))
}
