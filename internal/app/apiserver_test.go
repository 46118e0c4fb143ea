package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestProxyURL: below the API server's own path, with the encoding of the workload's path as it came.
func TestProxyURL(t *testing.T) {
	w := workload.Workload{Name: "nb-a", Namespace: "gpu-vision"}
	const service = "/api/v1/namespaces/gpu-vision/services/nb-a:80/proxy"
	for name, c := range map[string]struct{ host, path, want string }{
		"plain":         {"https://api:6443", "/lab?a=b", "https://api:6443" + service + "/lab?a=b"},
		"the top":       {"https://api:6443", "/", "https://api:6443" + service + "/"},
		"below a path":  {"https://rancher/k8s/clusters/c-1", "/lab", "https://rancher/k8s/clusters/c-1" + service + "/lab"},
		"with a slash":  {"https://rancher/k8s/", "/lab", "https://rancher/k8s" + service + "/lab"},
		"encoded slash": {"https://api", "/files/a%2Fb%20c", "https://api" + service + "/files/a%2Fb%20c"},
		"not ASCII":     {"https://api", "/files/%C3%BC", "https://api" + service + "/files/%C3%BC"},
	} {
		host, err := url.Parse(c.host)
		if err != nil {
			t.Fatal(err)
		}
		from, err := url.Parse("http://nb-a.apps.example.net" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := proxyURL(host, w, from)
		if err != nil || got.String() != c.want {
			t.Errorf("%s: want %s, got %s, %v", name, c.want, got, err)
		}
	}
}

// TestDottedPaths: what any proxy on the way could normalise to a path outside of the Service.
func TestDottedPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"/lab/tree": false, "/": false, "": false, "/a..b/...": false, "/.hidden/x": false, "/files/a%2Fb": false,
		"/100%25":           false,
		"/../../../secrets": true, "/lab/..": true, "/./x": true, "/%2e%2e/x": true, "/%2E./x": true, "/a/..%2fsecrets": true,
		"/..%5csecrets": true, "/%252e%252e/x": true, "/%25252e%25252e/x": true, "/..;a=b/x": true,
		"/%252525252525252e": true,
	} {
		u, err := url.Parse("http://x" + path)
		if err != nil {
			t.Fatal(err)
		}
		if got := dotted(u); got != want {
			t.Errorf("%q: want %v, got %v", path, want, got)
		}
	}
}

// TestThroughAPIServer goes the whole way of a probe to an API server that has a path of its own; dot segments never
// reach it.
func TestThroughAPIServer(t *testing.T) {
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.EscapedPath())
		_, _ = io.WriteString(w, "{}")
	}))
	defer api.Close()
	transport, err := throughAPIServer(&rest.Config{Host: api.URL + "/k8s/clusters/c-1"})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := gateway.NewPods(gateway.PodsOptions{Clusters: map[string]gateway.Cluster{"main": {Dial: "apiserver",
		Transport: transport}}, Secrets: secrets{key: []byte("k")}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w := workload.Workload{ID: "w-1", Name: "nb-a", Namespace: "gpu-vision", Cluster: "main", Kind: catalog.Notebook,
		State: workload.Running, Desired: workload.WantRunning,
		Image:    catalog.Image{Kind: catalog.Notebook, Port: 8888, Auth: "token"},
		Observed: workload.Observation{At: now, Pod: "nb-a-0", PodIP: "10.0.0.1", PodPresent: true, Ready: true}}
	_, _ = pods.Probe(t.Context(), w) // what it makes of the answer is the gateway's test
	const service = "/k8s/clusters/c-1/api/v1/namespaces/gpu-vision/services/nb-a:80/proxy"
	if len(seen) == 0 || seen[0] != service+"/api/status" {
		t.Fatalf("the API server was asked for %q", seen)
	}
	before := len(seen)
	r := httptest.NewRequest(http.MethodGet, "http://nb-a.apps.example.net/%2e%2e/secrets", nil)
	answer, err := transport.(serviceProxy).call(w, r)
	if err != nil || answer.StatusCode != http.StatusBadRequest || len(seen) > before {
		t.Errorf("want 400 and no call, got %+v, %v, %q", answer, err, seen[before:])
	}
}
