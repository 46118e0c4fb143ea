package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// replicated is an endpoint of four replicas with its ReplicaSet, and what makes a pod of that.
func (w *world) replicated(t *testing.T, name string) (workload.Workload, *appsv1.ReplicaSet,
	func(name string) *corev1.Pod) {
	t.Helper()
	ep := notebook(name)
	ep.Kind = catalog.Endpoint
	ep.Replicas = workload.Replicas{Range: workload.Range{Min: 1, Max: 4}, Wanted: 4, Held: 4}
	w.store.Put(ep)
	w.run()
	var d *appsv1.Deployment
	waittest.Until(t, "the Deployment", func() (err error) {
		d, err = w.cluster.AppsV1().Deployments(namespace).Get(t.Context(), ep.Name, metav1.GetOptions{})
		return err
	})
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: ep.Name + "-1", Namespace: namespace,
		UID: "set-" + d.UID, Labels: d.Spec.Template.Labels, OwnerReferences: controlled("Deployment", d.Name, d.UID)}}
	return ep, set, func(name string) *corev1.Pod {
		return w.cluster.podOf(name, "ReplicaSet", set.Name, set.UID, d.Spec.Template)
	}
}

// An endpoint that answers says of each replica that does not why, and why the cluster makes no further one.
func TestWhyAReplicaDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", ResourceVersion: "1"}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	add := func(objects ...runtime.Object) {
		for _, o := range objects {
			if err := w.cluster.Tracker().Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(node)
	ep, set, pod := w.replicated(t, "ep-a")
	pulls, crashes := pod("ep-a-1-pulls"), pod("ep-a-1-crashes")
	waits := func(p *corev1.Pod, state corev1.ContainerStatus) {
		p.Status.Phase, p.Status.Conditions = corev1.PodPending, nil
		p.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	}
	waits(pulls, corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: "429 Too Many Requests"}}})
	waits(crashes, corev1.ContainerStatus{Name: "main", RestartCount: 4,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1,
			Reason: "Error"}}})
	refused := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "ep-a-1.refused", Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "ReplicaSet", Name: set.Name, Namespace: namespace, UID: set.UID},
		Reason:         "FailedCreate", Type: corev1.EventTypeWarning, LastTimestamp: metav1.NewTime(time.Now()),
		Message: `pods "ep-a-1-x" is forbidden: exceeded quota: gpu-portal, requested: cpu=4, used: cpu=12, limited: cpu=12`}
	evicted := pod("ep-a-1-evicted") // a ReplicaSet leaves it there, and it counts no more
	evicted.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
	add(set, pod("ep-a-1-answers"), pulls, crashes, evicted, refused)
	want := map[string]string{"ep-a-1-answers": "", "ep-a-1-pulls": "explain.registry_limit",
		"ep-a-1-crashes": "explain.crash_code", "ep-a-1-evicted": ""}
	waittest.Until(t, "a reason for each", func() error {
		o := w.store.Get(ep.ID).Observed
		got := map[string]string{}
		for _, r := range o.Pods {
			got[r.Pod] = r.Reason.ID
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || o.Missing.ID != "explain.quota_other" {
			return fmt.Errorf("want %v and a full quota, got %v and %+v", want, got, o.Missing)
		}
		return nil
	})
	if got := w.store.Get(ep.ID).Unready(); len(got) != 2 {
		t.Errorf("want the two that shall answer, got %+v", got)
	}
	if got := w.store.Get(ep.ID); got.State != workload.Running {
		t.Errorf("want it to run with one replica, got %s %+v", got.State, got.Reason)
	}
}

// Replicas without a node are explained from one look at the nodes, and each from its own events.
func TestWhyReplicasWaitForANode(t *testing.T) {
	w := newWorld(t)
	ep, set, pod := w.replicated(t, "ep-w")
	objects := []runtime.Object{set, pod("ep-w-1-answers")}
	for _, name := range []string{"ep-w-1-a", "ep-w-1-b"} {
		p := pod(name)
		p.Spec.NodeName = ""
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/1 nodes are available: 1 Insufficient cpu."}}}
		objects = append(objects, p)
	}
	unclaimed := pod("ep-w-1-claim")
	unclaimed.Spec.NodeName = ""
	unclaimed.Status = corev1.PodStatus{Phase: corev1.PodPending}
	objects = append(objects, unclaimed, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: unclaimed.Name + ".claim",
		Namespace: namespace}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: unclaimed.Name, Namespace: namespace,
		UID: unclaimed.UID}, Reason: "FailedScheduling", Type: corev1.EventTypeWarning,
		LastTimestamp: metav1.NewTime(time.Now()), Message: `persistentvolumeclaim "models" not found`})
	for _, o := range objects {
		if err := w.cluster.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"ep-w-1-answers": "", "ep-w-1-a": "explain.node_full", "ep-w-1-b": "explain.node_full",
		"ep-w-1-claim": "explain.cluster_says"}
	waittest.Until(t, "a reason for each", func() error {
		got := map[string]string{}
		for _, r := range w.store.Get(ep.ID).Observed.Pods {
			got[r.Pod] = r.Reason.ID
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("want %v, got %v", want, got)
		}
		return nil
	})
}
