package config

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// prometheus is a server with a certificate of its own that answers nothing but those who know the site's ways; it says
// what it was asked with.
func prometheus(t *testing.T, asked chan<- *http.Request) (url, ca string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		select {
		case asked <- r:
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	}))
	t.Cleanup(server.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, ca
}

// TestPrometheusIsAskedInTheSitesWay: token, headers, parameters, certificate and label names of the settings all reach
// the query.
func TestPrometheusIsAskedInTheSitesWay(t *testing.T) {
	asked := make(chan *http.Request, 1)
	url, ca := prometheus(t, asked)
	token := file(t, "s3cret\n")
	c := Cluster{Name: "main", Prometheus: url, PrometheusTokenFile: token, Metrics: Metrics{CAFile: ca,
		Params:  map[string][]string{"namespace": {"gpu-vision"}, "extra_label": {"a=b", "c=d"}},
		Headers: map[string]string{"X-Scope-OrgID": "gpu"},
		Labels:  MetricLabels{UUID: []string{"card_uuid"}, Namespace: []string{"tenant_ns"}, Pod: []string{"tenant_pod"}}}}
	settings, err := c.MetricsConfig()
	if err != nil {
		t.Fatal(err)
	}
	p, err := gpumetrics.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-asked
	for what, got := range map[string]string{"Bearer s3cret": r.Header.Get("Authorization"),
		"gpu": r.Header.Get("X-Scope-OrgID"), "gpu-vision": r.PostForm.Get("namespace"),
		"a=b c=d": strings.Join(r.PostForm["extra_label"], " ")} {
		if got != what {
			t.Errorf("want %q, got %q", what, got)
		}
	}
	if q := r.PostForm.Get("query"); !strings.Contains(q, "card_uuid") || strings.Contains(q, "UUID,") {
		t.Errorf("want the site's label names, got %q", q)
	}
	settings, err = Cluster{Prometheus: url}.MetricsConfig()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := gpumetrics.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("want no trust without the CA, got %v", err)
	}
}

// TestARedirectionIsNotFollowed: it leads to a sign-in page, and the site's headers would go along.
func TestARedirectionIsNotFollowed(t *testing.T) {
	followed := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer server.Close()
	settings, err := Cluster{Prometheus: server.URL,
		Metrics: Metrics{Headers: map[string]string{"X-Scope-OrgID": "gpu"}}}.MetricsConfig()
	if err != nil {
		t.Fatal(err)
	}
	p, err := gpumetrics.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), "302") || followed {
		t.Errorf("want the redirection as a failure, got %v, followed: %t", err, followed)
	}
}

func TestMetricsSettingsAreChecked(t *testing.T) {
	empty := file(t, "no certificate")
	cases := map[string]struct{ lines, want string }{
		"all of it": {"prometheus: https://p.example.org, metrics: {params: {namespace: [a]}, " +
			"headers: {X-Scope-OrgID: gpu}, labels: {namespace: [ns], pod: [p]}}", ""},
		"no address":                {"prometheus: 'p.example.org:9090'", "clusters[0].prometheus: "},
		"a password in the address": {"prometheus: 'https://a:b@p.example.org'", "clusters[0].prometheus: "},
		"a token among the headers": {"metrics: {headers: {authorization: Bearer x}}",
			"clusters[0].metrics.headers: authorization is the portal's own"},
		"a header that is none":           {`metrics: {headers: {"X-A:": b}}`, `clusters[0].metrics.headers: "X-A:"`},
		"a header with a second line":     {`metrics: {headers: {X-A: "b\r\nX-B: c"}}`, `clusters[0].metrics.headers: "X-A"`},
		"a parameter that is the query":   {"metrics: {params: {query: [up]}}", `clusters[0].metrics.params: "query"`},
		"a file that is not there":        {"metrics: {caFile: /nowhere/ca.pem}", "clusters[0].metrics.caFile: "},
		"a file without a certificate":    {"metrics: {caFile: " + empty + "}", "holds no certificate"},
		"a label that could be a query":   {`metrics: {labels: {uuid: ["UUID) or up"]}}`, "clusters[0].metrics.labels: "},
		"a namespace without its pod":     {"metrics: {labels: {namespace: [ns]}}", "as many names"},
		"a setting that there is none of": {"metrics: {cafile: x}", `unknown field "clusters[0].metrics.cafile"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(file(t, "oidc: {issuer: https://id.example.org}\nclusters: [{name: main, kubeconfig: x, "+c.lines+
				"}]\n"), nothing, nil)
			if got := linesOf(err); c.want == "" && len(got) > 0 || c.want != "" &&
				(len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestATokenInTheClearIsWarnedOf(t *testing.T) {
	for url, want := range map[string]int{"http://prometheus.monitoring:9090": 1, "https://prometheus.monitoring:9090": 0,
		"http://127.0.0.1:9090": 0} {
		c := Config{URL: "http://localhost:8080", AppsDomain: "localhost",
			Clusters: []Cluster{{Name: "main", Prometheus: url, PrometheusTokenFile: "/token"}}}
		if got := c.Warnings(); len(got) != want {
			t.Errorf("%s: want %d warnings, got %q", url, want, got)
		}
	}
}
