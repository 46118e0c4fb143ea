package reconcile

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// exitKept is for how long an end counts that was followed by a start: for the time in which no portal looked, and for
// clocks of nodes that differ. An older one was passed over on purpose.
const exitKept = time.Hour

// programEnded is when the program of a notebook ended by itself; zero while it has not. The caches may show a pod that
// is gone, so the API server is asked before anything is concluded.
func (l *loop) programEnded(ctx context.Context, w workload.Workload, m ownedObjects) (time.Time, error) {
	pod := m.pod()
	if w.Kind != catalog.Notebook || w.Desired != workload.WantRunning || pod == nil || l.exitOf(w, pod).IsZero() {
		return time.Time{}, nil
	}
	now, err := l.cluster.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	case now.UID != pod.UID:
		return time.Time{}, nil
	}
	return l.exitOf(w, now), nil
}

// exitOf is when the serving container of a pod ended with exit code 0 without anybody outside of it having ended it.
// The kubelet ends containers too, and many programs then exit with 0: when the pod is deleted or evicted or its node
// shuts down (the pod's phase or its deletion say so), when the node starts anew (it was not ready meanwhile), and when
// the startup probe fails.
func (l *loop) exitOf(w workload.Workload, p *corev1.Pod) time.Time {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
		return time.Time{}
	}
	for _, c := range p.Status.ContainerStatuses {
		if !kube.Serves(c.Name) {
			continue
		}
		t := c.State.Terminated
		if t == nil {
			t = c.LastTerminationState.Terminated
		}
		if t == nil || t.ExitCode != 0 || t.FinishedAt.IsZero() {
			return time.Time{}
		}
		startedAgain := c.State.Running != nil
		stale := startedAgain && (c.RestartCount == 0 || obsolete(w, c, t.FinishedAt.Time, l.o.Now()))
		neverReady := w.State != workload.Running && t.FinishedAt.Sub(t.StartedAt.Time) >= kube.NotebookStartup
		if stale || neverReady || !l.steady(p.Spec.NodeName, t.FinishedAt.Time) {
			return time.Time{}
		}
		return t.FinishedAt.UTC()
	}
	return time.Time{}
}

// obsolete reports whether the end of a program that runs again is no news: its restart has been seen before.
func obsolete(w workload.Workload, c corev1.ContainerStatus, ended, now time.Time) bool {
	return c.RestartCount <= w.Observed.Restarts || now.Sub(ended) > exitKept
}

// steady reports whether a node has been ready since a moment, without a break.
func (l *loop) steady(name string, since time.Time) bool {
	obj, exists, err := l.caches().nodes.GetStore().GetByKey(name)
	if err != nil || !exists {
		return false
	}
	for _, c := range obj.(*corev1.Node).Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue && c.LastTransitionTime.Time.Before(since)
		}
	}
	return false
}
