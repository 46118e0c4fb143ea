package reconcile

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const setOfPods = "StatefulSet"

// asGroup is a LeaderWorkerSet; nil for anything else.
func asGroup(o metav1.Object) *unstructured.Unstructured {
	if u, ok := o.(*unstructured.Unstructured); ok && u != nil && u.GetKind() == kube.LeaderWorkerSetKind {
		return u
	}
	return nil
}

// workersOf is the name of the StatefulSet of all pods of a group but the first, and that of the first, which owns it.
func workersOf(group string) string { return group + "-0" }

// groupSets are the StatefulSets that LeaderWorkerSet has made, from v0.10 on with the labels and the record of ours:
// that of the leader, and below the leader that of the workers.
func (l *loop) groupSets(group metav1.Object) (sets []*appsv1.StatefulSet) {
	for _, name := range []string{group.GetName(), workersOf(group.GetName())} {
		found, ok := l.caches().cached(Key{Kind: setOfPods, Namespace: group.GetNamespace(), Name: name})
		if !ok {
			continue
		}
		if made := l.madeOf(found); made != nil && made.GetUID() == group.GetUID() {
			sets = append(sets, found.(*appsv1.StatefulSet))
		}
	}
	return sets
}

// groupPods are those of the StatefulSets, and workers whose StatefulSet is gone already: a leader that is deleted
// takes it with it, and they hold their GPUs until they have stopped.
func (l *loop) groupPods(group metav1.Object, sets []*appsv1.StatefulSet) (pods []*corev1.Pod) {
	for _, set := range sets {
		pods = append(pods, lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byOwner, string(set.UID))...)
	}
	record := kube.OwnerOf(group.GetAnnotations())
	for _, p := range lookup[*corev1.Pod](l.caches().pods.GetIndexer(), byGroup,
		group.GetNamespace()+"/"+group.GetName()) {
		if orphaned(p, group.GetName(), record.Workload) && !slices.ContainsFunc(sets, func(s *appsv1.StatefulSet) bool {
			return metav1.GetControllerOf(p).UID == s.UID
		}) {
			pods = append(pods, p)
		}
	}
	return pods
}

// orphaned reports whether a pod says that it is a worker of a group. Where its StatefulSet is gone nothing else can
// say so; Kubernetes deletes pods whose owner is not there.
func orphaned(p *corev1.Pod, group string, id workload.ID) bool {
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == setOfPods && owner.Name == workersOf(group) &&
		p.Labels[kube.WorkloadKey] == string(id) && p.Labels[kube.GroupLabel] == group
}

// groupOf is the LeaderWorkerSet of ours that a StatefulSet was made for: by UID the leader's, and that of the workers
// by the leader. A StatefulSet whose leader is gone goes as well, and is still the group's.
func (l *loop) groupOf(set metav1.Object) metav1.Object {
	owner := metav1.GetControllerOf(set)
	switch {
	case owner == nil || kindOf(set) != setOfPods:
		return nil
	case owner.Kind == kube.LeaderWorkerSetKind && owner.Name == set.GetName():
		found, ok := l.caches().cached(Key{Kind: owner.Kind, Namespace: set.GetNamespace(), Name: owner.Name})
		if ok && found.GetUID() == owner.UID {
			return found
		}
		return nil
	case owner.Kind != "Pod" || owner.Name != set.GetName():
		return nil
	}
	name := set.GetLabels()[kube.GroupLabel]
	found, ok := l.caches().cached(Key{Kind: kube.LeaderWorkerSetKind, Namespace: set.GetNamespace(), Name: name})
	if !ok || set.GetName() != workersOf(name) {
		return nil
	}
	if leader, there := l.podNamed(set.GetNamespace(), owner.Name); there && leader.UID == owner.UID {
		if made := metav1.GetControllerOf(leader); made == nil || made.Kind != setOfPods || made.Name != name {
			return nil
		}
	}
	return found
}

func (l *loop) podNamed(namespace, name string) (*corev1.Pod, bool) {
	found, exists, err := l.caches().pods.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil, false
	}
	return found.(*corev1.Pod), true
}

// groupSettled reports whether the pods of a group are made from what it now says. What LeaderWorkerSet counts are
// leaders, those with all of their workers.
func groupSettled(group *unstructured.Unstructured) bool {
	var status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Replicas           int32 `json:"replicas"`
		UpdatedReplicas    int32 `json:"updatedReplicas"`
	}
	text, _, err := unstructured.NestedMap(group.Object, "status")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(text, &status) != nil {
		return false // it is not what LeaderWorkerSet writes
	}
	return status.ObservedGeneration >= group.GetGeneration() && status.UpdatedReplicas >= status.Replicas
}

// groupsWanted is how many groups a LeaderWorkerSet asks for: one, or none where it is stopped.
func groupsWanted(group *unstructured.Unstructured) int32 {
	n, found, err := unstructured.NestedInt64(group.Object, "spec", "replicas")
	if err != nil || !found {
		return 1
	}
	return int32(n)
}

// groupTemplate is the pod of the leader. Its workers ask for the same.
func groupTemplate(group *unstructured.Unstructured) (t corev1.PodTemplateSpec) {
	text, _, err := unstructured.NestedMap(group.Object, "spec", "leaderWorkerTemplate", "leaderTemplate")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(text, &t) != nil {
		return corev1.PodTemplateSpec{} // somebody has broken it, and it will be repaired
	}
	return t
}

// inGroup reports, from the API server, whether a pod is one of a group's: of the leader's StatefulSet, or of that of
// the workers, as far as it is still there.
func (l *loop) inGroup(ctx context.Context, group metav1.Object, pod *corev1.Pod, id workload.ID) (bool, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != setOfPods {
		return false, nil
	}
	set, err := l.cluster.Client.AppsV1().StatefulSets(pod.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	if err != nil || set.UID != owner.UID {
		return missing(err) == nil && orphaned(pod, group.GetName(), id), missing(err)
	}
	above := metav1.GetControllerOf(set)
	switch {
	case above == nil:
		return false, nil
	case above.Kind == kube.LeaderWorkerSetKind:
		return above.UID == group.GetUID(), nil
	}
	return orphaned(pod, group.GetName(), id) && above.Kind == "Pod" && above.Name == set.Name, nil
}

// placedInGroup is the UID of a pod with a GPU that is one of a group's; "" where it is not.
func (l *loop) placedInGroup(ctx context.Context, o Object, pod *corev1.Pod) (types.UID, error) {
	group, err := kinds[rank(o.Kind)].clients(l.cluster.Client, o.Namespace).get(ctx, o.Name)
	if err != nil || !o.mayTouch(existing(group)) {
		return "", missing(err)
	}
	if own, err := l.inGroup(ctx, group, pod, o.Workload); err != nil || !own {
		return "", err
	}
	return pod.UID, nil
}
