package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func job(name string) workload.Workload { return reconciletest.Job(notebook(name), "train") }

// attempt plays a pod of a job: on a node, and ended with a code where it is not below zero.
func (c *fakeCluster) attempt(t *testing.T, name string, n int, code int32) {
	t.Helper()
	job, err := c.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-abcd%d", name, n), Namespace: namespace,
			Labels: job.Spec.Template.Labels, UID: types.UID(fmt.Sprintf("uid-%s-%d", name, n)), ResourceVersion: c.version(),
			CreationTimestamp: metav1.NewTime(time.Now().Add(time.Duration(n) * time.Second)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: job.UID,
				Controller: new(true)}}},
		Spec: job.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}},
	}
	pod.Spec.NodeName = "node-1"
	if code >= 0 {
		pod.Status.Phase, pod.Status.Conditions[1].Status = corev1.PodFailed, corev1.ConditionFalse
		if code == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: metav1.Now(), FinishedAt: metav1.Now()}}}}
	}
	if err := c.Tracker().Add(pod); err != nil {
		if err := c.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), pod, namespace); err != nil {
			t.Fatal(err)
		}
	}
}

// jobIs writes the status of a job as its controller does.
func (c *fakeCluster) jobIs(t *testing.T, name string, change func(*batchv1.Job)) {
	t.Helper()
	job, err := c.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job = job.DeepCopy()
	change(job)
	job.ResourceVersion = c.version()
	if err := c.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), job, namespace); err != nil {
		t.Fatal(err)
	}
}

func ended(kind batchv1.JobConditionType, reason string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Active, j.Status.Failed = 0, 2
		j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason,
			LastTransitionTime: metav1.Now()}}
	}
}

// A job fails once, is tried again, and ends: between the attempts and afterwards nothing is metered, and what the
// cluster still has of it is not made again.
func TestAJobRunsToItsEnd(t *testing.T) {
	w := newWorld(t)
	j := job("train")
	w.store.Put(j)
	w.run()
	within(t, 2*time.Minute, "the job", func() bool {
		_, err := w.cluster.BatchV1().Jobs(namespace).Get(t.Context(), "train", metav1.GetOptions{})
		return err == nil
	})
	begun := metav1.NewTime(time.Now().Add(-time.Hour))
	w.cluster.jobIs(t, "train", func(j *batchv1.Job) { j.Status.StartTime, j.Status.Active = &begun, 1 })
	w.cluster.attempt(t, "train", 1, -1)
	w.state(j.ID, workload.Running)
	within(t, 2*time.Minute, "the time limit from its place on", func() bool {
		live, err := w.cluster.BatchV1().Jobs(namespace).Get(t.Context(), "train", metav1.GetOptions{})
		limit := live.Spec.ActiveDeadlineSeconds
		return err == nil && limit != nil && *limit > 10_700 && *limit < 11_500 // three hours since it was made
	})
	w.cluster.attempt(t, "train", 1, 3)
	w.state(j.ID, workload.Queued)
	if got := w.store.Get(j.ID); got.Reason.ID != "explain.again" || got.Observed.Pod != "train-abcd1" {
		t.Errorf("between two attempts: %+v %s", got.Reason, got.Observed.Pod)
	}
	w.cluster.attempt(t, "train", 2, -1)
	w.state(j.ID, workload.Running)
	w.cluster.attempt(t, "train", 2, 137)
	w.cluster.jobIs(t, "train", ended(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded))
	within(t, 2*time.Minute, "its end", func() bool { return w.store.Get(j.ID).Desired == workload.Finished })
	got := w.store.Get(j.ID)
	if got.State != workload.Failed || got.Reason.ID != "explain.job_signal" || got.Result.ExitCode == nil ||
		*got.Result.ExitCode != 137 || got.Result.Attempts != 2 || got.Observed.PodPresent || got.Observed.Node != "" {
		t.Errorf("want signal 9 after two attempts, got %s %+v %+v", got.State, got.Reason, got.Result)
	}
	meter := w.store.Meter(j.ID)
	if len(meter) != 2 || meter[0].Until.IsZero() || meter[1].Until.IsZero() {
		t.Errorf("want an interval for each attempt, both closed, got %+v", meter)
	}
	if err := w.cluster.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), namespace,
		"train"); err != nil { // as after its time to live
		t.Fatal(err)
	}
	compared(t, w.store, 3)
	if l, err := w.cluster.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(l.Items) > 0 {
		t.Errorf("want nothing made again, got %v %v", l.Items, err)
	}
	if after := w.store.Get(j.ID); after.Reason.ID != got.Reason.ID || after.Result == nil {
		t.Errorf("want result and reason kept, got %+v %+v", after.Reason, after.Result)
	}
	if err := w.store.SetDesired(j.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		if err := w.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace,
			fmt.Sprintf("train-abcd%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	w.state(j.ID, workload.Ended)
}

// Stopping suspends a job; one whose pods are gone is over.
func TestAJobIsStopped(t *testing.T) {
	w := newWorld(t)
	j := job("train")
	w.store.Put(j)
	w.run()
	within(t, 2*time.Minute, "the job", func() bool {
		_, err := w.cluster.BatchV1().Jobs(namespace).Get(t.Context(), "train", metav1.GetOptions{})
		return err == nil
	})
	w.cluster.attempt(t, "train", 1, -1)
	w.state(j.ID, workload.Running)
	if err := w.store.SetDesired(j.ID, workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "suspended", func() bool {
		live, err := w.cluster.BatchV1().Jobs(namespace).Get(t.Context(), "train", metav1.GetOptions{})
		return err == nil && *live.Spec.Suspend
	})
	w.state(j.ID, workload.Stopping)
	if err := w.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace,
		"train-abcd1"); err != nil {
		t.Fatal(err)
	}
	w.cluster.jobIs(t, "train", func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
	})
	w.state(j.ID, workload.Stopped)
	if got := w.store.Get(j.ID); !got.Over() || got.Holds() {
		t.Errorf("want it over, got %s %s", got.Desired, got.State)
	}
}
