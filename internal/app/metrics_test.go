package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// scrape is what Prometheus would read now.
func (w *world) scrape() map[string]*dto.MetricFamily {
	w.t.Helper()
	reply := httptest.NewRecorder()
	w.meters.handler().ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if reply.Code != http.StatusOK {
		w.t.Fatalf("want metrics, got %d: %s", reply.Code, reply.Body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(reply.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return families
}

// sample is one value of a family, found by its labels ("outcome=approved"); false where there is none.
func sample(f *dto.MetricFamily, labels ...string) (float64, bool) {
	for _, m := range f.GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, l.GetName()+"="+l.GetValue())
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount()), true
		}
		return m.GetGauge().GetValue(), true
	}
	return 0, false
}

func (w *world) wantMetric(want float64, name string, labels ...string) {
	w.t.Helper()
	if got, ok := sample(w.scrape()[name], labels...); !ok || got != want {
		w.t.Errorf("%s %v: want %v, got %v (there: %v)", name, labels, want, got, ok)
	}
}

// TestMetricsTellTheStory: requests that were decided, refused and wait, a full pool, an open page and calls of the API
// are what is scraped.
func TestMetricsTellTheStory(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	approved, rejected := w.pending(developer, "vision"), w.pending(developer, "vision")
	w.pending(other, "speech")
	if _, err := w.requests.Approvals.Approve(ctx, w.actorOf(approver), approved, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.requests.Approvals.Reject(ctx, w.actorOf(approver), rejected, "no"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.requests.Requests.Submit(ctx, w.actorOf(developer), request.Draft{Kind: catalog.Notebook,
		Tenant: "vision",
		Size:   "cpu", Image: "jupyterlab", Lease: "9999h"}); err == nil {
		t.Fatal("want a refusal")
	}
	w.running(developer, "vision")
	rule := "rule=" + approved.Decision.Rule
	w.wantMetric(1, "gpu_portal_decisions_total", "outcome=approved", rule)
	w.wantMetric(1, "gpu_portal_decisions_total", "outcome=rejected", rule)
	w.wantMetric(3, "gpu_portal_events_total", "kind=request.submitted")
	w.wantMetric(1, "gpu_portal_requests_pending", "waits_for=approval")
	w.wantMetric(0, "gpu_portal_requests_pending", "waits_for=seat")
	w.wantMetric(1, "gpu_portal_workloads", "state=queued")
	w.wantMetric(1, "gpu_portal_workloads", "state=running")
	w.wantMetric(5, "gpu_portal_license_seats", "pool=nvidia-vws")
	w.wantMetric(0, "gpu_portal_license_seats_taken", "pool=nvidia-vws")
	w.wantMetric(0, "gpu_portal_license_lost_nodes", "cluster=main")
	w.wantMetric(1, "gpu_portal_database_up")
	w.wantMetric(0, "gpu_portal_page_streams")
	w.wantMetric(1, "gpu_portal_build_info", "version=test")

	token := w.token(developer)
	w.call(token, http.MethodGet, "/api/v1/requests/"+string(approved.ID), nil)
	w.call("", http.MethodGet, "/api/v1/requests", nil)
	w.call("", http.MethodGet, "/nowhere/at/all", nil)
	w.call("", "BREW", "/nowhere/at/all", nil)
	w.browser().get("/signin")
	w.wantMetric(1, "gpu_portal_http_requests_total", "method=GET", "route=/api/v1/requests/{id}", "code=200")
	w.wantMetric(1, "gpu_portal_http_requests_total", "method=GET", "route=/api/v1/requests", "code=401")
	w.wantMetric(1, "gpu_portal_http_requests_total", "method=GET", "route=none", "code=404")
	w.wantMetric(1, "gpu_portal_http_requests_total", "method=other", "route=none")
	w.wantMetric(1, "gpu_portal_http_requests_total", "method=GET", "route=/signin", "code=200")
	w.wantMetric(1, "gpu_portal_http_request_duration_seconds", "route=/signin")
}

// TestMetricsOfTheController: the one leader says that its cluster does not answer, and how its caches stand.
func TestMetricsOfTheController(t *testing.T) {
	w := newWorld(t)
	w.until("this process leads", func() bool { v, _ := sample(w.scrape()["gpu_portal_leader"]); return v == 1 })
	w.until("the queue is told", func() bool {
		_, ok := sample(w.scrape()["gpu_portal_reconcile_queue_depth"], "cluster=main")
		return ok
	})
	w.wantMetric(0, "gpu_portal_cluster_up", "cluster=main")
	w.wantMetric(0, "gpu_portal_readings_up", "cluster=main")
	if _, ok := sample(w.scrape()["gpu_portal_readings_timestamp_seconds"]); ok {
		t.Error("a Prometheus that never answered has no time of its last answer")
	}
	now := w.clock.now().Truncate(time.Second)
	h100 := inventory.Node{Name: "n", Ready: true, Model: "NVIDIA-H100-80GB-HBM3",
		Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 8, Allocatable: 8}}}
	if err := w.store.SaveSnapshot(t.Context(), inventory.Snapshot{Cluster: "main", TakenAt: now,
		Nodes: []inventory.Node{h100}}); err != nil {
		t.Fatal(err)
	}
	w.wantMetric(8, "gpu_portal_devices", "cluster=main", "resource=nvidia.com/gpu", "state=free", "unit=card")
	w.wantMetric(float64(now.Unix()), "gpu_portal_inventory_timestamp_seconds", "cluster=main")
}

