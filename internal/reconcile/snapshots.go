package reconcile

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// tendSnapshots makes and removes the VolumeSnapshots of volumes, writes down what the cluster says of each, and takes
// up those that the database does not know. It reports whether something is left to do. It can be interrupted anywhere
// and called again: it compares rows with objects each time.
func (l *loop) tendSnapshots(ctx context.Context) (more bool) {
	rows, err := l.o.Store.ClusterSnapshots(ctx, l.name)
	if err != nil {
		if ctx.Err() == nil {
			l.log.ErrorContext(ctx, "list snapshots", "error", err)
		}
		return false
	}
	known := map[string]bool{}
	for _, s := range rows {
		known[s.ID] = true
		if !l.gate.may(drift.Storage, s.Volume) {
			continue
		}
		tend := l.tendSnapshot
		if s.Deleted {
			tend = l.removeSnapshot
		}
		left, err := tend(ctx, s)
		if err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "look after a snapshot", "snapshot", s.ID, "error", err)
		}
		more = more || left || err != nil
	}
	if err := l.adoptSnapshots(ctx, known); err != nil && ctx.Err() == nil {
		l.log.WarnContext(ctx, "take up snapshots", "error", err)
		more = true
	}
	return more
}

// tendSnapshot makes the object once. One that was seen and is gone was deleted by somebody: it is not made anew, for
// the files have changed since.
func (l *loop) tendSnapshot(ctx context.Context, s workload.VolumeSnapshot) (more bool, err error) {
	n := l.caches().within(s.Namespace)
	if n == nil || n.state() != nil {
		return false, nil // what is not seen is not told
	}
	if !l.caches().serves(kube.SnapshotAPI) || !n.serves(kube.VolumeSnapshotKind) {
		now := s.State
		now.At, now.Detail = l.o.Now(), ""
		now.Reason = i18n.T("snapshot.not_served", "Cluster", l.name)
		return false, l.tellSnapshot(ctx, s, now)
	}
	found := l.snapshotSeen(s)
	switch {
	case found == nil && s.State.UID != "":
		return false, l.tellSnapshot(ctx, s, workload.SnapshotState{UID: s.State.UID, Gone: true, Bytes: s.State.Bytes,
			TakenAt: s.State.TakenAt, Reason: i18n.T("snapshot.gone"), At: l.o.Now()})
	case found == nil:
		return !s.State.Failed, l.makeSnapshot(ctx, s)
	}
	return false, l.tellSnapshot(ctx, s, snapshotState(found, l.o.Now()))
}

func (l *loop) tellSnapshot(ctx context.Context, s workload.VolumeSnapshot, now workload.SnapshotState) error {
	if now.Same(s.State) && !s.State.At.IsZero() {
		return nil
	}
	return l.o.Store.SaveSnapshotState(ctx, s.ID, now)
}

// makeSnapshot reads the row once more: a leader that was asleep makes nothing that was deleted meanwhile.
func (l *loop) makeSnapshot(ctx context.Context, s workload.VolumeSnapshot) error {
	fresh, err := l.o.Store.VolumeSnapshot(ctx, s.ID)
	if fault.Is(err, fault.NotFound) || err == nil && (fresh.Deleted || fresh.State.UID != "") {
		return nil
	}
	if err != nil {
		return err
	}
	o, err := newObject(kube.VolumeSnapshot(l.o.KubeSite(l.name), fresh))
	if err != nil {
		return err
	}
	if err := l.checkpoints.cover(ctx, s.Namespace); err != nil {
		return err
	}
	_, err = l.writer.apply(ctx, []Step{{Verb: Create, Object: o}})
	if words, final := refusedForGood(err); final {
		return l.tellSnapshot(ctx, s, workload.SnapshotState{Failed: true, Detail: words,
			Reason: i18n.T("snapshot.refused"), At: l.o.Now()})
	}
	return err
}

// snapshotSeen is the object as the caches have it; nil for none, and for one that is not ours.
func (l *loop) snapshotSeen(s workload.VolumeSnapshot) *unstructured.Unstructured {
	found, ok := l.caches().cached(Key{Kind: kube.VolumeSnapshotKind, Namespace: s.Namespace, Name: s.ID})
	if !ok || !l.snapshotObject(s).mayTouch(existing(found)) {
		return nil
	}
	u, _ := found.(*unstructured.Unstructured)
	return u
}

func (l *loop) snapshotObject(s workload.VolumeSnapshot) Object {
	return Object{Key: Key{Kind: kube.VolumeSnapshotKind, Namespace: s.Namespace, Name: s.ID},
		Owner: kube.Owner{Instance: l.o.KubeSite(l.name).Instance, Tenant: s.Tenant, Volume: s.Volume}}
}

