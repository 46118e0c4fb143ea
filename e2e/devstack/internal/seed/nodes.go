package seed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// Nodes makes the n nodes of the table that are missing and removes those of ours that are too many. A node that is
// there stays as it is: its MIG layout may have been changed since.
func Nodes(ctx context.Context, client kubernetes.Interface, n int) error {
	there, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	have := map[string]bool{}
	for _, node := range there.Items {
		have[node.Name] = true
	}
	wanted := map[string]bool{}
	var work []func() error
	for _, named := range nodes.ForCount(n) {
		wanted[named.Name] = true
		if !have[named.Name] {
			work = append(work, func() error { return create(ctx, client, named) })
		}
	}
	for _, node := range there.Items {
		if node.Annotations[nodes.KindAnnotation] != "" && !wanted[node.Name] {
			work = append(work, func() error { return remove(ctx, client, node.Name) })
		}
	}
	return parallel(16, work)
}

func create(ctx context.Context, client kubernetes.Interface, n nodes.Named) error {
	node, err := nodes.Build(n)
	if err != nil {
		return err
	}
	if _, err = client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); !settled(err) {
		return fmt.Errorf("make node %s: %w", n.Name, err)
	}
	return nil
}

func remove(ctx context.Context, client kubernetes.Interface, name string) error {
	err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove node %s: %w", name, err)
	}
	return nil
}

// Kubelets has every node of ours name the port at which its kubelet answers, on loopback. The API server takes it from
// there for logs; the port is another after a start with new ports.
func Kubelets(ctx context.Context, client kubernetes.Interface, port int) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	patch := fmt.Appendf(nil, `{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}},`+
		`"addresses":[{"type":"ExternalIP","address":"127.0.0.1"}]}}`, port)
	var work []func() error
	for _, node := range list.Items {
		if node.Annotations[nodes.KindAnnotation] == "" || int(node.Status.DaemonEndpoints.KubeletEndpoint.Port) == port {
			continue
		}
		work = append(work, func() error {
			_, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
				"status")
			return err
		})
	}
	return parallel(16, work)
}

// parallel does the work with so many hands and returns the first error.
func parallel(hands int, work []func() error) error {
	todo := make(chan func() error)
	results := make(chan error)
	for range hands {
		go func() {
			for f := range todo {
				results <- f()
			}
		}()
	}
	go func() {
		for _, f := range work {
			todo <- f
		}
		close(todo)
	}()
	var first error
	for range work {
		if err := <-results; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// WaitReady waits until every node is ready, except those that somebody made fail.
func WaitReady(ctx context.Context, client kubernetes.Interface) error {
	for {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return fmt.Errorf("list the nodes: %w", err)
		}
		waiting := 0
		for _, node := range list.Items {
			if !ready(&node) && node.Annotations[nodes.FailedAnnotation] == "" {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d nodes did not get ready; see the log of kwok", waiting, len(list.Items))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