// until waits with patience: machines stall.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	waittest.For(w.t, what, so)
}

// stuck is an outbox whose rows cannot be read any more after the first look.
type stuck struct{ live.Source }

func (stuck) ChangesAfter(context.Context, int64, int) ([]live.Change, error) {
	return nil, errors.New("away")
}

// changesAfter counts what a hub has not seen.
func (w *world) changesAfter(h *live.Hub) int {
	w.t.Helper()
	seen, _ := h.Seen()
	rows, err := w.store.ChangesAfter(w.t.Context(), seen, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(rows)
}

// TestMetricsTellTheLagOfTheOutbox: rows that were not handed out are counted, with the age of the oldest.
func TestMetricsTellTheLagOfTheOutbox(t *testing.T) {
	w := newWorld(t)
	w.until("what is there was handed out, and no row is late", func() bool { // the leader writes now and then
		s := w.scrape()
		unread, told := sample(s["gpu_portal_outbox_unread"])
		lag, known := sample(s["gpu_portal_outbox_lag_seconds"])
		return told && known && unread == 0 && lag == 0
	})
	hub := live.NewHub(stuck{w.store}, time.Hour)
	go func() { _ = hub.Run(t.Context()) }()
	w.until("the second hub has begun", func() bool { _, ok := hub.Seen(); return ok })
	w.running(developer, "vision") // two rows: workload and volume
	out := make(chan prometheus.Metric, 100)
	g := gauges{app: &App{store: w.store, hub: hub, now: func() time.Time { return time.Now().Add(time.Hour) }}, out: out}
	before := w.changesAfter(hub)
	if err := g.backlog(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := w.changesAfter(hub) // the leader may have written meanwhile
	close(out)
	told := map[*prometheus.Desc]float64{}
	for m := range out {
		var d dto.Metric
		if err := m.Write(&d); err != nil {
			t.Fatal(err)
		}
		told[m.Desc()] = d.GetGauge().GetValue()
	}
	if unread := int(told[described[outboxUnread]]); before < 2 || unread < before || unread > after {
		t.Errorf("want the rows that nobody has read, at least 2 and from %d to %d, got %d", before, after, unread)
	}
	if lag := told[described[outboxLag]]; lag < 3599 || lag > 3900 {
		t.Errorf("want the age of the oldest, an hour, got %v s", lag)
	}
}

// TestMetricsAreForPrometheusOnly: the public address has none; an address of their own has nothing else.
func TestMetricsAreForPrometheusOnly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	w := newWorld(t, func(c *config.Config) { c.MetricsListen = address })
	for _, token := range []string{"", w.token(developer), w.token(admin)} {
		if reply := w.call(token, http.MethodGet, "/metrics", nil); reply.status != http.StatusNotFound {
			t.Errorf("want no metrics on the public address, got %d", reply.status)
		}
	}
	get := func(path string) int {
		reply, err := http.Get((&url.URL{Scheme: "http", Host: address, Path: path}).String())
		if err != nil {
			return 0
		}
		reply.Body.Close()
		return reply.StatusCode
	}
	w.until("the metrics answer", func() bool { return get("/metrics") == http.StatusOK })
	for _, path := range []string{"/", "/api/v1/requests", "/signin", "/debug/pprof/"} {
		if got := get(path); got != http.StatusNotFound {
			t.Errorf("%s beside the metrics: want nothing, got %d", path, got)
		}
	}
}

// TestMetricsFollowTheConventions of Prometheus: base units, _total for counters only, a help text, and no label that
// could grow without end.
func TestMetricsFollowTheConventions(t *testing.T) {
	w := newWorld(t)
	w.pending(developer, "vision")
	w.running(developer, "vision")
	w.call(w.token(developer), http.MethodGet, "/api/v1/workloads", nil)
	families := w.scrape()
	var own []*dto.MetricFamily
	known := w.MetricNames()
	for name, f := range families {
		if !strings.HasPrefix(name, "gpu_portal_") {
			continue
		}
		own = append(own, f)
		if !slices.Contains(known, name) {
			t.Errorf("%s is exported and not described", name)
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if !slices.Contains(boundedLabels, l.GetName()) {
					t.Errorf("%s: the label %s is new: is it a short closed list?", name, l.GetName())
				}
			}
		}
	}
	problems, err := promlint.NewWithMetricFamilies(own).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	text := fmt.Sprint(families)
	for _, secret := range []string{"dora", "Dora", "nb-developer", "vision"} {
		if strings.Contains(text, secret) {
			t.Errorf("metrics name %q", secret)
		}
	}
}

// boundedLabels are all that our metrics may have; each is a configured name or of a closed list.
var boundedLabels = []string{"job", "reason", "side", "outcome", "basis", "rule", "kind", "waits_for", "state",
	"cluster",
	"pool", "version",
	"method", "route", "code", "size", "resource", "unit", "model", "profile", "verb", "le"}
