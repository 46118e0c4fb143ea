package reconcile_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// quarantines are what administrators say while a test goes on.
type quarantines struct {
	mu  sync.Mutex
	now inventory.Quarantine
}

func (m *quarantines) get(string) inventory.Quarantine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *quarantines) nodes(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = inventory.Quarantine{Nodes: map[string]bool{}}
	for _, n := range names {
		m.now.Nodes[n] = true
	}
}

// around is which nodes the pods of a StatefulSet go around, by its template and by its note.
func around(c *fakeCluster, name string) (template, note []string, there bool) {
	obj, err := c.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), namespace, name)
	if err != nil {
		return nil, nil, false
	}
	set := obj.(*appsv1.StatefulSet)
	if a := set.Spec.Template.Spec.Affinity; a != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, e := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions {
			if e.Operator == corev1.NodeSelectorOpNotIn {
				template = e.Values
			}
		}
	}
	return template, kube.AvoidOf(set.Annotations).Nodes, true
}

// waiting makes the pod one that the scheduler has found no place for.
func (c *fakeCluster) waiting(t *testing.T, name string) {
	t.Helper()
	c.play(t, name, "", false)
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	obj, err := c.Tracker().Get(gvr, namespace, name+"-0")
	if err != nil {
		t.Fatal(err)
	}
	pod := obj.(*corev1.Pod).DeepCopy()
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason:  corev1.PodReasonUnschedulable,
		Message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."}}
	if err := c.Tracker().Update(gvr, pod, namespace); err != nil {
		t.Fatal(err)
	}
}

// What runs is not touched by a quarantine, nor by its end; what starts later goes around the node, and what waits is
// let go again.
func TestMarksReachOnlyWhatDoesNotRun(t *testing.T) {
	w, m := newWorld(t), &quarantines{}
	w.store.Put(reconciletest.Notebook("nb-a", namespace, reconciletest.Slice, time.Now().UTC()))
	c := w.run(func(o *reconcile.Options) { o.Quarantine = m.get })
	goes := func(name string, want ...string) {
		t.Helper()
		within(t, 2*time.Minute, name+" goes around what is quarantined", func() bool {
			template, note, there := around(w.cluster, name)
			return there && slices.Equal(template, want) && slices.Equal(note, want)
		})
	}
	goes("nb-a")
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state("w-nb-a", workload.Running)
	w.settled()

	m.nodes("node-1")
	c.RefreshQuarantine(t.Context())
	w.store.Put(reconciletest.Notebook("nb-b", namespace, reconciletest.Slice, time.Now().UTC()))
	goes("nb-b", "node-1")
	w.settled()
	goes("nb-a") // untouched

	w.cluster.waiting(t, "nb-b")
	m.nodes("node-1", "node-2")
	c.RefreshQuarantine(t.Context())
	goes("nb-b", "node-1", "node-2")
	m.nodes()
	c.RefreshQuarantine(t.Context())
	goes("nb-b") // it still waited, so it may go there again

	if err := w.store.SetDesired("w-nb-a", workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	m.nodes("node-1")
	c.RefreshQuarantine(t.Context())
	w.cluster.unplay(t, "nb-a")
	w.state("w-nb-a", workload.Stopped)
	w.settled()
	goes("nb-a")
	if err := w.store.SetDesired("w-nb-a", workload.Start, time.Now()); err != nil {
		t.Fatal(err)
	}
	goes("nb-a", "node-1") // when it starts again
	w.cluster.play(t, "nb-a", "node-2", true)
	w.state("w-nb-a", workload.Running)
	m.nodes()
	c.RefreshQuarantine(t.Context())
	w.settled()
	goes("nb-a", "node-1") // it runs: nothing is changed under it
}

// imageOf is what a workload's pods are made of, by the template of its StatefulSet.
func imageOf(c *fakeCluster, name string) string {
	obj, err := c.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), namespace, name)
	if err != nil {
		return ""
	}
	return obj.(*appsv1.StatefulSet).Spec.Template.Spec.Containers[0].Image
}

// A mirror that is named while notebooks run costs none of them its kernel: it counts from the next start.
func TestAMirrorReachesOnlyWhatDoesNotRun(t *testing.T) {
	var mirror atomic.Value
	mirror.Store(catalog.Mirror{})
	w, m := newWorld(t), catalog.Mirror{Registry: "mirror.example.org/copies"}
	running := reconciletest.Notebook("nb-a", namespace, reconciletest.Slice, time.Now().UTC())
	w.store.Put(running)
	c := w.run(func(o *reconcile.Options) {
		site := o.KubeSite
		o.KubeSite = func(cluster string) kube.Site {
			s := site(cluster)
			s.Mirror = mirror.Load().(catalog.Mirror)
			return s
		}
		o.Quarantine = (&quarantines{}).get
	})
	own := running.Image.Reference
	if m.Of(own) == own {
		t.Fatalf("%s is not at the mirror", own)
	}
	pulls := func(name, want string) {
		t.Helper()
		within(t, 2*time.Minute, name+" is made of "+want, func() bool { return imageOf(w.cluster, name) == want })
	}
	pulls("nb-a", own)
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state("w-nb-a", workload.Running)
	w.settled()

	mirror.Store(m)
	c.RefreshQuarantine(t.Context()) // every workload is looked at
	w.store.Put(reconciletest.Notebook("nb-b", namespace, reconciletest.Slice, time.Now().UTC()))
	pulls("nb-b", m.Of(own))
	w.settled()
	if got := imageOf(w.cluster, "nb-a"); got != own {
		t.Errorf("what runs was given %s", got)
	}

	if err := w.store.SetDesired("w-nb-a", workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.cluster.unplay(t, "nb-a")
	w.state("w-nb-a", workload.Stopped)
	if err := w.store.SetDesired("w-nb-a", workload.Start, time.Now()); err != nil {
		t.Fatal(err)
	}
	pulls("nb-a", m.Of(own))
}
