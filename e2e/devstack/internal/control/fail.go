package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// failNode makes a node look as if its kubelet had stopped: its conditions are unknown, the real node controller taints
// it, its exporter does not answer and its pods cannot be reached.
func (c *Control) failNode(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if c.Cluster.Node(name) == nil {
		return nil, fmt.Errorf("node %s: %w", name, errNotFound)
	}
	if err := c.markFailed(r.Context(), name, "true"); err != nil {
		return nil, err
	}
	return map[string]string{"node": name}, c.setReady(r.Context(), name, corev1.ConditionUnknown,
		"NodeStatusUnknown", "Kubelet stopped posting node status.")
}

// restoreNode lets KWOK take the node up again and makes its pods ready, as their kubelet would.
func (c *Control) restoreNode(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if c.Cluster.Node(name) == nil {
		return nil, fmt.Errorf("node %s: %w", name, errNotFound)
	}
	if err := c.markFailed(r.Context(), name, nil); err != nil {
		return nil, err
	}
	if err := c.setReady(r.Context(), name, corev1.ConditionTrue, "KubeletReady",
		"kubelet is posting ready status"); err != nil {
		return nil, err
	}
	for _, pod := range c.Cluster.PodsOn(name) {
		if pod.Status.Phase != corev1.PodRunning || !allRun(pod) {
			continue
		}
		if err := c.patchPod(r.Context(), pod, map[string]any{"conditions": []any{readyNow()}}); err != nil {
			return nil, err
		}
	}
	return map[string]string{"node": name}, nil
}

func allRun(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Running == nil {
			return false
		}
	}
	return true
}

func readyNow() map[string]any {
	return map[string]any{"type": "Ready", "status": "True", "reason": nil, "lastTransitionTime": metav1.Now()}
}

// unlicenseNode takes the licenses of a node's vGPUs away: DCGM and the node's agent say so, and the license server has
// its leases back.
func (c *Control) unlicenseNode(r *http.Request) (any, error) { return c.license(r, "true") }

func (c *Control) licenseNode(r *http.Request) (any, error) { return c.license(r, nil) }

func (c *Control) license(r *http.Request, value any) (any, error) {
	name := r.PathValue("name")
	if c.Cluster.Node(name) == nil {
		return nil, fmt.Errorf("node %s: %w", name, errNotFound)
	}
	return map[string]string{"node": name}, c.annotate(r.Context(), name, nodes.UnlicensedAnnotation, value)
}

func (c *Control) markFailed(ctx context.Context, name string, value any) error {
	return c.annotate(ctx, name, nodes.FailedAnnotation, value)
}

func (c *Control) annotate(ctx context.Context, name, annotation string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{annotation: value}}})
	if err != nil {
		return err
	}
	_, err = c.Cluster.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (c *Control) setReady(ctx context.Context, name string, status corev1.ConditionStatus, reason,
	message string) error {
	now := metav1.Now()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now,
		LastTransitionTime: now,
	}}}})
	if err != nil {
		return err
	}
	_, err = c.Cluster.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}

// failPod ends a pod: all its containers with a code, the pod with phase Failed.
func (c *Control) failPod(r *http.Request) (any, error) {
	pod, err := c.podOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	reason, code := q.Get("reason"), 1
	if reason == "" {
		reason = "Error"
	}
	if reason == "OOMKilled" {
		code = 137
	}
	if given, err := strconv.Atoi(q.Get("code")); err == nil {
		code = given
	}
	now := metav1.NewTime(time.Now())
	var containers []corev1.ContainerStatus
	for _, s := range pod.Status.ContainerStatuses {
		ended := corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason, FinishedAt: now}
		if s.State.Running != nil {
			ended.StartedAt = s.State.Running.StartedAt
		}
		no := false
		s.Ready, s.Started, s.State = false, &no, corev1.ContainerState{Terminated: &ended}
		containers = append(containers, s)
	}
	status := map[string]any{"phase": "Failed", "containerStatuses": containers}
	if reason == "Evicted" {
		status["reason"], status["message"] = reason, "The node was low on resource: memory."
	}
	return map[string]string{"pod": pod.Namespace + "/" + pod.Name}, c.patchPod(r.Context(), pod, status)
}

func (c *Control) patchPod(ctx context.Context, pod *corev1.Pod, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = c.Cluster.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}
