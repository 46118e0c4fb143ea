package e2e

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// kube is a client of the real API server.
func kube(t testing.TB) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", world.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// control tells the devstack to do something: stop and start parts, freeze them, reroute a pod.
func control(t testing.TB, method, path string) {
	t.Helper()
	controlWith(t, method, path, nil)
}

// controlWith is control with a body.
func controlWith(t testing.TB, method, path string, body io.Reader) {
	t.Helper()
	r, err := http.NewRequest(method, world.Control+path, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("devstack %s %s: %s", method, path, resp.Status)
	}
}

// podOf is the pod of a workload as the API server has it.
func podOf(t testing.TB, w map[string]any) *corev1.Pod {
	t.Helper()
	pod, err := kube(t).CoreV1().Pods(str(w["namespace"])).Get(context.Background(), str(w["pod"]), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// eventually waits for a condition outside the API.
func eventually(t testing.TB, what string, patience time.Duration, holds func() bool) {
	t.Helper()
	waittest.Within(t, patience, what, holds)
}
