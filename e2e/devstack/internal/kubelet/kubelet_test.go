package kubelet

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

func pod(name, node string, status corev1.ContainerStatus) *corev1.Pod {
	status.Name = "main"
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name, UID: types.UID("uid-of-" + name)},
		Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}
}

var (
	runs    = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended   = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	waiting = func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
)

func start(t *testing.T) (*httptest.Server, *Logs, *world.Cluster) {
	t.Helper()
	return startWith(t, NewShells(t.TempDir()))
}

func startWith(t *testing.T, shells *Shells) (*httptest.Server, *Logs, *world.Cluster) {
	t.Helper()
	cluster, err := world.New(fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost",
			Annotations: map[string]string{nodes.FailedAnnotation: "true"}}},
		pod("runs", "n1", corev1.ContainerStatus{State: runs}),
		pod("crashes", "n1", corev1.ContainerStatus{State: waiting("CrashLoopBackOff"), LastTerminationState: ended}),
		pod("pulls", "n1", corev1.ContainerStatus{State: waiting("ImagePullBackOff")}),
		pod("on-lost", "lost", corev1.ContainerStatus{State: runs})))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	logs := NewLogs()
	server := httptest.NewServer(Handler(cluster, logs, shells))
	t.Cleanup(server.Close)
	return server, logs, cluster
}

func get(t *testing.T, server *httptest.Server, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(server.URL + "/containerLogs/red/" + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestLogs: parameters and refusals are those of a kubelet.
func TestLogs(t *testing.T) {
	server, logs, cluster := start(t)
	logs.Set(cluster.Pod("red", "runs"), "main", false, false, "one\ntwo\nthree\n")
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"runs/main":               {200, "one\ntwo\nthree\n"},
		"runs/main?tailLines=1":   {200, "three\n"},
		"runs/main?limitBytes=6":  {200, "one\ntw"},
		"runs/main?previous=true": {400, "previous terminated container \"main\" in pod \"runs\" not found\n"},
		"runs/other":              {400, "container \"other\" in pod \"runs\" is not available\n"},
		"nobody/main":             {404, "pod does not exist\n"},
		"pulls/main": {400, "container \"main\" in pod \"pulls\" is waiting to start: trying and failing " +
			"to pull image\n"},
		"runs/main?sinceSeconds=3600":      {200, "one\ntwo\nthree\n"},
		"crashes/main?previous=true&x=yes": {200, strings.Join(failed, "\n") + "\n"},
	} {
		if code, text := get(t, server, path); code != want.code || text != want.text {
			t.Errorf("%s: want %d %q, got %d %q", path, want.code, want.text, code, text)
		}
	}
	if code, text := get(t, server, "on-lost/main"); code != 0 {
		t.Errorf("a lost node answers %d %q", code, text)
	}
	if _, text := get(t, server, "runs/main?timestamps=true&tailLines=1"); !strings.HasSuffix(text, "Z three\n") {
		t.Errorf("timestamps: %q", text)
	}
}

// TestFollow: what is written later comes too, and the answer ends with the caller.
func TestFollow(t *testing.T) {
	server, logs, cluster := start(t)
	of := cluster.Pod("red", "runs")
	logs.Set(of, "main", false, false, "first\n")
	resp, err := http.Get(server.URL + "/containerLogs/red/runs/main?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"first", "second", "third"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("want %s, got %q, %v", want, lines.Text(), lines.Err())
		}
		logs.Set(of, "main", false, true, map[string]string{"first": "second", "second": "third"}[want])
	}
}
