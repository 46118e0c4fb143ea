package reconcile_test

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var volumeSnapshots = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
	Resource: "volumesnapshots"}

// withSnapshots lets snapshots be taken, of a class.
func withSnapshots(o *reconcile.Options) {
	o.Every.Volumes = 200 * time.Millisecond
	onSite(o, func(s *kube.Site) { s.Access.Snapshots, s.SnapshotClass = true, "csi-snapshots" })
}

// snapshotOf is one of a volume that was just asked for.
func snapshotOf(v workload.Volume, name string) workload.VolumeSnapshot {
	return workload.VolumeSnapshot{ID: workload.SnapshotID(v.Name, name), Volume: v.Name, Name: name, Tenant: v.Tenant,
		Cluster: v.Cluster, Namespace: v.Namespace, CreatedAt: time.Now()}
}

// A cluster without the API says so of the snapshot that needs it, and tries again later.
func TestWithoutSnapshots(t *testing.T) {
	w := newWorld(t)
	v := workload.Volume{Name: workload.PersonalClaim("vision", "p-anna", "corpus"), Tenant: "vision", Owner: "p-anna",
		Cluster: reconciletest.Cluster, Namespace: namespace, GiB: 1, Personal: workload.Personal{Name: "corpus"}}
	w.store.Put(notebook("nb-a")) // makes the namespace
	w.store.PutVolume(v)
	w.store.PutSnapshot(snapshotOf(v, "before"))
	w.run(withSnapshots)
	within(t, 2*time.Minute, "that there is no such API is told", func() bool {
		s, err := w.store.VolumeSnapshot(t.Context(), workload.SnapshotID(v.Name, "before"))
		return err == nil && s.State.Reason.ID == "snapshot.not_served" && s.Is() == workload.SnapshotTaking
	})
}

// TestDevstackSnapshot: a snapshot is made as its CRD wants it, what csi-snapshotter says of it is told, a volume names
// it as its source, one that somebody deletes is not made anew, one that the database does not know is taken up, and a
// deleted one goes.
func TestDevstackSnapshot(t *testing.T) {
	snapshots := define(t, reconciletest.NeedDevstack(t), kube.SnapshotAPI, volumeSnapshots)
	r := newReal(t, withSnapshots)
	own := snapshots.Namespace(r.namespace)
	nb := r.notebook("nb-a")
	r.store.Put(nb)
	r.state(nb.ID, workload.Running)
	volume := func(name, snapshot string) workload.Volume {
		return workload.Volume{Name: workload.PersonalClaim(nb.Tenant, nb.Owner, name), Tenant: nb.Tenant, Owner: nb.Owner,
			Cluster: nb.Cluster, Namespace: r.namespace, GiB: 1,
			Personal: workload.Personal{Name: name, Snapshot: snapshot}}
	}
	v := volume("corpus", "")
	r.store.PutVolume(v)
	one := snapshotOf(v, "before")
	r.store.PutSnapshot(one)

	object := func(id string) (u *unstructured.Unstructured) {
		t.Helper()
		waittest.Until(t, "the VolumeSnapshot "+id, func() (err error) {
			u, err = own.Get(t.Context(), id, metav1.GetOptions{})
			return err
		})
		return u
	}
	told := func(id, what string, is func(workload.VolumeSnapshot) bool) {
		t.Helper()
		within(t, 2*time.Minute, what, func() bool {
			s, err := r.store.VolumeSnapshot(context.Background(), id)
			return err == nil && is(s)
		})
	}
	say := func(id string, status map[string]any) {
		t.Helper()
		waittest.Until(t, "the status of "+id, func() error {
			u, err := own.Get(t.Context(), id, metav1.GetOptions{})
			if err != nil {
				return err
			}
			u.Object["status"] = status
			_, err = own.UpdateStatus(t.Context(), u, metav1.UpdateOptions{})
			return err
		})
	}
	u := object(one.ID)
	if of, _, _ := unstructured.NestedString(u.Object, "spec", "source", "persistentVolumeClaimName"); of != v.Name {
		t.Errorf("it is of %q", of)
	}
	if class, _, _ := unstructured.NestedString(u.Object, "spec", "volumeSnapshotClassName"); class != "csi-snapshots" {
		t.Errorf("its class is %q", class)
	}
	told(one.ID, "it is being taken", func(s workload.VolumeSnapshot) bool {
		return s.State.UID == string(u.GetUID()) && s.Is() == workload.SnapshotTaking
	})
	say(one.ID, map[string]any{"readyToUse": false, "error": map[string]any{"message": "no room",
		"time": "2026-01-02T03:04:05Z"}})
	told(one.ID, "why it failed", func(s workload.VolumeSnapshot) bool {
		return s.Is() == workload.SnapshotFailed && s.State.Detail == "no room"
	})
	say(one.ID, map[string]any{"readyToUse": true, "restoreSize": "1Gi", "creationTime": "2026-01-02T03:04:05Z",
		"boundVolumeSnapshotContentName": "content-a"})
	told(one.ID, "it is ready", func(s workload.VolumeSnapshot) bool {
		return s.Usable() && s.State.Bytes == 1<<30 && s.State.TakenAt.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) &&
			s.State.Reason.IsZero()
	})

	copied := volume("copy", one.ID)
	r.store.PutVolume(copied)
	waittest.Until(t, "the claim that is made from it", func() error {
		claim, err := r.Client.CoreV1().PersistentVolumeClaims(r.namespace).Get(t.Context(), copied.Name,
			metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, from := range []string{claim.Spec.DataSource.Kind + "/" + claim.Spec.DataSource.Name,
			claim.Spec.DataSourceRef.Kind + "/" + claim.Spec.DataSourceRef.Name} {
			if from != "VolumeSnapshot/"+one.ID {
				t.Errorf("its source is %s", from)
			}
		}
		return nil
	})

	site := kube.Site{Instance: kube.OwnerOf(u.GetAnnotations()).Instance}
	unknown := kube.VolumeSnapshot(site, snapshotOf(v, "unknown"))
	if _, err := own.Create(t.Context(), unknown, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	told(unknown.GetName(), "one that the database does not know is taken up", func(s workload.VolumeSnapshot) bool {
		return s.Name == "unknown" && s.State.UID != ""
	})
	if err := own.Delete(t.Context(), unknown.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	told(unknown.GetName(), "one that somebody has deleted is gone", func(s workload.VolumeSnapshot) bool {
		return s.Is() == workload.SnapshotGone && !s.Usable()
	})
	one.Deleted = true
	r.store.PutSnapshot(one)
	within(t, 2*time.Minute, "the deleted one goes, and its row after it", func() bool {
		_, err := own.Get(t.Context(), one.ID, metav1.GetOptions{})
		_, row := r.store.VolumeSnapshot(t.Context(), one.ID)
		return apierrors.IsNotFound(err) && row != nil
	})
	if _, err := own.Get(t.Context(), unknown.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what somebody has deleted is made anew: %v", err)
	}
}
