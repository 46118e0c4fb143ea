package inventory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Objects is everything that a snapshot is made of, as the API server lists it.
type Objects struct {
	Nodes  []*corev1.Node
	Pods   []*corev1.Pod
	Slices []*resourcev1.ResourceSlice
	Claims []*resourcev1.ResourceClaim
}

// Build makes the snapshot of a cluster that is seen at once. Ours gives the portal's workload id of a pod, "" for a
// foreign one: a label alone does not prove it. Pods that have ended or have no node hold nothing; pods that are being
// deleted still do. Labels that sizes select on are kept whatever they are called when they are named in keep.
func Build(cluster string, now time.Time, seen Objects, ours func(*corev1.Pod) string, keep ...string) Snapshot {
	b := NewBuilder(cluster, ours, keep...)
	for _, n := range seen.Nodes {
		b.SetNode(n)
	}
	for _, p := range seen.Pods {
		b.SetPod(p)
	}
	for _, s := range seen.Slices {
		b.SetSlice(s)
	}
	for _, c := range seen.Claims {
		b.SetClaim(c)
	}
	return b.Snapshot(now)
}
