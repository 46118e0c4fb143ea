package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// An address is given to another pod when its first one is gone, and something on the way may keep connections of the
// first one open. The second one's calls, and its secret, must not go there.
func TestAConnectionIsNeverLentToAnotherPod(t *testing.T) {
	var dialled []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, goodStatus)
	}))
	defer server.Close()
	pods, err := NewPods(PodsOptions{Clusters: map[string]Cluster{
		"c1": {Dialer: dialerOf(func(ctx context.Context, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		})}}, Secrets: &world{}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(w workload.Workload) {
		t.Helper()
		to, err := pods.target(w)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pods.get(t.Context(), w, to, "/api/status"); err != nil {
			t.Fatal(err)
		}
	}
	first, second := notebook("nb-anna", "anna"), notebook("nb-berta", "berta")
	second.ID = "w-another"
	second.Observed.PodIP = first.Observed.PodIP
	again := first
	again.Observed.Generation++
	for i, w := range []workload.Workload{first, first, second, again, second} {
		ask(w)
		if want := []int{1, 1, 2, 3, 3}[i]; len(dialled) != want {
			t.Errorf("call %d: want %d connections so far, got %d", i+1, want, len(dialled))
		}
	}
	for _, address := range dialled {
		if want := net.JoinHostPort(first.Observed.PodIP, "8888"); address != want {
			t.Errorf("want %s to be dialled, got %s", want, address)
		}
	}
}

func TestAddressOf(t *testing.T) {
	w := notebook("nb-anna", "anna")
	for _, ip := range []string{"10.64.0.7", "fd00::7"} {
		w.Observed.PodIP = ip
		p := &Pods{transports: map[string]http.RoundTripper{"c1": http.DefaultTransport}}
		to, err := p.target(w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := addressOf(to.host); err != nil || got != to.address {
			t.Errorf("%s: want %s, got %s, %v", to.host, to.address, got, err)
		}
	}
	for _, host := range []string{"", "x", "localhost:80", "10.0.0.1:80", "0a00.pod:80", ":80"} {
		if got, err := addressOf(host); err == nil {
			t.Errorf("%q: want an error, got %s", host, got)
		}
	}
}

type dialerOf func(ctx context.Context, address string) (net.Conn, error)

func (f dialerOf) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	return f(ctx, address)
}

// While one version takes over from another, each pod is called as its own version listens.
func TestEachPodIsCalledAsItsVersionListens(t *testing.T) {
	w := notebook("ranker", "anna")
	w.Kind, w.Image.Port = catalog.Endpoint, 9000
	old := w.Image
	old.Port = 8000
	w.Revisions = workload.Revisions{Serving: 1, Rollout: &workload.Rollout{From: 1, To: 2},
		List: []workload.Revision{{Number: 1, Image: old}, {Number: 2, Image: w.Image}}}
	w.Observed.Pods = []workload.Replica{{Pod: "a", IP: "10.64.0.7", Ready: true},
		{Pod: "b", IP: "10.64.0.8", Ready: true, Revision: 2}, {Pod: "c", IP: "10.64.0.9", Revision: 2}}
	p := &Pods{transports: map[string]http.RoundTripper{"c1": http.DefaultTransport}}
	got := map[string]int{}
	for range 4 {
		to, err := p.target(w)
		if err != nil {
			t.Fatal(err)
		}
		got[to.address] = to.revision
	}
	want := map[string]int{"10.64.0.7:8000": 1, "10.64.0.8:9000": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Of several pods that serve one model together the first is called alone, whichever of them the others wait for.
func TestWorkersAreNotCalled(t *testing.T) {
	w := notebook("ranker", "anna")
	w.Kind, w.Image.Port = catalog.Endpoint, 8000
	w.Observed.Pod, w.Observed.PodIP = "r-nodes-0-1", "10.64.0.8"
	w.Observed.Pods = []workload.Replica{{Pod: "r-nodes-0-1", IP: "10.64.0.8", Worker: true},
		{Pod: "r-nodes-0", IP: "10.64.0.7", Ready: true}, {Pod: "r-nodes-0-2", IP: "10.64.0.9", Ready: true, Worker: true}}
	p := &Pods{transports: map[string]http.RoundTripper{"c1": http.DefaultTransport}}
	for range 3 {
		if to, err := p.target(w); err != nil || to.pod != "r-nodes-0" || to.address != "10.64.0.7:8000" {
			t.Errorf("called is %+v (%v)", to, err)
		}
	}
	w.Observed.Pods = w.Observed.Pods[:1]
	if to, err := p.target(w); err == nil {
		t.Errorf("without the first pod %+v is called", to)
	}
}

// A canary takes its part of the calls; one that names a version goes there, where that is ready.
func TestACanaryTakesItsPart(t *testing.T) {
	w := notebook("ranker", "anna")
	w.Kind = catalog.Endpoint
	w.Revisions = workload.Revisions{Serving: 1, Rollout: &workload.Rollout{From: 1, To: 2,
		Canary: &workload.Canary{Percent: 20, Ready: true}},
		List: []workload.Revision{{Number: 1, Image: w.Image}, {Number: 2, Image: w.Image}}}
	w.Observed.Pods = []workload.Replica{{Pod: "a", IP: "10.64.0.7", Ready: true},
		{Pod: "b", IP: "10.64.0.8", Ready: true}, {Pod: "c", IP: "10.64.0.9", Ready: true, Revision: 2}}
	p := &Pods{transports: map[string]http.RoundTripper{"c1": http.DefaultTransport}}
	share := func(w workload.Workload, named int) (canary int) {
		for range 5000 {
			to, err := p.targetOf(w, named)
			if err != nil {
				t.Fatal(err)
			}
			if to.revision == 2 {
				canary++
			}
		}
		return canary
	}
	if n := share(w, 0); n < 850 || n > 1150 { // five standard deviations
		t.Errorf("want a fifth of 5000 calls, got %d", n)
	}
	if first, second := share(w, 1), share(w, 2); first != 0 || second != 5000 {
		t.Errorf("calls that name a version: %d and %d of 5000", first, second)
	}
	w.Observed.Pods[2].Ready = false
	if n := share(w, 0) + share(w, 2); n != 0 {
		t.Errorf("%d calls to a canary that is not ready", n)
	}
}

// TestDial goes to the observed pod alone, and to no address that is not a pod's.
func TestDial(t *testing.T) {
	var dialled string
	server := httptest.NewServer(nil)
	defer server.Close()
	pods, err := NewPods(PodsOptions{Clusters: map[string]Cluster{
		"c1": {Dialer: dialerOf(func(ctx context.Context, address string) (net.Conn, error) {
			dialled = address
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		})},
		"c2": {Transport: http.DefaultTransport}}})
	if err != nil {
		t.Fatal(err)
	}
	w := notebook("nb-anna", "anna")
	w.Observed.Pods = []workload.Replica{{Pod: "other", IP: "10.64.0.99", Ready: true}}
	w.Revisions = workload.Revisions{Serving: 2, List: []workload.Revision{{Number: 1, Image: w.Image}, {Number: 2}}}
	conn, err := pods.Dial(t.Context(), w, 2222)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if want := net.JoinHostPort(w.Observed.PodIP, "2222"); dialled != want {
		t.Errorf("want %s, got %s", want, dialled)
	}
	for name, change := range map[string]func(*workload.Workload, *int32){
		"no pod":                    func(w *workload.Workload, _ *int32) { w.Observed.PodIP = "" },
		"the node itself":           func(w *workload.Workload, _ *int32) { w.Observed.PodIP = "127.0.0.1" },
		"a cloud's metadata":        func(w *workload.Workload, _ *int32) { w.Observed.PodIP = "169.254.169.254" },
		"no port":                   func(_ *workload.Workload, port *int32) { *port = 0 },
		"an unknown cluster":        func(w *workload.Workload, _ *int32) { w.Cluster = "c9" },
		"one behind the API server": func(w *workload.Workload, _ *int32) { w.Cluster = "c2" },
	} {
		w, port := notebook("nb-anna", "anna"), int32(2222)
		change(&w, &port)
		dialled = ""
		if conn, err := pods.Dial(t.Context(), w, port); err == nil || dialled != "" {
			t.Errorf("%s: want it refused and nothing dialled, got %v, %v, %s", name, conn, err, dialled)
		}
	}
}
