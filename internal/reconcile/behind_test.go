package reconcile_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Two secrets had no token after a kill at just the right moment: the fake cluster had given its own object to a
// controller that does not keep contents.
func TestFakeClusterGivesCopies(t *testing.T) {
	c := newFakeCluster()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "nb-a", Namespace: namespace},
		Data: map[string][]byte{"token": []byte("t")}}
	if err := c.Tracker().Add(secret); err != nil {
		t.Fatal(err)
	}
	w, err := c.CoreV1().Secrets(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := reconcile.Slim((<-w.ResultChan()).Object); err != nil {
		t.Fatal(err)
	}
	got, err := c.CoreV1().Secrets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil || string(got.Data["token"]) != "t" {
		t.Errorf("want the token kept, got %v, %v", got.Data, err)
	}
}

// looked reports whether the controller has asked the API server itself for a pod.
func (c *fakeCluster) looked(pod string) bool {
	for _, a := range c.Actions() {
		if get, ok := a.(interface{ GetName() string }); ok && a.Matches("get", "pods") && get.GetName() == pod {
			return true
		}
	}
	return false
}

// otherLeader saves what another controller has seen of a workload.
func (w *world) otherLeader(id workload.ID, obs workload.Observation, meter *usage.Interval) {
	w.t.Helper()
	obs.At = time.Now().UTC()
	for {
		next, events := workload.Advance(w.store.Get(id), obs, obs.At)
		if w.store.SaveObserved(w.t.Context(), next, events, meter) == nil {
			return
		}
	}
}

// T-VIEW-1: caches that lag behind what another leader has seen and written down take nothing of it back: neither that
// a pod holds its GPU, nor that it is gone. Each time the meter was closed and opened again.
func TestBehindAnotherLeader(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Every.Compare = time.Hour })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.settled()
	quiet := w.store.Saves()
	asked := func() bool { return w.cluster.looked("nb-a-0") || w.store.Saves() > quiet+1 }

	w.cluster.news.Lock()
	w.cluster.play(t, "nb-a", "node-1", true)
	seen := workload.Observation{Generation: 1, PodPresent: true, Pod: "nb-a-0", PodIP: "10.64.0.9", Node: "node-1",
		Ready: true}
	w.otherLeader(nb.ID, seen, &usage.Interval{Workload: string(nb.ID), Tenant: nb.Tenant, Size: nb.Size.Name,
		PerHour: nb.Size.PricePerHour, From: time.Now()})
	within(t, 2*time.Minute, "it is looked at", asked)
	if got := w.store.Get(nb.ID); got.State != workload.Running || !got.Observed.PodPresent {
		t.Errorf("a pod that is there was taken for gone: %s, %+v", got.State, got.Observed)
	}
	w.cluster.news.Unlock()
	w.settled()

	w.cluster.ClearActions()
	w.cluster.news.Lock()
	w.cluster.unplay(t, "nb-a")
	quiet = w.store.Saves()
	w.otherLeader(nb.ID, workload.Observation{Generation: 1}, &usage.Interval{Workload: string(nb.ID), Until: time.Now()})
	within(t, 2*time.Minute, "it is looked at again", asked)
	if got := w.store.Get(nb.ID); got.Observed.PodPresent {
		t.Errorf("a pod that is gone was taken for there: %s, %+v", got.State, got.Observed)
	}
	w.cluster.news.Unlock()
	w.settled()
	if meter := w.store.Meter(nb.ID); len(meter) != 1 || meter[0].Until.IsZero() {
		t.Errorf("want one closed interval, got %+v", meter)
	}
}

// T-FENCE: a leader falls asleep before it writes a request to stop; meanwhile another one carries out a later spec to
// run. The late write would stop what shall run.
func TestLateWriteReplacesNothingNewer(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run()
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.settled()
	sets, err := w.cluster.Tracker().Watch(appsv1.SchemeGroupVersion.WithResource("statefulsets"), namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer sets.Stop()
	set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asleep := false
	late := func(string) error {
		if asleep || w.store.Get(nb.ID).Generation != 2 {
			return nil
		}
		asleep = true
		set.Annotations[kube.GenerationKey], set.Annotations[reconcile.HashAnnotation], set.ResourceVersion = "3",
			"of the later spec", "of the other leader"
		if err := w.cluster.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("statefulsets"), set,
			namespace); err != nil {
			return err
		}
		return w.store.SetDesired(nb.ID, workload.Start, time.Now())
	}
	w.cluster.before.Store(&late)
	if err := w.store.SetDesired(nb.ID, workload.Stop, time.Now()); err != nil {
		t.Fatal(err)
	}
	var written []int64
	within(t, 2*time.Minute, "the later spec is written by this one too", func() bool {
		select {
		case e := <-sets.ResultChan():
			o := e.Object.(*appsv1.StatefulSet)
			written = append(written, generation(o.Annotations))
			return generation(o.Annotations) == 3 && o.Annotations[reconcile.HashAnnotation] != "of the later spec"
		default:
			return false
		}
	})
	if slices.Contains(written, 2) {
		t.Errorf("the late spec was written: generations %v", written)
	}
}

// What a leader that was asleep makes after a workload has ended is removed: it would hold a GPU that nobody knows of.
func TestMadeAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	nb := notebook("nb-a")
	w.store.Put(nb)
	w.run(func(o *reconcile.Options) { o.Every.Compare = time.Hour })
	within(t, 2*time.Minute, "objects", func() bool {
		return w.cluster.has(namespace, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	set, err := w.cluster.AppsV1().StatefulSets(namespace).Get(t.Context(), "nb-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.SetDesired(nb.ID, workload.Delete, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.state(nb.ID, workload.Ended)
	w.settled()
	events := len(w.store.Events(nb.ID))
	set.UID, set.ResourceVersion = "late", "late"
	if err := w.cluster.Tracker().Add(set); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "it is gone", func() bool { return w.cluster.has(namespace) })
	if got := w.store.Get(nb.ID); got.State != workload.Ended || len(w.store.Events(nb.ID)) != events {
		t.Errorf("the record of what has ended changed: %s, %v", got.State, slices.DeleteFunc(w.store.Events(nb.ID),
			func(k audit.Kind) bool { return k == audit.WorkloadObserved }))
	}
}
