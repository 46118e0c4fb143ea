package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// fetchSecretKey names the Secret with which KServe's storage initializer fetches a model: the default of
// storageSecretNameAnnotation in KServe's settings.
const fetchSecretKey = "serving.kserve.io/storageSecretName"

// servingModel is spec.predictor.model of an InferenceService: which ServingRuntime serves which model. KServe merges
// its container over that of the runtime as a strategic merge patch (MergeRuntimeContainers of kserve/kserve, v0.20):
// what is said here goes before; only args are appended.
type servingModel struct {
	ModelFormat struct {
		Name string `json:"name"`
	} `json:"modelFormat"`
	Runtime          string `json:"runtime"`
	StorageURI       string `json:"storageUri,omitempty"`
	corev1.Container `json:",inline"`
	// Name stands before that of the container, and is left out: KServe refuses any here (validatePredictor of v0.20).
	Name string `json:"name,omitempty"`
}

// servingModel takes the container out of a pod and makes of it what is said to the ServingRuntime. What a runtime may
// not loosen is said on the container as well, where it goes before the runtime's: what is only in the pod would not.
func (r renderer) servingModel(t *corev1.PodTemplateSpec) *servingModel {
	m := &servingModel{Runtime: r.Workload.Image.Runtime.ServingRuntime, StorageURI: storageURI(r.Workload),
		Container: t.Spec.Containers[0]}
	m.ModelFormat.Name = r.Workload.Image.Runtime.ModelFormat
	if m.Image == "" { // whose tag may be another one tomorrow
		m.ImagePullPolicy = ""
	}
	security, pod := m.SecurityContext, t.Spec.SecurityContext
	security.Privileged = new(bool)
	security.RunAsNonRoot, security.RunAsUser, security.SeccompProfile = pod.RunAsNonRoot, pod.RunAsUser,
		pod.SeccompProfile
	if name := r.fetchSecret(); name != "" {
		t.Annotations[fetchSecretKey] = name
	}
	t.Spec.Containers = nil
	return m
}

// storageURI is where KServe gets the model from; "" where it gets none. A model that is an image is mounted by the
// portal, where KServe would put it: for oci:// KServe starts a second container that the Pod Security level restricted
// refuses (ConfigureModelcarToContainer).
func storageURI(w workload.Workload) string {
	m := w.Model
	if m == nil {
		return ""
	}
	switch m.Source {
	case catalog.FromHub:
		if m.Revision != "" {
			return "hf://" + m.Name + ":" + m.Revision
		}
		return "hf://" + m.Name
	case catalog.FromS3:
		return m.Name
	case catalog.FromStorage:
		if volume, ok := modelVolumeOf(w); ok {
			return "pvc://" + volume.Claim + strings.TrimPrefix(m.Name, volume.Path())
		}
	}
	return ""
}

// modelVolumeOf is the volume of the team that the model lies on.
func modelVolumeOf(w workload.Workload) (workload.Mount, bool) {
	if w.Model == nil || w.Model.Source != catalog.FromStorage {
		return workload.Mount{}, false
	}
	for _, m := range w.Mounts {
		if strings.HasPrefix(w.Model.Name, m.Path()+"/") {
			return m, true
		}
	}
	return workload.Mount{}, false
}

// fetches reports whether KServe mounts the volume for its model. A pod has each claim once, so that the portal leaves
// that mount to it: the directory of the model is read-only in ModelDir then, and the rest of the volume is not there.
func (r renderer) fetches(m workload.Mount) bool {
	if !r.Workload.Image.OnServingRuntime() {
		return false
	}
	volume, ok := modelVolumeOf(r.Workload)
	return ok && volume.Claim == m.Claim
}

// fetchable says why KServe cannot get the model; nil where it can.
func fetchable(w workload.Workload) error {
	volume, ok := modelVolumeOf(w)
	if !ok {
		if w.Model != nil && w.Model.Source == catalog.FromStorage {
			return fmt.Errorf("model %q is on no volume of the workload", w.Model.Name)
		}
		return nil
	}
	for _, m := range w.Mounts {
		if m.Claim == volume.Claim && m.Path() != volume.Path() {
			return fmt.Errorf("%s and the model are on one volume, which KServe mounts for the model alone", m.Path())
		}
	}
	return nil
}

// fetchSecret is the Secret with which KServe fetches the model; a check of the catalog sees that it is only one.
func (r renderer) fetchSecret() string {
	m := r.Workload.Model
	if m == nil || m.Source != catalog.FromHub && m.Source != catalog.FromS3 {
		return ""
	}
	source, _ := r.Workload.Image.Runtime.Source(m.Source)
	if len(source.Secrets) == 0 {
		return ""
	}
	return source.Secrets[0].Secret
}
