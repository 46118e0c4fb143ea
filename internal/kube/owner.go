package kube

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// LabelPrefix is the domain of all labels and annotations of the portal.
const LabelPrefix = "gpu-portal.github.io/"

// The owner record: annotations on every object, so that whose it is can be told before it is touched. The same keys
// are labels where a selector needs them. Labels and annotations are a hint that is checked against the database and
// the UID; anyone with edit rights can write them.
const (
	InstanceKey = LabelPrefix + "instance" // which portal, where several share a cluster
	TenantKey   = LabelPrefix + "tenant"   // name of the tenant
	// id of the workload; absent on the tenant's own objects and on storage, which outlives workloads
	WorkloadKey = LabelPrefix + "workload"
	// of the spec that was applied; annotation of objects, never of pods, which a new spec alone must not replace
	GenerationKey = LabelPrefix + "generation"
	VolumeKey     = LabelPrefix + "volume"   // name of the storage, on its claim
	SizeKey       = LabelPrefix + "size"     // label of pods: name of the size
	RevisionKey   = LabelPrefix + "revision" // label of an endpoint's pods: its version, from the second on
	ExposedKey    = LabelPrefix + "exposed"  // label of pods that the gateway may reach, "true"
)

// componentLabel says what an object is for: the kind of the workload, or a part of its team's namespace.
const componentLabel = "app.kubernetes.io/component"

// The label that every object of the portal carries; watches select on it.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "gpu-portal"
)

// Owner is the owner record of an object.
type Owner struct {
	Instance   string
	Tenant     string
	Workload   workload.ID
	Volume     string
	Generation int64
}

// OwnerOf reads the owner record from annotations. A generation that is no number counts as 0.
func OwnerOf(annotations map[string]string) Owner {
	generation, _ := strconv.ParseInt(annotations[GenerationKey], 10, 64)
	return Owner{
		Instance: annotations[InstanceKey], Tenant: annotations[TenantKey], Workload: workload.ID(annotations[WorkloadKey]),
		Volume: annotations[VolumeKey], Generation: generation,
	}
}

// annotations is the owner record as it is written.
func (o Owner) annotations() map[string]string {
	a := map[string]string{InstanceKey: o.Instance, TenantKey: o.Tenant}
	if o.Workload != "" {
		a[WorkloadKey] = string(o.Workload)
	}
	if o.Volume != "" {
		a[VolumeKey] = o.Volume
	}
	if o.Generation != 0 {
		a[GenerationKey] = strconv.FormatInt(o.Generation, 10)
	}
	return a
}

// labels is what watches and selectors look for.
func (o Owner) labels(component string) map[string]string {
	l := map[string]string{
		ManagedByLabel: ManagedBy, "app.kubernetes.io/part-of": ManagedBy, componentLabel: component,
		InstanceKey: o.Instance, TenantKey: o.Tenant,
	}
	if o.Workload != "" {
		l[WorkloadKey] = string(o.Workload)
	}
	if o.Volume != "" {
		l[VolumeKey] = o.Volume
	}
	return l
}

// meta is the metadata of an object of this owner.
func (o Owner) meta(component, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: o.labels(component), Annotations: o.annotations()}
}
