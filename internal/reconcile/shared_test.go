package reconcile_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const sharedName = "vision.data"

// shared is a volume of the team that is so large.
func shared(gib int) workload.Volume {
	return workload.Volume{Name: sharedName, Tenant: "vision", Cluster: reconciletest.Cluster, Namespace: namespace,
		GiB:   gib,
		Share: workload.TeamShare{Name: "data", Class: "nfs", Access: workload.ManyNodes}}
}

// claimed puts the claim into the cluster as a workload has made it: bound, and so large.
func (w *world) claimed(v workload.Volume) {
	w.t.Helper()
	nb := notebook("nb-a")
	nb.Mounts = []workload.Mount{v.Mounted()}
	w.store.Put(nb)
	w.store.PutVolume(v)
}

func (w *world) claim() *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim, err := w.cluster.CoreV1().PersistentVolumeClaims(namespace).Get(w.t.Context(), sharedName, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return claim
}

// sized plays the storage driver: the volume is there, and so large. Conditions are what it says beside.
func (w *world) sized(gib int64, conditions ...corev1.PersistentVolumeClaimCondition) {
	w.t.Helper()
	claim := w.claim()
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound,
		Capacity:   corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(gib<<30, resource.BinarySI)},
		Conditions: conditions}
	claim.ResourceVersion = w.cluster.version()
	if err := w.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), claim,
		namespace); err != nil {
		w.t.Fatal(err)
	}
}

// notice waits until what is written down of the claim is so.
func (w *world) waitForClaim(what string, is func(workload.ClaimState) bool) {
	w.t.Helper()
	within(w.t, 2*time.Minute, what, func() bool {
		claims, err := w.store.Claims(context.Background(), sharedName)
		return err == nil && !claims[sharedName].At.IsZero() && is(claims[sharedName])
	})
}

func asks(c *corev1.PersistentVolumeClaim) int64 {
	q := c.Spec.Resources.Requests[corev1.ResourceStorage]
	return q.Value() >> 30
}

// The life of a team's volume as its page tells it: not made, waiting, there, growing, grown; and a claim never asks
// for less.
func TestSharedStorageGrows(t *testing.T) {
	w := newWorld(t)
	w.store.PutVolume(shared(10))
	w.run(func(o *reconcile.Options) {
		o.Every.Confirm, o.Every.Volumes = 10*time.Millisecond, 100*time.Millisecond
	})
	w.waitForClaim("no claim yet", func(c workload.ClaimState) bool { return c.Phase == workload.NoClaim })
	w.claimed(shared(10))
	within(t, 2*time.Minute, "the claim", func() bool {
		return w.cluster.has(namespace, "PersistentVolumeClaim/"+sharedName, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.waitForClaim("it waits, and why", func(c workload.ClaimState) bool {
		return c.Phase == workload.ClaimPending && c.Asked == 10<<30 && c.Reason.ID == "explain.disk_first"
	})
	w.store.PutVolume(shared(20)) // one that is not bound cannot grow: the API server would refuse
	w.waitForClaim("nothing new while it waits", func(c workload.ClaimState) bool {
		return c.Phase == workload.ClaimPending &&
			c.Asked == 10<<30
	})
	w.sized(10)
	within(t, 2*time.Minute, "it asks for more once it is bound", func() bool { return asks(w.claim()) == 20 })
	w.waitForClaim("it grows", func(c workload.ClaimState) bool { return c.Asked == 20<<30 && c.Has == 10<<30 })
	w.sized(10, corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimFileSystemResizePending,
		Status: corev1.ConditionTrue, Message: "waiting for a pod"})
	w.waitForClaim("what it waits for", func(c workload.ClaimState) bool {
		return c.Reason.ID == "explain.grow_pod" && c.Detail == "waiting for a pod"
	})
	w.sized(20)
	w.waitForClaim("it has grown", func(c workload.ClaimState) bool { return c.Has == 20<<30 && c.Reason.IsZero() })

	w.store.PutVolume(shared(15)) // as a leader that was asleep would see it
	begun := time.Now()
	w.waitForClaim("it was looked at again", func(c workload.ClaimState) bool {
		return c.At.After(begun.Add(20 * time.Millisecond))
	})
	if got := asks(w.claim()); got != 20 {
		t.Errorf("it shrinks to %d GiB", got)
	}
	w.stop()
	<-w.done
	w.store.PutVolume(shared(40)) // wanted while nobody was there to do it
	w.run()
	within(t, 2*time.Minute, "it grows after the crash", func() bool { return asks(w.claim()) == 40 })
}

// terminalReasons takes growth back as the service does.
type terminalReasons struct {
	store *reconciletest.Store

	mu    sync.Mutex
	cause []string
	words string
}

func (r *terminalReasons) NotExpanded(_ context.Context, v workload.Volume, claimGiB int, cause, words string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause, r.words = append(r.cause, cause), words
	v.GiB = claimGiB
	r.store.PutVolume(v)
	return nil
}

func (r *terminalReasons) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.cause)
}

