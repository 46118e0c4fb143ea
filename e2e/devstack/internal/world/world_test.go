package world

import (
	"context"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestDialWaits: whoever connects while the API server is stopped is connected once it listens again.
func TestDialWaits(t *testing.T) {
	before, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := before.Addr().String()
	_ = before.Close()
	connected := make(chan error, 1)
	go func() {
		conn, err := Dial(t.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		connected <- err
	}()
	select {
	case err := <-connected:
		t.Fatalf("want it to wait while nothing listens, got %v", err)
	case <-time.After(2 * between):
	}
	again, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if err := <-connected; err != nil {
		t.Errorf("want a connection once something listens, got %v", err)
	}
}

// TestDialEnds: nobody waits longer than they want.
func TestDialEnds(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := closed.Addr().String()
	_ = closed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conn, err := Dial(ctx, "tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("want an error when the context ends")
	}
}

// TestPodBeforeTheWatch: a pod is found that the API server has and the cache does not know yet.
func TestPodBeforeTheWatch(t *testing.T) {
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "nb"}})
	c, err := New(client) // nothing is watched before Start
	if err != nil {
		t.Fatal(err)
	}
	if pod := c.Pod("red", "nb"); pod == nil || pod.Name != "nb" {
		t.Errorf("want the pod that the API server has, got %v", pod)
	}
	if pod := c.Pod("red", "other"); pod != nil {
		t.Errorf("want nil for a pod that does not exist, got %v", pod)
	}
}
