package reconcile

import (
	"cmp"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// asJobSet is a JobSet; nil for anything else.
func asJobSet(o metav1.Object) *unstructured.Unstructured {
	if u, ok := o.(*unstructured.Unstructured); ok && u != nil && u.GetKind() == kube.JobSetKind {
		return u
	}
	return nil
}

// jobOf is the Job that JobSet has made of a JobSet; nil before, and between two attempts.
func (l *loop) jobOf(set metav1.Object) *batchv1.Job {
	found, ok := l.caches().cached(Key{Kind: jobKind, Namespace: set.GetNamespace(),
		Name: set.GetName() + workload.NodesSuffix})
	if !ok {
		return nil
	}
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != set.GetUID() {
		return nil
	}
	return found.(*batchv1.Job)
}

// overdue reports whether a job's time limit is over and nothing in the cluster ends it: Kubernetes counts the limit of
// a Job, and nobody that of a JobSet from its first place on. One that has ended by itself is not overdue.
func (l *loop) overdue(w workload.Workload) bool {
	at := w.Deadline()
	if !w.Image.NeedsJobSet() || w.Desired != workload.WantRunning || at.IsZero() || l.o.Now().Before(at) {
		return false
	}
	return l.gather(w).jobEnd() == nil
}

// jobSetConditions are the conditions of its status.
func jobSetConditions(set *unstructured.Unstructured) (list []metav1.Condition) {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	text, _, err := unstructured.NestedMap(set.Object, "status")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(text, &status) != nil {
		return nil // it is not what JobSet writes, and says nothing
	}
	return status.Conditions
}

// jobSetEnded is the condition with which a JobSet has ended, as a Job has it; nil while it has not. JobSet sets it
// when the Job has ended, and with it all of its pods (v0.12, pkg/controllers/jobset_controller.go).
func jobSetEnded(set *unstructured.Unstructured) *batchv1.JobCondition {
	for _, c := range jobSetConditions(set) {
		kind := batchv1.JobConditionType("")
		switch c.Type {
		case "Completed":
			kind = batchv1.JobComplete
		case "Failed":
			kind = batchv1.JobFailed
		}
		if kind != "" && c.Status == metav1.ConditionTrue {
			return &batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: c.Reason, Message: c.Message,
				LastTransitionTime: c.LastTransitionTime}
		}
	}
	return nil
}

// queued reports whether a JobSet waits for Kueue, which suspends it until there is room.
func queued(set *unstructured.Unstructured) bool {
	suspend, _, _ := unstructured.NestedBool(set.Object, "spec", "suspend")
	return suspend
}

// restarts is how often JobSet has begun anew.
func restarts(set *unstructured.Unstructured) int {
	n, _, _ := unstructured.NestedInt64(set.Object, "status", "restarts")
	return int(n)
}

// jobSetWords is what JobSet says last of one that has not ended; "" for nothing.
func jobSetWords(set *unstructured.Unstructured) string {
	words := ""
	for _, c := range jobSetConditions(set) {
		if c.Status == metav1.ConditionTrue && c.Message != "" {
			words = c.Message
		}
	}
	return words
}

// jobSetTemplate is the pod that a JobSet asks for.
func jobSetTemplate(set *unstructured.Unstructured) corev1.PodTemplateSpec {
	var spec struct {
		ReplicatedJobs []struct {
			Template batchv1.JobTemplateSpec `json:"template"`
		} `json:"replicatedJobs"`
	}
	text, _, err := unstructured.NestedMap(set.Object, "spec")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(text, &spec) != nil ||
		len(spec.ReplicatedJobs) == 0 {
		return corev1.PodTemplateSpec{} // somebody has broken it, and it will be repaired
	}
	return spec.ReplicatedJobs[0].Template.Spec.Template
}

// together reports whether a job or a group of several pods runs: all of them are there, and each answers or has
// succeeded.
func together(pods []*corev1.Pod, wanted int) bool {
	running, done := 0, 0
	for _, p := range pods {
		switch {
		case answers(p):
			running++
		case p.Status.Phase == corev1.PodSucceeded:
			done++
		}
	}
	return running > 0 && running+done >= wanted
}

// telling orders the pods of a job or a group of several: first the one that says most of where it is. One that waits
// or fails keeps all the others from going on; of those that failed it is the one that failed first, for the others
// fail because it is gone. Else it is the one of rank 0.
func telling(a, b *corev1.Pod) int {
	if by := cmp.Compare(leavingRank(a), leavingRank(b)); by != 0 {
		return by
	}
	if by := cmp.Compare(tellingRank(a), tellingRank(b)); by != 0 {
		return by
	}
	if x, y := failedAt(a), failedAt(b); !x.Equal(&y) && !x.IsZero() && !y.IsZero() {
		return x.Compare(y.Time)
	}
	return cmp.Compare(indexOf(a), indexOf(b))
}

func tellingRank(p *corev1.Pod) int {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return 0
	case p.Status.Phase == corev1.PodSucceeded:
		return 3
	case answers(p):
		return 2
	}
	return 1
}

// failedAt is when the program of a pod failed; zero where it did not.
func failedAt(p *corev1.Pod) metav1.Time {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; kube.Serves(c.Name) && t != nil && t.ExitCode != 0 {
			return t.FinishedAt
		}
	}
	return metav1.Time{}
}

// indexOf is the rank of a pod, which Kubernetes or LeaderWorkerSet writes on it. Ranks of one length are compared as
// text.
func indexOf(p *corev1.Pod) string {
	index := cmp.Or(p.Annotations[batchv1.JobCompletionIndexAnnotation], p.Labels[kube.WorkerIndexLabel])
	return string(rune(len(index))) + index
}
