package charts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// rule is one alert, as Prometheus reads it.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

type group struct {
	Name  string
	Rules []rule
}

// alerts are the rules of a release in a namespace, as they stand in a rule file.
func alerts(t *testing.T, namespace string) (file []byte, all []rule) {
	t.Helper()
	objects, err := renderIn(t, namespace, strings.Replace(everything, "namespace: gpu-agents, ", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	spec := the[unstructured.Unstructured](t, objects, "PrometheusRule", "gpu-portal").Object["spec"]
	file, err = yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var groups struct{ Groups []group }
	if err := yaml.UnmarshalStrict(file, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return file, all
}

// panels are the queries of the dashboard, by the title of their panel.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	text := the[corev1.ConfigMap](t, mustRender(t, everything), "ConfigMap",
		"gpu-portal-dashboard").Data["gpu-portal.json"]
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text), &board); err != nil {
		t.Fatal(err)
	}
	all, ids := map[string][]string{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || all[p.Title] != nil {
			t.Errorf("two panels %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], strings.ReplaceAll(target.Expr, "$namespace", namespace))
		}
	}
	if len(all) < 20 {
		t.Fatalf("the dashboard has %d panels", len(all))
	}
	return all
}

var (
	metric = regexp.MustCompile(`\b(gpu_portal|go_sql|process)_[a-z0-9_]+`)
	suffix = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestWhatIsAskedForIsExported: every metric that an alert or a panel names is one that the portal or the agent has; a
// rename would otherwise silence an alert.
func TestWhatIsAskedForIsExported(t *testing.T) {
	known := append(exported(t), agentMetrics(t)...)
	// described without a name by client_golang's collector on some systems
	known = append(known, "process_resident_memory_bytes", "process_cpu_seconds_total")
	has := func(name string) bool {
		return slices.Contains(known, name) || slices.Contains(known, suffix.ReplaceAllString(name, ""))
	}
	_, rules := alerts(t, namespace)
	asked := panels(t)
	for _, r := range rules {
		asked[r.Alert] = []string{r.Expr}
	}
	for where, queries := range asked {
		for _, q := range queries {
			found := metric.FindAllString(q, -1)
			if len(found) == 0 {
				t.Errorf("%s asks for nothing of ours: %s", where, q)
			}
			for _, name := range found {
				if !has(name) {
					t.Errorf("%s: nobody exports %s", where, name)
				}
			}
		}
	}
}

// exported are the names of a portal that is put together and not started.
func exported(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	const nowhere = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: x}}]}`
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load("", func(string) string { return "" }, func(c *config.Config) {
		c.Database, c.OIDC.Issuer = "sqlite:"+filepath.Join(dir, "portal.db"), "http://127.0.0.1:1"
		c.Clusters = []config.Cluster{{Name: "main", Kubeconfig: kubeconfig}}
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a.MetricNames()
}

// agentMetrics are the names that the agent's source has: which of them there are depends on a node's cards.
func agentMetrics(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../internal/agent/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, found := range regexp.MustCompile(`s\.(?:gauge|counter)\("([a-z_]+)"`).FindAllStringSubmatch(string(source),
		-1) {
		names = append(names, "gpu_portal_agent_"+found[1])
	}
	return names
}

// TestAlertsSayWhatToDo: each has a severity and words, and waits or rests on a span of time.
func TestAlertsSayWhatToDo(t *testing.T) {
	_, rules := alerts(t, namespace)
	seen := map[string]bool{}
	for _, r := range rules {
		if seen[r.Alert] || !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) ||
			r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 20 {
			t.Errorf("%s: %v %v", r.Alert, r.Labels, r.Annotations)
		}
		seen[r.Alert] = true
	}
}

// well is what a portal exports on a good day, and ill on the worst; %d grows from scrape to scrape.
const well = `
gpu_portal_build_info{version="1"} 1
gpu_portal_leader 1
gpu_portal_database_up 1
gpu_portal_signin_provider_up 1
gpu_portal_http_requests_total{method="GET",route="/",code="200"} %[1]d00
gpu_portal_http_requests_total{method="GET",route="/",code="500"} 1
gpu_portal_outbox_lag_seconds 0
gpu_portal_messages_lag_seconds 10
gpu_portal_messages{state="failed"} 3
gpu_portal_cluster_up{cluster="main"} 1
gpu_portal_cluster_held{cluster="main"} 0
gpu_portal_differences{cluster="main",side="cluster"} 0
gpu_portal_spoofed_objects{cluster="main"} 0
gpu_portal_foreign_edits_total{cluster="main",outcome="removed"} 1
gpu_portal_reconcile_duration_seconds_count{cluster="main",outcome="done"} %[1]d00
gpu_portal_reconcile_duration_seconds_count{cluster="main",outcome="again"} 1
gpu_portal_reconcile_queue_depth{cluster="main"} 3
gpu_portal_time_to_ready_seconds_bucket{cluster="main",size="s",le="60"} %[1]d0
gpu_portal_time_to_ready_seconds_bucket{cluster="main",size="s",le="3600"} %[1]d0
gpu_portal_time_to_ready_seconds_bucket{cluster="main",size="s",le="+Inf"} %[1]d0
gpu_portal_inventory_timestamp_seconds{cluster="main"} %[2]d
gpu_portal_readings_timestamp_seconds{cluster="main"} %[2]d
gpu_portal_readings_up{cluster="main"} 1
gpu_portal_license_seats{pool="vws"} 10
gpu_portal_license_seats_taken{pool="vws"} 8
gpu_portal_license_seats{pool="none"} 0
gpu_portal_license_seats_taken{pool="none"} 0
gpu_portal_license_lost_nodes{cluster="main"} 0
gpu_portal_agent_build_info{version="1"} 1
gpu_portal_agent_driver_ready 1
gpu_portal_agent_gpu_lost{uuid="GPU-1"} 0
gpu_portal_agent_row_remap_failed{uuid="GPU-1"} 0
`

var ill = strings.NewReplacer(
	"gpu_portal_leader 1", "gpu_portal_leader 0", "database_up 1", "database_up 0", "provider_up 1", "provider_up 0",
	`code="500"} 1`, `code="500"} %[1]d0`,
	"outbox_lag_seconds 0", "outbox_lag_seconds 300", "messages_lag_seconds 10", "messages_lag_seconds 5000",
	`cluster_up{cluster="main"} 1`, `cluster_up{cluster="main"} 0`, `cluster_held{cluster="main"} 0`,
	`cluster_held{cluster="main"} 1`, `side="cluster"} 0`, `side="cluster"} 3`, `spoofed_objects{cluster="main"} 0`,
	`spoofed_objects{cluster="main"} 1`, `outcome="removed"} 1`, `outcome="removed"} %[1]d00`,
	`outcome="again"} 1`, `outcome="again"} %[1]d99`, `queue_depth{cluster="main"} 3`, `queue_depth{cluster="main"} 900`,
	`le="60"} %[1]d0`, `le="60"} 0`,
	"%[2]d", "1000000000", `readings_up{cluster="main"} 1`, `readings_up{cluster="main"} 0`, `taken{pool="vws"} 8`,
	`taken{pool="vws"} 10`,
	`lost_nodes{cluster="main"} 0`, `lost_nodes{cluster="main"} 2`, "driver_ready 1", "driver_ready 0",
	`gpu_lost{uuid="GPU-1"} 0`, `gpu_lost{uuid="GPU-1"} 1`,
	`remap_failed{uuid="GPU-1"} 0`, `remap_failed{uuid="GPU-1"} 1`,
).Replace(well)

// TestAlertsInPrometheus reads rules and panels with the real Prometheus and lets it scrape a portal that is well, one
// that is ill, and one that is gone: every alert is raised by the one that it is for, and by no other.
func TestAlertsInPrometheus(t *testing.T) {
	program, err := filepath.Abs("../.cache/devstack/bin/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		if testing.Short() {
			t.Skip("no Prometheus here: make build puts one into .cache/devstack/bin")
		}
		t.Fatal("no Prometheus in .cache/devstack/bin: make build")
	}
	prometheus := startPrometheus(t, program)
	for title, queries := range panels(t) {
		for _, q := range queries {
			if problem := prometheus.ask(t, q); problem != "" {
				t.Errorf("panel %q: %s: %s", title, q, problem)
			}
		}
	}
	_, rules := alerts(t, "ill")
	want := map[string][]string{"well": nil, "gone": {"GPUPortalAgentsDown", "GPUPortalDown"}}
	for _, r := range rules {
		if !slices.Contains(want["gone"], r.Alert) && r.Alert != "GPUPortalMessagesGivenUp" { // a delta of minutes
			want["ill"] = append(want["ill"], r.Alert)
		}
	}
	slices.Sort(want["ill"])
	waittest.Until(t, "the alerts of each portal", func() error {
		if diff := cmp.Diff(want, prometheus.raised(t)); diff != "" {
			return errors.New("(-want +got)\n" + diff)
		}
		return nil
	})
}

type prometheus struct{ url string }

// startPrometheus runs one that scrapes and judges every second, until the test ends.
func startPrometheus(t *testing.T, program string) prometheus {
	t.Helper()
	var scrapes atomic.Int64
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := map[string]string{"/well": well, "/ill": ill}[r.URL.Path]
		fmt.Fprintf(w, text, scrapes.Add(1), time.Now().Unix())
	}))
	t.Cleanup(portal.Close)
	dir, target := t.TempDir(), strings.TrimPrefix(portal.URL, "http://")
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: " +
		"[\"rules-*.yaml\"]\nscrape_configs:\n"
	for _, namespace := range []string{"well", "ill", "gone"} {
		file, _ := alerts(t, namespace)
		write("rules-"+namespace+".yaml", file)
		if namespace != "gone" {
			settings += fmt.Sprintf("- {job_name: %s, metrics_path: /%[1]s, static_configs: [{targets: [%q], labels: "+
				"{namespace: %[1]s, pod: p}}]}\n", namespace, target)
		}
	}
	write("prometheus.yaml", []byte(settings))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	log := &strings.Builder{}
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+
		filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	p := prometheus{url: "http://" + address}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		select {
		case err := <-done:
			done <- err
			t.Fatalf("Prometheus does not start with these rules: %v\n%s", err, log)
		default:
		}
		if answer, err := http.Get(p.url + "/-/ready"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return p
			}
		}
		if time.Now().After(end) {
			t.Fatal("Prometheus is never ready")
		}
	}
}

// ask says what is wrong with a query; "" for nothing.
func (p prometheus) ask(t *testing.T, query string) string {
	t.Helper()
	answer, err := http.PostForm(p.url+"/api/v1/query", url.Values{"query": {query}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return ""
	}
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// raised are the alerts that are pending or firing, by the namespace whose rules raised them.
func (p prometheus) raised(t *testing.T) map[string][]string {
	t.Helper()
	answer, err := http.Get(p.url + "/api/v1/rules?type=alert")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Data struct {
			Groups []struct {
				File  string
				Rules []struct{ Name, State, Health, LastError string }
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	raised := map[string]map[string]bool{}
	for _, g := range said.Data.Groups {
		namespace := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(g.File), "rules-"), ".yaml")
		if raised[namespace] == nil {
			raised[namespace] = map[string]bool{}
		}
		for _, r := range g.Rules {
			if r.Health == "err" {
				t.Fatalf("%s: %s", r.Name, r.LastError)
			}
			if r.State == "pending" || r.State == "firing" {
				raised[namespace][r.Name] = true
			}
		}
	}
	list := map[string][]string{}
	for namespace, names := range raised {
		list[namespace] = slices.Sorted(maps.Keys(names))
	}
	return list
}