// snapshotState is the status of a VolumeSnapshot. Source: VolumeSnapshotStatus in external-snapshotter v8.
func snapshotState(u *unstructured.Unstructured, now time.Time) workload.SnapshotState {
	s := workload.SnapshotState{UID: string(u.GetUID()), At: now}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	s.Ready, _, _ = unstructured.NestedBool(status, "readyToUse")
	switch size := status["restoreSize"].(type) {
	case string:
		if q, err := resource.ParseQuantity(size); err == nil {
			s.Bytes = q.Value()
		}
	case int64:
		s.Bytes = size
	}
	if taken, _, _ := unstructured.NestedString(status, "creationTime"); taken != "" {
		s.TakenAt, _ = time.Parse(time.RFC3339, taken)
		s.TakenAt = s.TakenAt.UTC()
	}
	trouble, failed, _ := unstructured.NestedMap(status, "error")
	switch {
	case u.GetDeletionTimestamp() != nil:
		s.Ready, s.Reason = false, i18n.T("snapshot.leaving")
	case failed && !s.Ready: // csi-snapshotter leaves the error of an earlier try behind
		s.Detail, _, _ = unstructured.NestedString(trouble, "message")
		s.Failed, s.Reason = true, i18n.T("snapshot.failed")
	}
	return s
}

// removeSnapshot deletes an object that is ours, as it was seen a moment ago. It reports whether something is left to
// do; an object that is not ours stays. Where there is no right to it any more, the row waits for it.
func (l *loop) removeSnapshot(ctx context.Context, s workload.VolumeSnapshot) (more bool, err error) {
	gone := func() (bool, error) { return false, l.o.Store.PurgeVolumeSnapshot(ctx, s.ID) }
	switch n := l.caches().within(s.Namespace); {
	case n == nil:
		absent, err := l.namespaceAbsent(ctx, s.Tenant, s.Namespace)
		if err != nil || !absent {
			return true, err
		}
		return gone()
	case n.state() != nil || !l.caches().wants(kube.SnapshotAPI):
		return false, nil
	}
	o := l.snapshotObject(s)
	c := kinds[rank(o.Kind)].clients(l.cluster.Client, s.Namespace)
	found, err := c.get(ctx, s.ID)
	switch {
	case apierrors.IsNotFound(err):
		return gone()
	case err != nil:
		return true, err
	}
	switch e := existing(found); {
	case !o.mayTouch(e):
		l.log.WarnContext(ctx, "a VolumeSnapshot of the name of a deleted one is not ours, it stays", "snapshot",
			o.Key.String())
		return gone()
	case e.Deleting:
		return true, nil
	default:
		if err := l.checkpoints.cover(ctx, s.Namespace); err != nil {
			return true, err
		}
		return true, l.writer.delete(ctx, c, Step{Verb: Delete, Object: o, UID: e.UID, Version: e.Version})
	}
}

// adoptSnapshots takes up the VolumeSnapshots of ours that the database does not know, for one that it has taken back
// an older state of: each costs storage, and its name is taken. Their volume is known; what is of others is shown with
// the differences, see seenObjects.
func (l *loop) adoptSnapshots(ctx context.Context, known map[string]bool) error {
	for _, obj := range l.caches().ours[kube.VolumeSnapshotKind].List() {
		o, ok := obj.(metav1.Object)
		if !ok || known[o.GetName()] || !l.isOurs(o) || o.GetDeletionTimestamp() != nil {
			continue
		}
		owner := kube.OwnerOf(o.GetAnnotations())
		name, ok := workload.SnapshotName(owner.Volume, o.GetName())
		if !ok || !l.gate.may(drift.Storage, owner.Volume) {
			continue
		}
		v, err := l.o.Store.Volume(ctx, owner.Volume)
		switch {
		case err == nil && (v.Deleted || v.OfTeam() || v.Tenant != owner.Tenant || v.Cluster != l.name ||
			v.Namespace != o.GetNamespace()), fault.Is(err, fault.NotFound):
			continue
		case err != nil:
			return err
		}
		// the caches may show what was removed a moment ago
		is, err := kinds[rank(kube.VolumeSnapshotKind)].clients(l.cluster.Client, v.Namespace).get(ctx, o.GetName())
		if apierrors.IsNotFound(err) || err == nil && (is.GetUID() != o.GetUID() || is.GetDeletionTimestamp() != nil) {
			continue
		}
		if err != nil {
			return err
		}
		e := audit.By(identity.System(), audit.SnapshotAdopted, l.o.Now())
		e.Tenant, e.Volume, e.Detail = v.Tenant, v.Name, i18n.T("snapshot.detail", "Name", name)
		if err := l.o.Store.AdoptVolumeSnapshot(ctx, workload.VolumeSnapshot{ID: o.GetName(), Volume: v.Name, Name: name,
			Tenant: v.Tenant, Cluster: l.name, Namespace: v.Namespace, CreatedAt: o.GetCreationTimestamp().UTC()},
			e); err != nil {
			return err
		}
		l.volumes.fire()
	}
	return nil
}

// seeSnapshot lets a snapshot go with storage that the database does not know; s is nil where that has no claim.
func (l *loop) seeSnapshot(s *drift.ClusterState, o metav1.Object) {
	if s != nil {
		s.Objects = append(s.Objects, drift.Object{Kind: kube.VolumeSnapshotKind, Name: o.GetName(),
			UID: string(o.GetUID())})
	}
}
