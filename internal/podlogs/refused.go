package podlogs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// refused says what the API server had against a call for a resource.
func refused(err error, w workload.Workload, resource string) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fault.Wrap(fault.Unavailable, err, i18n.T("podlogs.no_right", "Resource", resource, "Namespace", w.Namespace,
			"Cluster", w.Cluster))
	case apierrors.IsNotFound(err):
		return fault.Wrap(fault.Conflict, err, i18n.T("podlogs.gone"))
	}
	return fault.Wrap(fault.Unavailable, err, i18n.T("podlogs.away", "Cluster", w.Cluster))
}

// kubeletSays are words of the kubelet, which the API server passes on with status 400. Source:
// validateContainerLogStatus in pkg/kubelet/kubelet_pods.go of Kubernetes 1.36.
var kubeletSays = []struct{ words, id string }{
	{"previous terminated container", "podlogs.no_previous"},
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
