package reconcile

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var errBehind = errors.New("what is known of the cluster is behind what was already seen there")

// confirm asks the API server itself where the caches take back what the row says: that a pod holds a GPU, or that it
// no longer does. Another controller may have seen more, as after a change of leaders: caches are filled from a replica
// of the API server that lags behind, and the meter would be closed and opened again for a pod that was there all the
// time.
func (l *loop) confirm(ctx context.Context, w workload.Workload, obs workload.Observation, m ownedObjects) error {
	// PlacedAt is zero: no GPU was ever allocated to it, so none can have been released
	if obs.Placed() == w.Observed.Placed() || w.PlacedAt.IsZero() {
		return nil
	}
	before, after := podsOnNodes(w.Observed), podsOnNodes(obs)
	for _, name := range slices.Concat(before, after) {
		if slices.Contains(before, name) && slices.Contains(after, name) {
			continue
		}
		there, err := l.placed(ctx, w, name)
		if err != nil {
			return err
		}
		if there != m.placed(name) {
			return errBehind
		}
	}
	return nil
}

// podsOnNodes names the pods that hold a GPU.
func podsOnNodes(o workload.Observation) (names []string) {
	if len(o.Pods) == 0 && o.Placed() > 0 {
		return []string{o.Pod}
	}
	for _, p := range o.Pods {
		if p.Node != "" {
			names = append(names, p.Pod)
		}
	}
	return names
}

// placed is the UID of the pod of a name when it holds a GPU; "" for none.
func (m ownedObjects) placed(name string) types.UID {
	for _, p := range m.pods {
		if p.Name == name && nodeOf(p) != "" {
			return p.UID
		}
	}
	return ""
}

// placed is the same from the API server: the pod, and up to the object of ours that made it.
func (l *loop) placed(ctx context.Context, w workload.Workload, name string) (types.UID, error) {
	pod, err := l.cluster.Client.CoreV1().Pods(w.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || nodeOf(pod) == "" {
		return "", missing(err)
	}
	if o := l.runnerOf(w); o.Kind == kube.LeaderWorkerSetKind {
		return l.placedInGroup(ctx, o, pod)
	}
	owner := metav1.GetControllerOf(pod)
	if owner != nil && owner.Kind == "ReplicaSet" {
		set, err := l.cluster.Client.AppsV1().ReplicaSets(w.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil || set.UID != owner.UID {
			return "", missing(err)
		}
		owner = metav1.GetControllerOf(set)
	}
	o := l.runnerOf(w)
	if owner != nil && owner.Kind == "Deployment" && o.Kind == kube.InferenceServiceKind {
		made, err := l.cluster.Client.AppsV1().Deployments(w.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil || made.UID != owner.UID {
			return "", missing(err)
		}
		owner = metav1.GetControllerOf(made)
	}
	if owner != nil && owner.Kind == jobKind && o.Kind == kube.JobSetKind {
		made, err := l.cluster.Client.BatchV1().Jobs(w.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil || made.UID != owner.UID {
			return "", missing(err)
		}
		owner = metav1.GetControllerOf(made)
	}
	if owner == nil || owner.Kind != o.Kind || owner.Name != o.Name {
		return "", nil
	}
	object, err := kinds[rank(o.Kind)].clients(l.cluster.Client, o.Namespace).get(ctx, o.Name)
	if err != nil || object.GetUID() != owner.UID || !o.mayTouch(existing(object)) {
		return "", missing(err)
	}
	return pod.UID, nil
}

// missing takes what is not there for an answer.
func missing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