// A cluster that does not let storage grow is asked once, and its words are told; what may pass is tried again.
func TestSharedStorageThatMayNotGrow(t *testing.T) {
	w := newWorld(t)
	w.claimed(shared(10))
	told := &terminalReasons{store: w.store}
	w.run(func(o *reconcile.Options) { o.Shared, o.Every.Volumes = told, 100*time.Millisecond })
	within(t, 2*time.Minute, "the claim", func() bool {
		return w.cluster.has(namespace, "PersistentVolumeClaim/"+sharedName, "Secret/nb-a", "Service/nb-a",
			"StatefulSet/nb-a")
	})
	w.sized(10)
	w.waitForClaim("it is there", func(c workload.ClaimState) bool { return c.Has == 10<<30 })

	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	var asked sync.Map
	refuse := func(err error) {
		fn := func(verb, resource string) error {
			if verb != "patch" || resource != claims.Resource {
				return nil
			}
			asked.Store(err.Error(), true)
			return err
		}
		w.cluster.refuse.Store(&fn)
	}
	busy := apierrors.NewConflict(claims, sharedName, context.DeadlineExceeded)
	refuse(busy)
	w.store.PutVolume(shared(20))
	within(t, 2*time.Minute, "it was tried", func() bool { _, ok := asked.Load(busy.Error()); return ok })
	if told.count() != 0 {
		t.Error("a conflict is taken for a refusal")
	}
	refuse(apierrors.NewForbidden(claims, sharedName, errNoResize))
	within(t, 2*time.Minute, "the refusal is told", func() bool { return told.count() == 1 })
	w.cluster.refuse.Store(nil)
	w.waitForClaim("it is as it was", func(c workload.ClaimState) bool { return c.Has == 10<<30 && c.Asked == 10<<30 })
	told.mu.Lock()
	defer told.mu.Unlock()
	if told.cause[0] != "volume.refused_class" || !strings.Contains(told.words, errNoResize.Error()) {
		t.Errorf("told as %v: %s", told.cause, told.words)
	}
}

// errNoResize is what the admission plugin PersistentVolumeClaimResize says, v1.36.
var errNoResize = resizeError("only dynamically provisioned pvc can be resized and the storageclass that provisions " +
	"the pvc must support resize")

type resizeError string

func (e resizeError) Error() string { return string(e) }

// The claim of a personal volume is made without a workload, once its namespace is there, and grows as a team's does. A
// clone names its source.
func TestPersonalVolumeIsMadeAndGrows(t *testing.T) {
	w := newWorld(t)
	own := func(gib int) workload.Volume {
		return workload.Volume{Name: workload.PersonalClaim("vision", "p-anna", "copy"), Tenant: "vision", Owner: "p-anna",
			Cluster: reconciletest.Cluster, Namespace: namespace, GiB: gib,
			Personal: workload.Personal{Name: "copy", From: "nb-a-home"}}
	}
	w.store.PutVolume(own(10))
	w.store.Put(notebook("nb-a"))
	w.run(func(o *reconcile.Options) {
		o.Every.Confirm, o.Every.Volumes = 10*time.Millisecond, 100*time.Millisecond
	})
	claim := func() *corev1.PersistentVolumeClaim {
		c, err := w.cluster.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), own(10).Name, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return c
	}
	within(t, 2*time.Minute, "the claim", func() bool { return claim() != nil })
	c := claim()
	if asks(c) != 10 || c.Spec.DataSource == nil || c.Spec.DataSource.Name != "nb-a-home" ||
		c.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Fatalf("want a clone of 10 GiB for one node, got %+v", c.Spec)
	}
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound,
		Capacity: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(10<<30, resource.BinarySI)}}
	c.ResourceVersion = w.cluster.version()
	if err := w.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), c,
		namespace); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Minute, "it is told as bound", func() bool {
		claims, err := w.store.Claims(t.Context(), c.Name)
		return err == nil && claims[c.Name].Quiet(10) && claims[c.Name].Phase == workload.ClaimBound
	})
	w.store.PutVolume(own(20))
	within(t, 2*time.Minute, "it asks for more", func() bool { return asks(claim()) == 20 })
}
