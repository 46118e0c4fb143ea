package reconcile_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func notebook(name string) workload.Workload {
	return reconciletest.Notebook(name, namespace, reconciletest.Slice, time.Now().UTC())
}

// The whole life of a notebook: started, ready, stopped, resumed, deleted; the storage stays until its own row says
// otherwise.
func TestLife(t *testing.T) {
	w := newWorld(t)
	nb := reconciletest.WithStorage(notebook("nb-a"))
	w.store.Put(nb)
	w.store.PutVolume(workload.Volume{Name: "nb-a-home", Tenant: "vision", Cluster: reconciletest.Cluster,
		Namespace: namespace, Workload: nb.ID})
	w.run()
	within(t, 2*time.Minute, "all objects", func() bool {
		return w.cluster.has(namespace, "PersistentVolumeClaim/nb-a-home", "Secret/nb-a", "Service/nb-a", "StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", false)
	w.state(nb.ID, workload.Starting)
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	if got := w.store.Get(nb.ID).Observed; got.Pod != "nb-a-0" || got.PodIP != "10.64.0.9" || got.Generation != 1 {
		t.Errorf("observed %+v", got)
	}

	if err := w.store.SetDesired(nb.ID, workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "no replicas", func() bool {
		set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
		return err == nil && *set.Spec.Replicas == 0 && generation(set.Annotations) == 2
	})
	w.state(nb.ID, workload.Stopping)
	w.cluster.unplay(t, "nb-a")
	w.state(nb.ID, workload.Stopped)

	if err := w.store.SetDesired(nb.ID, workload.Start, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.state(nb.ID, workload.Queued)
	w.cluster.play(t, "nb-a", "node-2", true)
	w.state(nb.ID, workload.Running)

	if err := w.store.SetDesired(nb.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.cluster.unplay(t, "nb-a")
	w.state(nb.ID, workload.Ended)
	if want, got := []string{"PersistentVolumeClaim/nb-a-home"}, w.cluster.objects(namespace); !cmp.Equal(want, got) {
		t.Errorf("left in the cluster (-want +got)\n%s", cmp.Diff(want, got))
	}
	meter := w.store.Meter(nb.ID)
	if len(meter) != 2 || meter[0].Until.IsZero() || meter[1].Until.IsZero() || meter[0].PerHour != nb.Size.PricePerHour {
		t.Errorf("want two closed intervals at the size's price, got %+v", meter)
	}

	w.store.PutVolume(workload.Volume{Name: "nb-a-home", Tenant: "vision", Cluster: reconciletest.Cluster,
		Namespace: namespace, Deleted: true})
	within(t, 2*time.Minute, "the claim and its row are gone", func() bool {
		return w.cluster.has(namespace) &&
			!w.store.HasVolume("nb-a-home")
	})
}

// An undisturbed world is left alone: no writes to the cluster, none to the database.
func TestQuiet(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Every.Compare = 50 * time.Millisecond })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	writes, saves := w.settled()
	compared(t, w.store, 20)
	if got := w.cluster.writes.Load(); got != writes {
		t.Errorf("%d writes to the cluster while nothing happened", got-writes)
	}
	if got := w.store.Saves(); got != saves {
		t.Errorf("%d saves while nothing happened", got-saves)
	}
}

// T-LABEL-2: an object of the name that we did not make is not adopted, not changed, and the person is told.
func TestForeign(t *testing.T) {
	cases := map[string]struct{ labels, notes map[string]string }{
		"without our labels": {},
		"with our label":     {labels: map[string]string{"app.kubernetes.io/managed-by": "gpu-portal"}},
		"of another workload": {notes: map[string]string{"gpu-portal.github.io/instance": "test",
			"gpu-portal.github.io/tenant": "vision", "gpu-portal.github.io/workload": "w-other"}},
		"of another tenant": {notes: map[string]string{"gpu-portal.github.io/instance": "test",
			"gpu-portal.github.io/tenant": "speech", "gpu-portal.github.io/workload": "w-nb-a"}},
		"of another portal, same ids": {notes: map[string]string{"gpu-portal.github.io/instance": "other",
			"gpu-portal.github.io/tenant": "vision", "gpu-portal.github.io/workload": "w-nb-a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "nb-a", Namespace: namespace, Labels: c.labels,
				Annotations: c.notes, UID: "foreign"}, Data: map[string][]byte{"a": []byte("b")}}
			if err := w.cluster.Tracker().Add(secret); err != nil {
				t.Fatal(err)
			}
			nb := notebook("nb-a")
			w.store.Put(nb)
			w.run()
			w.state(nb.ID, workload.Failed)
			if got := w.store.Get(nb.ID).Reason; got.ID != "reconcile.foreign" || got.Args["Kind"] != "Secret" ||
				got.Args["Name"] != "nb-a" {
				t.Errorf("reason %+v", got)
			}
			if err := w.store.SetDesired(nb.ID, workload.Delete, time.Now()); err != nil {
				t.Fatal(err)
			}
			w.state(nb.ID, workload.Ended)
			got, err := w.cluster.CoreV1().Secrets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
			if err != nil || string(got.Data["a"]) != "b" || len(got.Data) != 1 || got.UID != "foreign" {
				t.Errorf("the foreign Secret was touched: %+v, %v", got, err)
			}
		})
	}
}

