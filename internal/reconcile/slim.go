package reconcile

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slim drops what nobody here reads before an object is kept: ten thousand pods and a thousand nodes must be cheap, and
// the contents of Secrets must not be in memory at all.
func slim(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		slimPod(o)
	case *corev1.Node:
		slimNode(o)
	case *corev1.Event:
		o.ManagedFields, o.Labels, o.Annotations = nil, nil, nil
	case *appsv1.ReplicaSet:
		o.ManagedFields, o.Spec.Template = nil, corev1.PodTemplateSpec{}
	case *resourcev1.ResourceSlice:
		o.ManagedFields, o.Labels, o.Annotations = nil, nil, nil
	case *resourcev1.ResourceClaim:
		slimClaim(o)
	case *corev1.Secret:
		o.StringData = nil
		for name := range o.Data { // keys stay, so that one that somebody added is found
			o.Data[name] = []byte{0}
		}
		keepSpecFields(o)
	case metav1.Object:
		keepSpecFields(o)
	}
	return obj, nil
}

// keepSpecFields leaves the entries by which foreign edits are found. Those of subresources, such as the status, are
// the larger part.
func keepSpecFields(o metav1.Object) {
	var kept []metav1.ManagedFieldsEntry
	for _, e := range o.GetManagedFields() {
		if e.Subresource == "" {
			kept = append(kept, e)
		}
	}
	o.SetManagedFields(kept)
}

func slimPod(p *corev1.Pod) {
	p.ManagedFields = nil
	for key := range p.Annotations {
		if strings.HasPrefix(key, "kubectl.kubernetes.io/") || strings.HasPrefix(key, "k8s.v1.cni.cncf.io/") {
			delete(p.Annotations, key)
		}
	}
	slimContainers(p.Spec.InitContainers)
	slimContainers(p.Spec.Containers)
	var claims []corev1.Volume
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			claims = append(claims, v)
		}
	}
	p.Spec.Volumes = claims
	for i, c := range p.Spec.EphemeralContainers {
		p.Spec.EphemeralContainers[i] = corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name, Image: c.Image}}
	}
	p.Spec.Affinity, p.Spec.TopologySpreadConstraints, p.Spec.ImagePullSecrets, p.Spec.DNSConfig,
		p.Spec.SecurityContext = nil, nil, nil, nil, nil
}

func slimContainers(list []corev1.Container) {
	for i, c := range list {
		list[i] = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
	}
}

// slimClaim leaves what a claim holds and for whom; what it asked for is the scheduler's business.
func slimClaim(c *resourcev1.ResourceClaim) {
	c.ManagedFields, c.Labels, c.Annotations = nil, nil, nil
	c.Spec, c.Status.Devices = resourcev1.ResourceClaimSpec{}, nil
	if a := c.Status.Allocation; a != nil {
		a.Devices.Config, a.NodeSelector = nil, nil
	}
}

func slimNode(n *corev1.Node) {
	n.ManagedFields = nil
	n.Status.Images, n.Status.VolumesAttached, n.Status.VolumesInUse = nil, nil, nil
	for key := range n.Annotations {
		if strings.HasPrefix(key, "kubectl.kubernetes.io/") || strings.HasPrefix(key, "node.alpha.kubernetes.io/") {
			delete(n.Annotations, key)
		}
	}
}
