package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/cadvisor"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/part"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/socks"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stub"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

func start(t *testing.T) (*httptest.Server, kubernetes.Interface, *part.Group) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	running := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "nb"}, Spec: corev1.PodSpec{NodeName: "n1",
			Containers: []corev1.Container{{Name: "main"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{running}}},
	)
	cluster, err := world.New(client)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	group := part.NewGroup(t.TempDir())
	group.Add(part.Spec{Name: "kube-scheduler", Path: "/bin/sh", Args: []string{"-c", "exec sleep 100"}})
	t.Cleanup(func() { _ = group.Stop() })
	network := stub.NewNetwork(ctx, cluster, stub.NewMemory())
	c := &Control{Group: group, Cluster: cluster, Hardware: gpus.New(cluster, filepath.Join(t.TempDir(), "d.json")),
		Containers: cadvisor.New(cluster), Network: network, Context: ctx,
		SOCKS: &socks.Port{Addr: "127.0.0.1:0", Network: network}}
	server := httptest.NewServer(c.Handler("secret"))
	t.Cleanup(server.Close)
	return server, client, group
}

func call(t *testing.T, server *httptest.Server, method, path string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer map[string]any
	_ = json.NewDecoder(resp.Body).Decode(&answer)
	return resp.StatusCode, answer
}

func TestAnswers(t *testing.T) {
	server, _, _ := start(t)
	cases := map[string]struct {
		method, path string
		want         int
	}{
		"the state of everything":     {"GET", "/secret/status", 200},
		"without the secret":          {"GET", "/status", 404},
		"with another secret":         {"GET", "/other/status", 404},
		"a part that is not there":    {"POST", "/secret/stop/nothing", 404},
		"a route":                     {"PUT", "/secret/routes?pod=red/nb&port=8888&to=127.0.0.1:1", 200},
		"a route to another machine":  {"PUT", "/secret/routes?pod=red/nb&port=8888&to=192.0.2.1:1", 400},
		"a route without a pod":       {"PUT", "/secret/routes?port=8888&to=127.0.0.1:1", 400},
		"a load":                      {"PUT", "/secret/load?pod=red/nb&value=0.5", 200},
		"a load of a pod yet to come": {"PUT", "/secret/load?pod=red/soon&value=0", 200},
		"a load that is too much":     {"PUT", "/secret/load?pod=red/nb&value=2", 400},
		"a load that is no number":    {"PUT", "/secret/load?pod=red/nb&value=NaN", 400},
		"a busy CPU":                  {"PUT", "/secret/cpu?pod=red/soon&value=0.9", 200},
		"a CPU that is too much":      {"PUT", "/secret/cpu?pod=red/nb&value=1.1", 400},
		"a CPU as it was":             {"DELETE", "/secret/cpu?pod=red/nb", 200},
		"a memory to fill":            {"PUT", "/secret/memory?pod=red/nb&value=0.1", 200},
		"a memory that is too much":   {"PUT", "/secret/memory?pod=red/nb&value=1.1", 400},
		"a memory as it was":          {"DELETE", "/secret/memory?pod=red/nb", 200},
		"a notebook's past": {"PUT", "/secret/notebook?pod=red/nb&last_activity=2026-01-02T03:04:05Z&kernels=1",
			200},
		"a notebook's past, unclear":   {"PUT", "/secret/notebook?pod=red/nb&last_activity=yesterday", 400},
		"a node that is not there":     {"POST", "/secret/nodes/none/fail", 404},
		"a pod that is not there":      {"POST", "/secret/pods/fail?pod=red/none", 404},
		"an XID on a node":             {"PUT", "/secret/xid?node=n1&gpu=0&xid=79", 200},
		"devices of a node not ours":   {"GET", "/secret/holders/n1", 400},
		"the SOCKS port can be closed": {"POST", "/secret/stop/socks", 200},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, answer := call(t, server, c.method, c.path); got != c.want {
				t.Errorf("want %d, got %d %v", c.want, got, answer)
			}
		})
	}
}

func TestPartsObey(t *testing.T) {
	server, _, _ := start(t)
	for _, step := range []struct{ action, want string }{
		{"start", "running"}, {"freeze", "frozen"}, {"thaw", "running"}, {"stop", "stopped"}, {"start", "running"},
	} {
		if _, answer := call(t, server, "POST", "/secret/"+step.action+"/scheduler"); answer["state"] != step.want {
			t.Errorf("%s: want %s, got %v", step.action, step.want, answer)
		}
	}
	if _, answer := call(t, server, "POST", "/secret/stop/scheduler?signal=KILL"); answer["state"] != "stopped" {
		t.Errorf("want it killed, got %v", answer)
	}
}

func TestLostNode(t *testing.T) {
	server, client, _ := start(t)
	get := func() *corev1.Node {
		n, err := client.CoreV1().Nodes().Get(context.Background(), "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	call(t, server, "POST", "/secret/nodes/n1/fail")
	if n := get(); n.Annotations[nodes.FailedAnnotation] != "true" ||
		n.Status.Conditions[0].Status != corev1.ConditionUnknown {
		t.Errorf("want the node lost, got %v %v", n.Annotations, n.Status.Conditions)
	}
	call(t, server, "POST", "/secret/nodes/n1/restore")
	if n := get(); n.Annotations[nodes.FailedAnnotation] != "" || n.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("want the node back, got %v %v", n.Annotations, n.Status.Conditions)
	}
}

func TestFailedPod(t *testing.T) {
	server, client, _ := start(t)
	if code, answer := call(t, server, "POST", "/secret/pods/fail?pod=red/nb&reason=OOMKilled"); code != 200 {
		t.Fatalf("want it done, got %v", answer)
	}
	p, err := client.CoreV1().Pods("red").Get(context.Background(), "nb", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := p.Status.ContainerStatuses[0].State.Terminated
	if p.Status.Phase != corev1.PodFailed || ended == nil || ended.ExitCode != 137 ||
		!strings.Contains(ended.Reason, "OOM") {
		t.Errorf("want the pod out of memory, got %+v", p.Status)
	}
}
