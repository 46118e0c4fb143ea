package kube

import (
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// keptFor is how long a job that has ended stays in the cluster, with its pods and their logs.
const keptFor = 7 * 24 * time.Hour

// job runs a program until it ends: one pod, and the next one only when the last has let go of its GPU. What is no
// failure of the program (a node that is drained, a preemption) costs no retry. Stopping suspends it: its pods go, and
// the record stays.
//
// The pod's template can never be changed, so that nothing is in it that may change while the job is there.
func (r renderer) job() *batchv1.Job {
	w := r.Workload
	template := r.template()
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: r.runnerMeta(),
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(w.Job.Retries)),
			Suspend:                 new(w.Desired != workload.WantRunning),
			ActiveDeadlineSeconds:   r.activeDeadline(),
			TTLSecondsAfterFinished: new(int32(keptFor / time.Second)),
			PodReplacementPolicy:    new(batchv1.Failed),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget,
					Status: corev1.ConditionTrue}},
			}}},
			Template: template,
		},
	}
}

// activeDeadline is the time limit as Kubernetes counts it: from the creation of the job on, waiting included. The
// limit counts from the first place on a node, so that it is written when there is one; nil before.
func (r renderer) activeDeadline() *int64 {
	deadline := r.Workload.Deadline()
	if deadline.IsZero() || r.JobStarted.IsZero() {
		return nil
	}
	seconds := math.Ceil(deadline.Sub(r.JobStarted).Seconds())
	return new(max(1, int64(seconds)))
}
