package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// ownPortal is a portal of a test's own on the same cluster, for tests that kill it or need another configuration.
func ownPortal(t *testing.T, name string, change func(*stack.PortalOptions)) *stack.Portal {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "portal.log"))
	if err != nil {
		t.Fatal(err)
	}
	o := stack.PortalOptions{Root: root, Dir: dir, Ready: world, Instance: name + runID, Spaces: spaces(name),
		MinLease: "1s", Out: log}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	p, err := stack.NewPortal(ctx, o)
	if err != nil {
		_ = log.Close()
		t.Fatal(err)
	}
	accounts = append(accounts, p.Account)
	err = p.Start(ctx)
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the log of portal %s, its end:\n%s", name, text[max(0, len(text)-10_000):])
		}
		_ = log.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runID tells this run from others on the same cluster: a portal with a fresh database rightly leaves alone what an
// earlier one made.
var runID = strconv.FormatInt(time.Now().UnixMilli()%1e9, 36)

// spaces is the prefix of the teams' namespaces of a portal.
func spaces(portal string) string { return portal + "-" + runID + "-" }

// TestKilledBetweenAnyTwoSteps kills the portal as a power cut would after each step of the story, and starts it again:
// the story completes, nothing is doubled, nothing that was acknowledged is lost.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	p := ownPortal(t, "crash", nil)
	pods := countPods(t, spaces("crash")+"vision")
	powerCut := func() {
		t.Helper()
		p.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	dana, ada := client{t, p, "dana"}, client{t, p, "ada"}

	request := dana.start("h100", map[string]any{"name": "survivor"})
	powerCut()
	path := "/requests/" + str(request["id"])
	if got := dana.ok(http.StatusOK, http.MethodGet, path, nil)["state"]; got != "pending" {
		t.Fatalf("want the acknowledged request to be there, got %v", got)
	}
	yes := map[string]any{"note": "go", "seen": request["version"]}
	id := str(ada.ok(http.StatusOK, http.MethodPost, path+"/approve", yes)["workload"])
	powerCut() // before or while objects are written
	dana.reaches(id, "running")
	powerCut()
	dana.reaches(id, "running")
	for range 2 {
		dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/stop", nil)
		powerCut()
		dana.reaches(id, "stopped")
		dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/start", nil)
		powerCut()
		dana.reaches(id, "running")
	}
	longer := map[string]any{"lease": "1h", "reason": "nearly done"}
	asked := dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/extend", longer, "Idempotency-Key", "k")
	powerCut()
	if again := dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/extend", longer, "Idempotency-Key",
		"k"); again["id"] != asked["id"] {
		t.Errorf("want the call sent twice to be one request, got %v and %v", asked["id"], again["id"])
	}
	ada.ok(http.StatusOK, http.MethodPost, "/requests/"+str(asked["id"])+"/approve",
		map[string]any{"seen": asked["version"]})
	powerCut()
	dana.ok(http.StatusOK, http.MethodDelete, "/workloads/"+id+"?storage=delete", nil)
	powerCut()
	dana.reaches(id, "ended")

	counts := map[string]int{}
	for _, e := range items(client{t, p, "audrey"}.ok(http.StatusOK, http.MethodGet, "/audit?workload="+id+"&limit=500",
		nil)) {
		counts[str(e["kind"])]++
	}
	for kind, want := range map[string]int{"workload.created": 1, "workload.stopped": 2, "workload.started": 2,
		"workload.extended": 1, "workload.deleted": 1} {
		if counts[kind] != want {
			t.Errorf("want %s %d times in the audit, got %d", kind, want, counts[kind])
		}
	}
	if got := pods(); got != 3 {
		t.Errorf("want one pod for each start, three in all, got %d", got)
	}
	sets, err := kube(t).AppsV1().StatefulSets(spaces("crash")+"vision").List(context.Background(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 0 {
		t.Errorf("want nothing left, got %d (%v)", len(sets.Items), err)
	}
}

// countPods watches a namespace and says how many different pods there have been.
func countPods(t *testing.T, namespace string) func() int {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w, err := kube(t).CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen, ask := map[string]bool{}, make(chan chan int)
	go func() {
		for {
			select {
			case e, ok := <-w.ResultChan():
				if !ok {
					return
				}
				if pod, is := e.Object.(*corev1.Pod); is && e.Type == watch.Added {
					seen[string(pod.UID)] = true
				}
			case reply := <-ask:
				reply <- len(seen)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() int {
		reply := make(chan int)
		select {
		case ask <- reply:
			return <-reply
		case <-time.After(time.Minute):
			t.Error("the watch ended")
			return -1
		}
	}
}

// TestTheClusterIsDown: pages answer and say since when the data is old; a spec is kept and carried out when the
// cluster is back.
func TestTheClusterIsDown(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"storage": ""})
	id := str(w["id"])
	// before: starting a browser takes long on a slow machine, and the longer the outage, the later Kubernetes' own
	// programs look again
	p := signIn(t, "dana", look{})
	control(t, http.MethodPost, "/stop/apiserver")
	back := false
	t.Cleanup(func() {
		if !back {
			control(t, http.MethodPost, "/start/apiserver")
		}
	})
	p.open("/")
	p.sees("[data-test^=strip-]")
	p.shot("home")
	p.open("/workloads/" + id)
	p.reads("h1", str(w["name"]))
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/stop", nil)
	request := dana.start("cpu", map[string]any{"storage": ""})
	if request["state"] != "approved" {
		t.Errorf("want requests to be taken while the cluster is away, got %v", request)
	}
	started := str(request["workload"])
	t.Cleanup(func() { dana.remove(started) })
	time.Sleep(2 * time.Second) // nothing tells that nothing happens
	if got := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)["state"]; got != "stopping" {
		t.Errorf("want nobody to be told that it has stopped while nobody knows, got %v", got)
	}
	control(t, http.MethodPost, "/start/apiserver")
	back = true
	dana.reachesWithin(afterOutage, id, "stopped")
	dana.reachesWithin(afterOutage, started, "running")
}

// afterOutage is how long Kubernetes itself may take to notice that the API server is back: the watches of scheduler,
// controller manager and kubelet (KWOK) begin anew after a pause that doubles up to 30 s and is stretched by chance up
// to twice that, and a pod needs all three, one after the other.
const afterOutage = 6 * time.Minute

// TestMetricsAreAway: what cannot be measured is unknown, not zero, and its age is told.
func TestMetricsAreAway(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"storage": ""})
	path := "/workloads/" + str(w["id"]) + "/metrics"
	dana.until(path, "measured", waitForMetrics, hasDevices)
	control(t, http.MethodPost, "/stop/prometheus")
	t.Cleanup(func() { control(t, http.MethodPost, "/start/prometheus") })
	dana.until(path, "of the time of the last answer, some seconds ago", waitForMetrics, func(now map[string]any) bool {
		at, err := time.Parse(time.RFC3339Nano, str(now["at"]))
		return err == nil && time.Since(at) > 5*time.Second
	})
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + str(w["id"]))
	p.sees("[data-test^=strip-]")
}
