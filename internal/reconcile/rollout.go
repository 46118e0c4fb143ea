package reconcile

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// revisionOf is the version that a pod runs, as its label has it.
func revisionOf(labels map[string]string) int {
	n, err := strconv.Atoi(labels[kube.RevisionKey])
	if err != nil {
		return 0
	}
	return n
}

// rollout is what the cluster says of the pods of a revision that is on its way; nil for none.
func (l *loop) rollout(w workload.Workload, m ownedObjects, t applyError) *workload.RolloutObservation {
	r := w.Revisions.Rollout
	if r == nil || w.Desired != workload.WantRunning {
		return nil
	}
	own := m.ofRevision(r.To)
	obs := workload.Observation{At: l.o.Now()}
	if pod := own.pod(); pod != nil {
		describe(&obs, pod)
	}
	l.explain(&obs, w, own, t)
	seen := workload.RolloutObservation{Revision: r.To, Pod: obs.Pod, Failed: obs.Failed, Reason: obs.Reason,
		Detail: obs.Detail}
	for _, p := range own.pods {
		if answers(p) {
			seen.Ready++
		}
	}
	return &seen
}

// ofRevision is what one revision has of the objects.
func (m ownedObjects) ofRevision(number int) ownedObjects {
	own := ownedObjects{object: m.object, deployment: m.deployment, groups: m.groups}
	is := func(labels map[string]string) bool { return max(1, revisionOf(labels)) == number }
	own.sets = filtered(m.sets, func(s *appsv1.ReplicaSet) bool { return is(s.Labels) })
	own.pods = filtered(m.pods, func(p *corev1.Pod) bool { return is(p.Labels) })
	return own
}

func filtered[T any](list []T, keep func(T) bool) (out []T) {
	for _, v := range list {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}
