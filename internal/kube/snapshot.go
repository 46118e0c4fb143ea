package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// What the snapshots of CSI call themselves, as of external-snapshotter v8 (client/apis/volumesnapshot/v1).
const (
	SnapshotAPI        = "snapshot.storage.k8s.io/v1"
	VolumeSnapshotKind = "VolumeSnapshot"
)

// VolumeSnapshot renders a snapshot of a volume, of the class that the site has for it.
func VolumeSnapshot(site Site, s workload.VolumeSnapshot) *unstructured.Unstructured {
	meta := Owner{Instance: site.Instance, Tenant: s.Tenant, Volume: s.Volume}.meta("snapshot", s.Namespace, s.ID)
	spec := map[string]any{"source": map[string]any{"persistentVolumeClaimName": s.Volume}}
	if site.SnapshotClass != "" {
		spec["volumeSnapshotClassName"] = site.SnapshotClass
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(SnapshotAPI)
	o.SetKind(VolumeSnapshotKind)
	o.SetName(meta.Name)
	o.SetNamespace(meta.Namespace)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	return o
}

// snapshotSource is the data source of a volume that is made from a snapshot.
func snapshotSource(name string) *corev1.TypedLocalObjectReference {
	group, _, _ := strings.Cut(SnapshotAPI, "/")
	return &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: VolumeSnapshotKind, Name: name}
}
