package reconcile

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// quarantine are what administrators have called bad.
func (l *loop) quarantine() inventory.Quarantine {
	if l.o.Quarantine == nil {
		return inventory.Quarantine{}
	}
	return l.o.Quarantine(l.name)
}

// quarantined is what a pod that is made now goes around: quarantined nodes, those whose cards all are, and such
// cards.
func (l *loop) quarantined() kube.Avoid {
	q := l.quarantine()
	nodes := maps.Clone(q.Nodes)
	if stock, known := l.snapshot(); known && len(q.Cards) > 0 {
		for _, n := range stock.Nodes {
			if n.Quarantined && len(n.QuarantinedCards) > 0 {
				if nodes == nil {
					nodes = map[string]bool{}
				}
				nodes[n.Name] = true
			}
		}
	}
	return kube.Avoid{Nodes: slices.Sorted(maps.Keys(nodes)), Cards: slices.Sorted(maps.Keys(q.Cards))}
}

// avoid is what a workload's pods go around. A change of it is a new pod, so that it changes only where none can be
// lost: before the first, while it is stopped, and while the scheduler has found no place for the one that there is.
// Anything else keeps what it was started with.
func (l *loop) avoid(w workload.Workload) kube.Avoid {
	if m := l.gather(w); m.keeps(w) {
		return kube.AvoidOf(m.object.GetAnnotations())
	}
	return l.quarantined()
}

// mirror is the registry that a workload's image is pulled from. It changes where avoid may change.
func (l *loop) mirror(w workload.Workload, now catalog.Mirror) catalog.Mirror {
	if m := l.gather(w); m.keeps(w) {
		return kube.MirrorOf(m.object.GetAnnotations())
	}
	return now
}

// published reports whether the pods of a workload are made for a gateway of the site. It changes where avoid may
// change.
func (l *loop) published(w workload.Workload, now kube.ModelGateway) bool {
	if m := l.gather(w); m.keeps(w) {
		return kube.PublishedIn(m.object.GetAnnotations())
	}
	return now.Publishes() && kube.CanPublish(w)
}

// keeps reports whether a workload keeps what it was started with.
func (m ownedObjects) keeps(w workload.Workload) bool {
	switch {
	case m.object == nil:
		return false
	case w.IsJob(): // the template of its pods can never be changed
		return true
	}
	return w.Desired != workload.WantRunning || !m.stands() && !m.waits()
}

// stands reports whether the object makes no pod now.
func (m ownedObjects) stands() bool {
	switch o := m.object.(type) {
	case *appsv1.StatefulSet:
		return o.Spec.Replicas != nil && *o.Spec.Replicas == 0
	case *appsv1.Deployment:
		return o.Spec.Replicas != nil && *o.Spec.Replicas == 0
	case *unstructured.Unstructured:
		return minReplicas(o) == 0
	}
	return false
}

// waits reports whether the scheduler has said of every pod that there is no place for it.
func (m ownedObjects) waits() bool {
	return len(m.pods) > 0 && !slices.ContainsFunc(m.pods, func(p *corev1.Pod) bool {
		scheduled := condition(p, corev1.PodScheduled)
		return p.Spec.NodeName != "" || p.DeletionTimestamp != nil || scheduled == nil ||
			scheduled.Status != corev1.ConditionFalse
	})
}

// RefreshQuarantine tells that Quarantine says something else now: the inventory is taken anew, and workloads that wait
// for a place are looked at.
func (c *Controller) RefreshQuarantine(ctx context.Context) {
	for _, l := range c.all() {
		l.dirty.fire()
	}
	c.compare(ctx)
}
