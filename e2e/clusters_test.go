package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// annex is a second cluster with a control plane of its own.
type annex struct {
	*stack.World
	t *testing.T
	// body adds it in the portal, with a service account that has the rights which the chart renders.
	body map[string]any
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
		Names: []string{spaces(name) + "*"}, Terminal: true, Snapshots: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := charts.Kubeconfig(rights.Config)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := yaml.Marshal(map[string]any{"prometheus": w.Ready.Prometheus, "access": rights.Access,
		"gatewayNamespace": "portal-" + instance, "storageClass": "standard"})
	if err != nil {
		t.Fatal(err)
	}
	return annex{World: w, t: t, body: map[string]any{"name": "annex", "kubeconfig": string(text),
		"settings": string(settings)}}
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

// addedInTheBrowser: what the form refuses is said beside its field, and nothing that opens a cluster is shown again.
func (a annex) addedInTheBrowser(p *stack.Portal) {
	t, shared := a.t, portal
	portal = p
	defer func() { portal = shared }()
	pat := signIn(t, "pat", look{Width: 1366})
	pat.open("/admin/clusters")
	pat.expecting("422") // what the form refuses
	pat.reads("[data-test=cluster-row]", "main")
	pat.fill("[data-test=cluster-name]", "annex")
	pat.fill("[data-test=cluster-kubeconfig]", "clusters: []")
	pat.click("[data-test=cluster-save]")
	pat.sees("#kubeconfig-error")
	pat.accessible()
	pat.fill("[data-test=cluster-kubeconfig]", a.body["kubeconfig"].(string))
	pat.fill("[data-test=cluster-settings]", a.body["settings"].(string))
	pat.click("[data-test=cluster-save]")
	pat.reads("#cluster-annex", "annex")
	pat.reads("#cluster-annex [data-test=cluster-state]", "Reachable") // the page follows what the portal finds
	pat.do(pat.assert.Locator(pat.at("[data-test=cluster-kubeconfig]")).ToHaveValue(""))
	pat.do(pat.assert.Locator(pat.at("[data-test=cluster-name]")).ToHaveValue("")) // no draft of what was taken
	kept, err := pat.page.Evaluate("() => JSON.stringify({...sessionStorage, ...localStorage})")
	pat.do(err)
	if strings.Contains(fmt.Sprint(kept), "token") {
		t.Errorf("the browser keeps what opens the cluster: %v", kept)
	}
	pat.accessible()
	pat.shot("clusters")
	dana := signIn(t, "dana", look{Dark: true, Width: 390})
	dana.open("/start?kind=notebook")
	dana.advanced()
	dana.reads("[name=cluster]", "annex")
	dana.fitsTheWindow()
	dana.shot("start")
	for _, them := range []*person{pat, dana} { // the portal is killed later, under open pages
		them.do(them.context.Close())
	}
}

// quotaOfOneCluster: a limit of the second cluster refuses what the quota of all clusters would allow, and says where;
// where nobody chose a cluster, the first one takes it.
func (a annex) quotaOfOneCluster(pat, dana client) {
	t := a.t
	team := pat.ok(http.StatusOK, http.MethodGet, "/tenants/vision", nil)
	was, limited := team["quota"].(map[string]any), map[string]any{}
	for size, n := range was {
		limited[size] = n
	}
	limited["gpu-shared@annex"] = 0
	save := func(quota map[string]any) {
		now := pat.ok(http.StatusOK, http.MethodGet, "/tenants/vision", nil)
		pat.ok(http.StatusOK, http.MethodPut, "/tenants/vision", map[string]any{"quota": quota, "base": now["version"]})
	}
	save(limited)
	asks := map[string]any{"kind": "notebook", "tenant": "vision", "size": "gpu-shared", "image": "jupyterlab",
		"lease": "8h", "storage": "", "reason": "end-to-end test", "cluster": "annex"}
	if r := dana.call(http.MethodPost, "/requests", asks); r.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(r.Raw), "on cluster annex") {
		t.Errorf("a size that the team may not hold there: got %d %s", r.Status, r.Raw)
	}
	asks["cluster"] = ""
	if v := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", asks); len(v["problems"].([]any)) > 0 {
		t.Errorf("want the cluster that has quota to be taken, got %v", v["problems"])
	}
	limited["gpu-shared@moon"] = 1
	if r := pat.call(http.MethodPut, "/tenants/vision", map[string]any{"quota": limited, "base": 1}); r.Status !=
		http.StatusUnprocessableEntity || !strings.Contains(string(r.Raw), "moon") {
		t.Errorf("a cluster that does not exist: got %d %s", r.Status, r.Raw)
	}
	save(was)
}

// TestAClusterThatHangs: an administrator adds a second cluster in the portal, which goes on answering meanwhile. Then
// the API server of that one is frozen, so that connections to it open and nothing answers. The other one starts, stops
// and measures as ever, also after the portal itself was started anew; what is asked of the frozen one is taken, and
// done when it goes on.
func TestAClusterThatHangs(t *testing.T) {
	a := newAnnex(t, "two")
	p := ownPortal(t, "two", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) { c["clusterNetworks"] = []string{"127.0.0.0/8"} }
	})
	dana, pat := client{t, p, "dana"}, client{t, p, "pat"}
	found := pat.ok(http.StatusOK, http.MethodPost, "/clusters/check", a.body)
	for _, f := range found["findings"].([]any) {
		if f := f.(map[string]any); f["check"] == "rights.cluster" && f["state"] != "ok" {
			t.Errorf("rights: %v", f)
		}
	}
	a.addedInTheBrowser(p)
	on := func(cluster string) map[string]any { return map[string]any{"cluster": cluster, "storage": ""} }
	there := str(dana.running("cpu", on("annex"))["id"])
	here := str(dana.running("gpu-shared", on("main"))["id"])

	a.quotaOfOneCluster(pat, dana)

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
	if a := pat.call(http.MethodDelete, "/clusters/annex", nil); a.Status != http.StatusConflict {
		t.Errorf("remove a cluster with workloads: want 409, got %d %s", a.Status, a.Raw)
	}
	waittest.For(t, "nothing is said of the cluster any more", func() bool { return !named() })
}