// T-VIEW-3: what others change or delete of ours is put right, and not in a hot loop.
func TestRepair(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run()
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})

	set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set.Spec.Replicas, set.Spec.Template.Spec.Containers[0].Image = new(int32(3)), "evil"
	set.ResourceVersion = "edited"
	if _, err := w.cluster.AppsV1().StatefulSets(namespace).Update(t.Context(), set,
		metav1.UpdateOptions{FieldManager: "kubectl"}); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "the edit is undone", func() bool {
		set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
		return err == nil && *set.Spec.Replicas == 1 && set.Spec.Template.Spec.Containers[0].Image == nb.Image.Reference
	})
	if err := w.cluster.CoreV1().Services(namespace).Delete(t.Context(), "nb-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "the deleted Service is back", func() bool {
		_, err := w.cluster.CoreV1().Services(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
		return err == nil
	})

	writes, begun := w.cluster.writes.Load(), time.Now()
	for range 40 { // somebody insists
		_, err := w.cluster.AppsV1().StatefulSets(namespace).Patch(t.Context(), "nb-a", types.MergePatchType,
			[]byte(`{"metadata":{},"spec":{"replicas":7}}`), metav1.PatchOptions{FieldManager: "other"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if ours := w.cluster.writes.Load() - writes - 40; ours > int64(time.Since(begun).Seconds()) {
		t.Errorf("%d writes in %s against somebody who insists; at most one a second", ours, time.Since(begun))
	}
}

// What the API server refuses is told, and is tried again once it might work.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	refuse := func(string) error {
		return apierrors.NewForbidden(corev1.Resource("secrets"), "nb-a", context.Canceled)
	}
	w.cluster.before.Store(&refuse)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run()
	w.state(nb.ID, workload.Failed)
	if got := w.store.Get(nb.ID); got.Reason.IsZero() || got.Observed.Detail == "" {
		t.Errorf("no reason for a refusal: %+v", got)
	}
}

// TestRaisedQuotaReachesTheCluster: a team that was granted more got it minutes later only, when something else of it
// was looked at.
func TestRaisedQuotaReachesTheCluster(t *testing.T) {
	w := newWorld(t)
	var raised atomic.Bool
	nb := notebook("nb-a")
	w.store.Put(nb)
	c := w.run(func(o *reconcile.Options) {
		o.Every.Compare, o.Every.Confirm = time.Hour, time.Hour // nothing else looks
		o.Site = func() reconcile.Site {
			s := reconciletest.Site(namespace)
			if raised.Load() {
				s.Directory.Tenants[0].Quota = map[string]int{"cpu": 3, nb.Size.Name: 11}
			}
			return s
		}
	})
	quota := func() string {
		list, err := w.cluster.CoreV1().ResourceQuotas(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return ""
		}
		text, _ := json.Marshal(list.Items[0].Spec.Hard)
		return string(text)
	}
	within(t, 2*time.Minute, "all objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)
	w.settled()
	before := quota()
	raised.Store(true)
	c.Revise()
	within(t, 2*time.Minute, "the quota follows", func() bool { return quota() != before })
}

// The end of a lease is announced and kept to the moment, without anything else happening.
func TestLeaseEnds(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	nb.PlacedAt = nb.CreatedAt
	// the warning comes in its second half, which a stalled machine must not miss
	nb.Lease.Until = nb.Lease.From.Add(12 * time.Second)
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Every.Compare = time.Hour })
	within(t, 2*time.Minute, "the lease has ended",
		func() bool { return w.store.Get(nb.ID).Desired == workload.WantStopped })
	w.state(nb.ID, workload.Stopped)
	want := []audit.Kind{audit.LeaseWarned, audit.LeaseEnded}
	got := slices.DeleteFunc(w.store.Events(nb.ID), func(k audit.Kind) bool { return k == audit.WorkloadObserved })
	if !cmp.Equal(want, got) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
}

