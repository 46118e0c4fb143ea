package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetest "k8s.io/client-go/testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// exited is what a kubelet says of a container whose program ended and was started again.
func exited(code int32, ran time.Duration, at time.Time) corev1.ContainerStatus {
	started := true
	return corev1.ContainerStatus{Name: kube.ContainerName, RestartCount: 1, Started: &started,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code,
			Reason: "Completed", StartedAt: metav1.NewTime(at.Add(-ran)), FinishedAt: metav1.NewTime(at)}}}
}

// A notebook whose program ended by itself is stopped; one that somebody else ended, or that ended with an error, goes
// on. Kubernetes starts all of them again.
func TestAProgramThatEndsByItself(t *testing.T) {
	w := newWorld(t)
	node := func(name string, ready time.Duration) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(time.Now().Add(-ready))}}}}
		if err := w.cluster.Tracker().Add(n); err != nil {
			t.Fatal(err)
		}
	}
	node("node-1", 30*24*time.Hour)
	node("node-new", -time.Second) // ready again after the program had ended
	now := time.Now()
	ran := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{exited(0, d, now)} }
	}
	with := func(change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { ran(time.Hour)(p); change(p) }
	}
	cases := map[string]struct {
		node   string
		change func(*corev1.Pod)
		want   workload.Desired
	}{
		"nb-restarted": {"node-1", ran(time.Hour), workload.WantStopped},
		"nb-backoff": {"node-1", with(func(p *corev1.Pod) {
			c := &p.Status.ContainerStatuses[0]
			c.RestartCount = 5
			c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}), workload.WantStopped},
		"nb-long-ago-in-backoff": {"node-1", with(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exited(0, time.Hour, now.Add(-2*time.Hour))}
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff"}}
		}), workload.WantStopped},
		"nb-error": {"node-1", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exited(1, time.Hour, now)}
		}, workload.WantRunning},
		"nb-killed": {"node-1", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exited(137, time.Hour, now)}
		}, workload.WantRunning},
		"nb-sidecar": {"node-1", with(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Name = "sshd"
		}), workload.WantRunning},
		"nb-evicted": {"node-1", with(func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		}), workload.WantRunning},
		"nb-deleted": {"node-1", with(func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: now}
		}), workload.WantRunning},
		"nb-reboot":  {"node-new", with(func(*corev1.Pod) {}), workload.WantRunning},
		"nb-no-node": {"node-gone", with(func(*corev1.Pod) {}), workload.WantRunning},
		"nb-long-ago": {"node-1", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{exited(0, time.Hour, now.Add(-2*time.Hour))}
		}, workload.WantRunning},
		"nb-other-pod": {"node-1", ran(time.Hour), workload.WantRunning}, // the caches show one that is gone
	}
	w.cluster.PrependReactor("get", "pods", func(a kubetest.Action) (bool, runtime.Object, error) {
		if a.(kubetest.GetAction).GetName() != "nb-other-pod-0" {
			return false, nil, nil
		}
		return true, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nb-other-pod-0", UID: types.UID("another")}}, nil
	})
	ids := map[string]workload.ID{}
	for name := range cases {
		nb := notebook(name)
		ids[name] = nb.ID
		w.store.Put(nb)
	}
	w.run()
	for name, c := range cases {
		waittest.Until(t, "objects of "+name, func() error {
			_, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err == nil {
				return nil
			}
			return fmt.Errorf("%w: %+v", err, w.store.Get(ids[name]))
		})
		w.cluster.play(t, name, c.node, true)
		w.state(ids[name], workload.Running)
		w.cluster.replay(t, name, c.change)
	}
	for name, c := range cases {
		if c.want != workload.WantStopped {
			continue
		}
		within(t, 2*time.Minute, name+" is stopped", func() bool { return w.store.Get(ids[name]).Desired == c.want })
		got := w.store.Get(ids[name])
		if got.Reason.ID != "workload.program_ended" || got.State != workload.Stopping {
			t.Errorf("%s: %s %+v", name, got.State, got.Reason)
		}
		if events := w.store.Events(ids[name]); events[len(events)-1] != audit.WorkloadExited {
			t.Errorf("%s: %v", name, events)
		}
	}
	compared(t, w.store, 4)
	for name, c := range cases {
		if got := w.store.Get(ids[name]); got.Desired != c.want {
			t.Errorf("%s: want %s, got %s %+v", name, c.want, got.Desired, got.Reason)
		}
	}
}
