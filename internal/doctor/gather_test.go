package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// apiServer answers as one does to an account that may do everything but read logs.
func apiServer(t *testing.T) *rest.Config {
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		})
	}
	answer("GET /version", `{"gitVersion":"v1.33.1"}`)
	answer("GET /api", `{"kind":"APIVersions","versions":["v1"]}`)
	answer("GET /apis", `{"kind":"APIGroupList","groups":[{"name":"nvidia.com","versions":[{"groupVersion":"nvidia.com/v1",
		"version":"v1"}],"preferredVersion":{"groupVersion":"nvidia.com/v1","version":"v1"}}]}`)
	answer("GET /api/v1/namespaces/gpu-vision", `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"gpu-vision"}}`)
	answer("GET /api/v1/nodes", `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[
		{"metadata":{"name":"a"},"status":{"allocatable":{"nvidia.com/gpu":"4","cpu":"8"}}},
		{"metadata":{"name":"b","labels":{"feature.node.kubernetes.io/pci-10de.present":"true"}},"status":{}},
		{"metadata":{"name":"dra","labels":{"feature.node.kubernetes.io/pci-10de.present":"true"}},"status":{}}]}`)
	answer("GET /apis/resource.k8s.io/v1/resourceslices", `{"kind":"ResourceSliceList","apiVersion":"resource.k8s.io/v1",
		"metadata":{},"items":[{"metadata":{"name":"dra-1"},"spec":{"driver":"gpu.nvidia.com","nodeName":"dra",
		"pool":{"name":"dra","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"}]}}]}`)
	answer("GET /apis/storage.k8s.io/v1/storageclasses", `{"kind":"StorageClassList","apiVersion":"storage.k8s.io/v1",
		"metadata":{},"items":[{"metadata":{"name":"standard"}}]}`)
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(w http.ResponseWriter,
		r *http.Request) {
		var review map[string]any
		_ = json.NewDecoder(r.Body).Decode(&review)
		text, _ := json.Marshal(review["spec"])
		review["status"] = map[string]any{"allowed": !strings.Contains(string(text), `"subresource":"log"`)}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json",
		AcceptContentTypes: "application/json"}}
}

func TestACluster(t *testing.T) {
	f := Gather(context.Background(), Options{Clusters: []ClusterOptions{{Name: "main", Config: apiServer(t), Nodes: true,
		Volumes: true, Storage: []string{"standard", "fast"}, Rights: []Rights{{Role: "logs", Namespace: "gpu-vision",
			Optional: true, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"},
				Verbs: []string{"get"}}}}, {Role: "tenant", Namespace: "gpu-none"}}}}})
	c := f.Clusters[0]
	if c.Err != "" || c.Version != "v1.33.1" || c.APIs["nvidia.com"] != "v1" {
		t.Errorf("got %+v", c)
	}
	logs := c.Rights[0]
	if logs.Asked != 2 || !slices.Equal(logs.Missing, []string{"get pods/log (gpu-vision)"}) || !c.Rights[1].Absent {
		t.Errorf("rights: got %+v", c.Rights)
	}
	if c.Nodes.WithGPU != 1 || c.Nodes.Resources["nvidia.com/gpu"] != 4 || c.Nodes.Slices != 1 ||
		!slices.Equal(c.Nodes.Unplugged, []string{"b"}) {
		t.Errorf("nodes: got %+v", c.Nodes)
	}
	if !slices.Equal(c.Storage.Missing, []string{"fast"}) {
		t.Errorf("storage: got %+v", c.Storage)
	}
}

// TestNothingStopsTheOthers: what hangs, fails or panics is one finding, and the rest is there all the same.
func TestNothingStopsTheOthers(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	began := time.Now()
	f := Gather(context.Background(), Options{Timeout: 300 * time.Millisecond,
		Database: func(context.Context) (Database, error) { panic("no driver") },
		Provider: ProviderOptions{Issuer: hangs.URL},
		Clusters: []ClusterOptions{{Name: "hangs", Config: &rest.Config{Host: hangs.URL}, Poll: func(
			ctx context.Context) (gpumetrics.Report, error) {
			<-ctx.Done()
			return gpumetrics.Report{}, ctx.Err()
		}, LogStore: LogStoreOptions{Name: "Loki", Check: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}}, {Name: "main", Config: apiServer(t)}},
		Licenses: []LicenseOptions{{Name: "cls", Features: func(context.Context) (int, error) {
			return 0, errors.New("401")
		}}}})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	for what, got := range map[string]string{"database": f.Database.Err, "provider": f.Provider.Err,
		"cluster": f.Clusters[0].Err, "metrics": f.Clusters[0].Metrics.Err, "licenses": f.Licenses[0].Err,
		"log store": f.Clusters[0].LogStore.Err} {
		if got == "" {
			t.Errorf("%s: no error", what)
		}
	}
	if f.Clusters[1].Err != "" || f.Clusters[1].Version == "" {
		t.Errorf("the other cluster: got %+v", f.Clusters[1])
	}
}

func TestTheProvidersDocument(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"issuer":"https://other.example.org","code_challenge_methods_supported":["S256"],
			"claims_supported":["groups"]}`))
	}))
	defer s.Close()
	p := Gather(context.Background(), Options{Provider: ProviderOptions{Issuer: s.URL + "/"}}).Provider
	if p.Err != "" || p.Says != "https://other.example.org" || !slices.Contains(p.Methods, "S256") {
		t.Errorf("got %+v", p)
	}
}

func TestACertificateIsRead(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	h := Gather(context.Background(), Options{PortalURL: s.URL}).Portal
	if h.TLSErr != "" || h.Until.IsZero() || !h.Fits || h.Trusted {
		t.Errorf("want the certificate of the test server for 127.0.0.1, which nobody trusts, got %+v", h)
	}
}

// TestNoSecretIsKept: servers like to repeat what they were sent.
func TestNoSecretIsKept(t *testing.T) {
	const canary = `canary-"&/ö%`
	f := Gather(context.Background(), Options{Secrets: []string{canary}, Problems: []string{"x: " + canary},
		Database: func(context.Context) (Database, error) { return Database{}, errors.New("password " + canary) }})
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "canary") || !strings.Contains(string(text), Mask) {
		t.Errorf("got %s", text)
	}
}
