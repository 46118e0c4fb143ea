package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var jobSets = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}

// onJobSet is a job of several pods.
func onJobSet(w workload.Workload, pods int, command ...string) workload.Workload {
	w = reconciletest.Job(w, command...)
	w.Image.Backend = catalog.OnJobSet
	w.Replicas = workload.Replicas{Range: workload.Range{Min: pods, Max: pods}, Wanted: pods, Held: pods}
	return w
}

// withJobSet lets jobs run on JobSet.
func withJobSet(o *reconcile.Options) { onSite(o, func(s *kube.Site) { s.Access.JobSet = true }) }

// A cluster without JobSet says so of the job that needs it, and one where it is not set up does.
func TestWithoutJobSet(t *testing.T) {
	withoutOperator(t, onJobSet(notebook("job-a"), 2, "train"), withJobSet, "reconcile.no_jobset")
}

// withoutOperator wants a workload to fail, with the reason, where the operator that makes its pods is not installed or
// the portal has no right to its objects; another workload starts, and deleting the one that failed goes through.
func withoutOperator(t *testing.T, needs workload.Workload, allow func(*reconcile.Options), reason string) {
	t.Helper()
	for name, adjust := range map[string]func(*reconcile.Options){"not installed": allow,
		"not set up": func(*reconcile.Options) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.store.Put(needs)
			w.store.Put(notebook("nb-b"))
			w.run(adjust)
			w.state(needs.ID, workload.Failed)
			if got := w.store.Get(needs.ID).Reason; got.ID != reason || got.Args["Cluster"] != reconciletest.Cluster {
				t.Errorf("reason %+v", got)
			}
			within(t, 2*time.Minute, "the other", func() bool {
				return slices.Contains(w.cluster.objects(namespace), "StatefulSet/nb-b")
			})
			if err := w.store.SetDesired(needs.ID, workload.Delete, time.Now()); err != nil {
				t.Fatal(err)
			}
			w.state(needs.ID, workload.Ended)
		})
	}
}

// jobset plays the controller of JobSet in one namespace, as v0.12 does (pkg/controllers/jobset_controller.go and
// failure_policy.go): a Job for each JobSet, with the labels of both levels; where it fails it is made anew, as often
// as the policy says; what it ends with stands in the conditions.
type jobset struct {
	r      *real
	custom dynamic.ResourceInterface
}

// run looks at every JobSet after each change of one or of a Job.
func (k jobset) run(ctx context.Context) {
	changes := woken(ctx, k.custom.Watch, k.r.Client.BatchV1().Jobs(k.r.namespace).Watch)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		sets, err := k.custom.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range sets.Items {
			if err := k.act(ctx, &sets.Items[i]); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) &&
				!apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
				k.r.t.Errorf("the fake controller of JobSet: %v", err)
			}
		}
	}
}

func (k jobset) act(ctx context.Context, set *unstructured.Unstructured) error {
	if set.GetDeletionTimestamp() != nil || len(conditionsOf(set)) > 0 && finished(set) {
		return nil
	}
	jobs := k.r.Client.BatchV1().Jobs(set.GetNamespace())
	name := set.GetName() + "-node-0"
	job, err := jobs.Get(ctx, name, metav1.GetOptions{})
	restarts, _, _ := unstructured.NestedInt64(set.Object, "status", "restarts")
	if _, decided, _ := unstructured.NestedBool(set.Object, "spec", "suspend"); !decided {
		return k.suspend(ctx, set, true) // Kueue's webhook does; the portal decides where there is no queue
	}
	if apierrors.IsNotFound(err) {
		made, err := k.job(set, name, restarts)
		if err == nil {
			_, err = jobs.Create(ctx, made, metav1.CreateOptions{})
		}
		return err
	}
	if err != nil || job.DeletionTimestamp != nil {
		return err
	}
	if job.Spec.Suspend != nil && *job.Spec.Suspend != queued(set) {
		job.Spec.Suspend = new(queued(set))
		_, err := jobs.Update(ctx, job, metav1.UpdateOptions{})
		return err
	}
	attempt, _ := strconv.ParseInt(job.Labels["jobset.sigs.k8s.io/restart-attempt"], 10, 64)
	if attempt < restarts { // of the attempt before
		return jobs.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
	}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		most, _, _ := unstructured.NestedInt64(set.Object, "spec", "failurePolicy", "maxRestarts")
		switch {
		case c.Type == batchv1.JobComplete:
			return k.conclude(ctx, set, "Completed", "AllJobsCompleted", "jobset completed successfully")
		case c.Type == batchv1.JobFailed && restarts < most:
			if err := unstructured.SetNestedField(set.Object, restarts+1, "status", "restarts"); err != nil {
				return err
			}
			_, err := k.custom.UpdateStatus(ctx, set, metav1.UpdateOptions{})
			return err
		case c.Type == batchv1.JobFailed:
			return k.conclude(ctx, set, "Failed", "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts")
		}
	}
	return nil
}