// T-API-1: while the API server is away nothing is concluded; afterwards everything is done.
func TestClusterAway(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	c := w.run(func(o *reconcile.Options) { o.Every.Compare = 50 * time.Millisecond })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	w.state(nb.ID, workload.Running)

	w.cluster.setAway(true)
	within(t, 2*time.Minute, "it is noticed", func() bool { return !c.Status()[0].OK })
	seen := w.store.Get(nb.ID).Observed.At
	other := notebook("nb-b")
	w.store.Put(other)
	if err := w.store.SetDesired(nb.ID, workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.cluster.unplay(t, "nb-a") // the caches hear of it, as if from a stale replica
	compared(t, w.store, 10)
	got := w.store.Get(nb.ID)
	if got.State != workload.Stopping || !got.Observed.At.Equal(seen) || !got.Observed.PodPresent {
		t.Errorf("concluded from silence: %s, %+v", got.State, got.Observed)
	}
	if m := w.store.Meter(nb.ID); len(m) != 1 || !m[0].Until.IsZero() {
		t.Errorf("the meter moved: %+v", m)
	}
	w.cluster.setAway(false)
	w.state(nb.ID, workload.Stopped)
	within(t, 2*time.Minute, "what was requested meanwhile", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Secret/nb-b", "Service/nb-a", "Service/nb-b", "StatefulSet/nb-a",
			"StatefulSet/nb-b")
	})
	if !c.Status()[0].OK {
		t.Error("still said to be away")
	}
}

// Somebody changes the spec while a pass is under way: the pass loses, and the new spec is carried out.
func TestConflict(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	stopped := false
	w.store.BeforeWrite(func() error {
		if !stopped {
			stopped = true
			return w.store.SetDesired(nb.ID, workload.Stop, time.Now())
		}
		return nil
	})
	w.run()
	w.state(nb.ID, workload.Stopped)
}

// prober answers with what it was given, and counts.
type prober struct {
	kernels []workload.Kernel
	asked   atomic.Int64
}

func (p *prober) Probe(context.Context, workload.Workload) (*workload.Activity, error) {
	p.asked.Add(1)
	return &workload.Activity{At: time.Now(), LastActivity: time.Now(), Kernels: p.kernels}, nil
}

func TestActivity(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	probes := &prober{kernels: []workload.Kernel{{Name: "python3", State: "busy"}}}
	w.run(func(o *reconcile.Options) { o.Prober = probes })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	within(t, 2*time.Minute, "activity", func() bool {
		a := w.store.Get(nb.ID).Observed.Activity
		return a != nil && len(a.Kernels) == 1 && a.Kernels[0].State == "busy"
	})
	_, saves := w.settled()
	asked := probes.asked.Load()
	waittest.For(t, "three more answers of the same", func() bool { return probes.asked.Load() > asked+3 })
	if got := w.store.Saves() - saves; got > 0 {
		t.Errorf("%d saves for the same kernels", got)
	}
}

func TestInventory(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", ResourceVersion: "1"}}
	if err := w.cluster.Tracker().Add(node); err != nil {
		t.Fatal(err)
	}
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run()
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.cluster.play(t, "nb-a", "node-1", true)
	within(t, 2*time.Minute, "the holder of the slice", func() bool {
		s, _ := w.store.Snapshot(reconciletest.Cluster)
		for _, n := range s.Nodes {
			for _, r := range n.Resources {
				for _, h := range r.Holders {
					if h.Workload == string(nb.ID) && r.Name == "nvidia.com/mig-1g.10gb" {
						return true
					}
				}
			}
		}
		return false
	})
}
