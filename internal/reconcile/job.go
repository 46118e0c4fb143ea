package reconcile

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func suspended(j *batchv1.Job) bool { return j.Spec.Suspend != nil && *j.Spec.Suspend }

// jobCondition is one that holds; nil for none.
func jobCondition(j *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		if c := &j.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// ended is the condition with which a job has ended; nil while it has not. Kubernetes sets it when no pod is left that
// runs.
func ended(j *batchv1.Job) *batchv1.JobCondition {
	if c := jobCondition(j, batchv1.JobComplete); c != nil {
		return c
	}
	return jobCondition(j, batchv1.JobFailed)
}

// over reports whether a pod has come to its end and holds nothing any more.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// podPresent: what a job's pods leave behind when they have ended is kept for their logs, and counts for nothing.
func (m ownedObjects) podPresent(w workload.Workload) bool {
	if !w.IsJob() || w.Desired == workload.WantDeleted {
		return len(m.pods) > 0
	}
	return slices.ContainsFunc(m.pods, func(p *corev1.Pod) bool { return !over(p) })
}

// result is how a job ended; nil while it has not, and for everything else.
func (m ownedObjects) result() *workload.Result {
	end := m.jobEnd()
	if end == nil {
		return nil
	}
	r := &workload.Result{Succeeded: end.Type == batchv1.JobComplete, At: end.LastTransitionTime.UTC()}
	if set := asJobSet(m.object); set != nil {
		r.Attempts = 1 + restarts(set)
	} else {
		r.Attempts = int(m.job.Status.Succeeded + m.job.Status.Failed)
	}
	if t := m.terminated(r.Succeeded); t != nil {
		r.ExitCode, r.StartedAt, r.At = new(t.ExitCode), t.StartedAt.UTC(), t.FinishedAt.UTC()
	}
	return r
}

// jobEnd is the condition with which a job has ended; nil while it has not, and for everything else.
func (m ownedObjects) jobEnd() *batchv1.JobCondition {
	switch set := asJobSet(m.object); {
	case set != nil:
		return jobSetEnded(set)
	case m.job != nil:
		return ended(m.job)
	}
	return nil
}

// terminated is how the program ended in the newest pod that came to its end; of a JobSet in the one that failed first.
func (m ownedObjects) terminated(succeeded bool) *corev1.ContainerStateTerminated {
	for _, p := range m.pods {
		if !over(p) || succeeded != (p.Status.Phase == corev1.PodSucceeded) {
			continue
		}
		for _, c := range p.Status.ContainerStatuses {
			if kube.Serves(c.Name) && c.State.Terminated != nil {
				return c.State.Terminated
			}
		}
	}
	return nil
}