// job is the Job of a JobSet: constructJob.
func (k jobset) job(set *unstructured.Unstructured, name string, restarts int64) (*batchv1.Job, error) {
	list, _, err := unstructured.NestedSlice(set.Object, "spec", "replicatedJobs")
	if err != nil || len(list) != 1 {
		return nil, fmt.Errorf("%d lists of Jobs (%w)", len(list), err)
	}
	var of struct {
		Template batchv1.JobTemplateSpec `json:"template"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list[0].(map[string]any), &of); err != nil {
		return nil, err
	}
	subdomain, _, _ := unstructured.NestedString(set.Object, "spec", "network", "subdomain")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: set.GetNamespace(),
		Labels: maps.Clone(of.Template.Labels), Annotations: maps.Clone(of.Template.Annotations),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, set.GroupVersionKind())}},
		Spec: of.Template.Spec}
	job.Spec.Template.Spec.Subdomain, job.Spec.Suspend = subdomain, new(queued(set))
	for _, labels := range []map[string]string{job.Labels, job.Spec.Template.Labels} {
		labels["jobset.sigs.k8s.io/jobset-name"] = set.GetName()
		labels["jobset.sigs.k8s.io/restart-attempt"] = strconv.FormatInt(restarts, 10)
	}
	return job, nil
}

func queued(set *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(set.Object, "spec", "suspend")
	return suspended
}

// suspend is what Kueue does: true when a JobSet with a queue comes, false when there is room for all of its pods.
func (k jobset) suspend(ctx context.Context, set *unstructured.Unstructured, wait bool) error {
	if err := unstructured.SetNestedField(set.Object, wait, "spec", "suspend"); err != nil {
		return err
	}
	_, err := k.custom.Update(ctx, set, metav1.UpdateOptions{})
	return err
}

func (k jobset) conclude(ctx context.Context, set *unstructured.Unstructured, kind, reason, message string) error {
	conditions := []any{map[string]any{"type": kind, "status": "True", "reason": reason, "message": message,
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}
	if err := unstructured.SetNestedSlice(set.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(set.Object, kind, "status", "terminalState"); err != nil {
		return err
	}
	_, err := k.custom.UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}

func conditionsOf(set *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	return list
}

func finished(set *unstructured.Unstructured) bool {
	state, _, _ := unstructured.NestedString(set.Object, "status", "terminalState")
	return state != ""
}

// withJobSets is a real cluster with JobSet, whose controller plays until the test ends.
func withJobSets(t *testing.T) (*real, jobset) {
	t.Helper()
	sets := define(t, reconciletest.NeedDevstack(t), kube.JobSetAPI, jobSets)
	r := newReal(t, withJobSet)
	k := jobset{r: r, custom: sets.Namespace(r.namespace)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return r, k
}

// TestDevstackJobSetInAQueue: a job of several pods in a queue of Kueue says that it waits there, though its Job is
// there already, and runs when Kueue lets it.
func TestDevstackJobSetInAQueue(t *testing.T) {
	r, k := withJobSets(t)

	w := onJobSet(r.notebook("job-queued"), 2, "sleep 3600")
	w.Size.Placement.PodLabels = map[string]string{"kueue.x-k8s.io/queue-name": "team"}
	r.store.Put(w)
	waittest.Until(t, "it waits in the queue", func() error {
		if got := r.store.Get(w.ID); got.State != workload.Queued || got.Reason.ID != "reconcile.jobset_queued" {
			return fmt.Errorf("it is %s: %+v", got.State, got.Reason)
		}
		_, err := r.Client.BatchV1().Jobs(r.namespace).Get(t.Context(), w.Name+workload.NodesSuffix, metav1.GetOptions{})
		return err
	})
	set, err := k.custom.Get(t.Context(), w.Name, metav1.GetOptions{})
	if err == nil {
		err = k.suspend(t.Context(), set, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := r.state(w.ID, workload.Running); got.Metered() != 2 || !got.Reason.IsZero() {
		t.Errorf("it runs with %d pods: %+v", got.Metered(), got.Reason)
	}
	r.want(w.ID, workload.Delete)
	r.state(w.ID, workload.Ended)
}

// TestDevstackJobSet: jobs of several pods begin together, are metered each pod, end with success, or after their
// retries with the code of the pod that failed first; a time limit and a stop take them away; nothing of them is left
// behind, and what JobSet makes of them is taken for nobody's pretence.
func TestDevstackJobSet(t *testing.T) {
	r, k := withJobSets(t)

	long := onJobSet(r.notebook("job-long"), 2, "sleep 3600")
	good := onJobSet(r.notebook("job-good"), 2, "sleep 2; exit 0")
	bad := onJobSet(r.notebook("job-bad"), 2, "sleep 2; exit 3")
	late := onJobSet(r.notebook("job-late"), 1, "sleep 3600")
	late.Job.TimeLimit = catalog.Duration(5 * time.Second)
	for _, w := range []workload.Workload{long, good, bad, late} {
		r.store.Put(w)
	}

	got := r.state(long.ID, workload.Running)
	if o := got.Observed; len(o.Pods) != 2 || o.ReadyReplicas() != 2 || got.Metered() != 2 || got.PlacedAt.IsZero() ||
		o.Node == "" || !got.HasPod(o.Pods[0].Pod) || !got.HasPod(o.Pods[1].Pod) {
		t.Errorf("it runs as %+v", o)
	}
	policies := r.Client.NetworkingV1().NetworkPolicies(r.namespace)
	if _, err := policies.Get(t.Context(), kube.PeerPolicyName(long), metav1.GetOptions{}); err != nil {
		t.Errorf("its pods do not reach each other: %v", err)
	}

	if got := r.state(good.ID, workload.Succeeded); got.Result == nil || !got.Result.Succeeded ||
		got.Result.ExitCode == nil || *got.Result.ExitCode != 0 || got.Result.Attempts != 1 {
		t.Errorf("it ended with %+v", got.Result)
	}
	r.state(bad.ID, workload.Failed)
	waittest.Until(t, "the code of the second attempt", func() error {
		if got := r.store.Get(bad.ID); got.Result == nil || got.Result.Succeeded || got.Result.ExitCode == nil ||
			*got.Result.ExitCode != 3 || got.Result.Attempts != 2 || got.Desired != workload.Finished {
			return fmt.Errorf("it ended with %+v", got.Result)
		}
		return nil
	})
	if got := r.state(late.ID, workload.Failed); got.Result == nil || got.Result.ExitCode != nil ||
		got.Reason.ID != "explain.job_deadline" {
		t.Errorf("over time it ended with %+v: %+v", got.Result, got.Reason)
	}
	if left := r.pods(late.ID); len(left) > 0 {
		t.Errorf("over time, with pods %v", left)
	}

	r.want(long.ID, workload.Stop)
	r.state(long.ID, workload.Stopped)
	if left := r.pods(long.ID); len(left) > 0 {
		t.Errorf("stopped with pods %v", left)
	}
	for _, w := range []workload.Workload{long, good, bad, late} {
		r.want(w.ID, workload.Delete)
		r.state(w.ID, workload.Ended)
		waittest.Until(t, "nothing is left of "+w.Name, func() error {
			_, set := k.custom.Get(t.Context(), w.Name, metav1.GetOptions{})
			_, policy := policies.Get(t.Context(), kube.PeerPolicyName(w), metav1.GetOptions{})
			if !apierrors.IsNotFound(set) || !apierrors.IsNotFound(policy) {
				return errors.Join(errors.New("it is there"), set, policy)
			}
			return nil
		})
		if left := r.pods(w.ID); len(left) > 0 {
			t.Errorf("%s ended with pods %v", w.Name, left)
		}
		for _, m := range r.store.Meter(w.ID) {
			if m.Until.IsZero() {
				t.Errorf("%s is still metered: %+v", w.Name, m)
			}
		}
	}
	if told := r.store.EventsOf(audit.ObjectSpoofed); len(told) > 0 {
		t.Errorf("what JobSet made is called a pretence: %+v", told)
	}
}
