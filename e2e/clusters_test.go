package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// annex is a second cluster with a control plane of its own.
type annex struct {
	*stack.World
	t          *testing.T
	kubeconfig string // of a service account with the rights that the chart renders
	settings   map[string]any
}

// newAnnex starts one, for the portal that ownPortal makes by the name.
func newAnnex(t *testing.T, name string) annex {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w, err := stack.Up(ctx, stack.Options{Root: root, Data: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	admin, err := clientcmd.BuildConfigFromFlags("", w.Ready.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	instance := name + runID
	rights, err := charts.InstallRights(ctx, admin, "portal-"+instance, charts.Values{Instance: instance,
		Names: []string{spaces(name) + "*"}, Terminal: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := charts.Kubeconfig(rights.Config)
	if err != nil {
		t.Fatal(err)
	}
	a := annex{World: w, t: t, kubeconfig: filepath.Join(t.TempDir(), "annex")}
	if err := os.WriteFile(a.kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	a.settings = map[string]any{"name": "annex", "kubeconfig": a.kubeconfig, "prometheus": w.Ready.Prometheus,
		"podAccess": w.Ready.SOCKS5, "access": rights.Access, "gatewayNamespace": "portal-" + instance,
		"storageClass": "standard"}
	return a
}

// tell does something to the second world.
func (a annex) tell(path string) {
	a.t.Helper()
	answer, err := http.Post(a.Ready.Control+path, "", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		a.t.Fatalf("annex %s: %s", path, answer.Status)
	}
}

// page is a page as the portal draws it for somebody with a token.
func (c client) page(path string) string {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.portal.URL+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.portal.Tokens[c.who])
	r.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s %v", path, answer.Status, err)
	}
	return string(text)
}

// TestAClusterThatHangs: of two clusters, the API server of one is frozen, so that connections to it open and nothing
// answers. The other one starts, stops and measures as ever, also after the portal itself was started anew; what is
// asked of the frozen one is taken, and done when it goes on.
func TestAClusterThatHangs(t *testing.T) {
	a := newAnnex(t, "two")
	p := ownPortal(t, "two", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) { c["clusters"] = append(c["clusters"].([]any), a.settings) }
	})
	dana, pat := client{t, p, "dana"}, client{t, p, "pat"}
	on := func(cluster string) map[string]any { return map[string]any{"cluster": cluster, "storage": ""} }
	there := str(dana.running("cpu", on("annex"))["id"])
	here := str(dana.running("gpu-shared", on("main"))["id"])

	a.tell("/freeze/apiserver")
	frozen := true
	thaw := func() {
		if frozen {
			a.tell("/thaw/apiserver")
			frozen = false
		}
	}
	t.Cleanup(thaw)
	named := func() bool { return strings.Contains(dana.page("/"), `id="strip-cluster-annex"`) }
	waittest.For(t, "the cluster is named on the pages", named)
	if strings.Contains(dana.page("/"), `id="strip-cluster-main"`) {
		t.Error("the other cluster is named too")
	}

	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+there+"/stop", nil)
	later := str(dana.start("cpu", on("annex"))["workload"])
	started := str(dana.running("cpu", on("main"))["id"])
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+started+"/stop", nil)
	dana.reaches(started, "stopped")
	dana.until("/workloads/"+here+"/metrics", "measured", waitForMetrics, hasDevices)
	for _, path := range []string{"/fleet", "/fleet/use", "/fleet/health", "/workloads/" + there, "/admin/system", "/"} {
		pat.page(path)
	}

	p.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+started+"/start", nil)
	dana.reaches(started, "running")
	waittest.For(t, "the portal that was started anew names the cluster", named)
	if state := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+there, nil)["state"]; state != "stopping" {
		t.Errorf("want nobody to be told that it has stopped while nobody knows, got %v", state)
	}

	thaw()
	dana.reachesWithin(afterOutage, there, "stopped")
	dana.reachesWithin(afterOutage, later, "running")
	waittest.For(t, "nothing is said of the cluster any more", func() bool { return !named() })
}
