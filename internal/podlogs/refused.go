package podlogs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// errGone is the cause where the cluster had a log of the workload and has none any more.
var errGone = errors.New("the pod is gone")

// restarted is the cause where the cluster has no log of the container before the one that runs.
type restarted struct {
	container string
	since     time.Time // when the present one began
	err       error
}

func (r *restarted) Error() string { return r.err.Error() }

// refused says what the API server had against a call for a resource.
func refused(err error, w workload.Workload, resource string) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fault.Wrap(fault.Unavailable, err, i18n.T("podlogs.no_right", "Resource", resource, "Namespace", w.Namespace,
			"Cluster", w.Cluster))
	case apierrors.IsNotFound(err):
		return fault.Wrap(fault.Conflict, fmt.Errorf("%w: %w", errGone, err), i18n.T("podlogs.gone"))
	}
	return fault.Wrap(fault.Unavailable, err, i18n.T("podlogs.away", "Cluster", w.Cluster))
}

const noPrevious = "podlogs.no_previous"

// began is when the present run of a container began, or its pod where it has not.
func began(pod *corev1.Pod, container string) time.Time {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for _, state := range list {
			if state.Name == container && state.State.Running != nil {
				return state.State.Running.StartedAt.Time
			}
		}
	}
	return pod.CreationTimestamp.Time
}

// kubeletSays are words of the kubelet, which the API server passes on with status 400. Source:
// validateContainerLogStatus in pkg/kubelet/kubelet_pods.go of Kubernetes 1.36.
var kubeletSays = []struct{ words, id string }{
	{"previous terminated container", noPrevious},
	{"can't be pulled", "podlogs.no_image"},
	{"failing to pull image", "podlogs.no_image"},
	{"waiting to start", "podlogs.not_started"},
	{"is not available", "podlogs.not_started"},
}

// refusedLog says why there is no log.
func refusedLog(err error, w workload.Workload, pod *corev1.Pod, container string) error {
	if apierrors.IsBadRequest(err) {
		for _, known := range kubeletSays {
			if strings.Contains(err.Error(), known.words) {
				if known.id == noPrevious {
					err = &restarted{container, began(pod, container), err}
				}
				return fault.Wrap(fault.Conflict, err, i18n.T(known.id, "Container", container))
			}
		}
		return fault.Wrap(fault.Conflict, err, i18n.T("podlogs.none", "Container", container))
	}
	if apierrors.IsInternalError(err) && pod.Spec.NodeName != "" { // the API server could not reach the kubelet
		return fault.Wrap(fault.Unavailable, err, i18n.T("podlogs.node_away", "Node", pod.Spec.NodeName))
	}
	return refused(err, w, "pods/log")
}
