package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// VolumeSnapshot is the files of a volume of a person as they were at a moment. Whose it is, its volume says.
type VolumeSnapshot struct {
	ID        string // name of the VolumeSnapshot, see SnapshotID
	Volume    string // name of the volume, which is that of its PVC
	Name      string // DNS label, once for its volume
	Tenant    string
	Cluster   string
	Namespace string
	Deleted   bool // the controller removes it from the cluster
	CreatedAt time.Time
	State     SnapshotState // what its cluster said last
}

// SnapshotID is the name of the VolumeSnapshot. What snapshots are called has no dot, so that no two volumes meet.
func SnapshotID(volume, name string) string { return volume + "." + name }

// SnapshotName is the name in what SnapshotID has made for a volume; false for any other.
func SnapshotName(volume, id string) (name string, ok bool) {
	name, ok = strings.CutPrefix(id, volume+".")
	return name, ok && len(validation.IsDNS1123Label(name)) == 0
}

// SnapshotState is the status of a VolumeSnapshot at a moment; zero before the first observation.
type SnapshotState struct {
	UID     string    `json:"uid,omitempty"` // of the object; "" while none has been seen
	Ready   bool      `json:"ready,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`  // least size of a volume made from it; 0 where the driver does not say
	TakenAt time.Time `json:"takenAt,omitzero"` // by the clock of the storage
	Gone    bool      `json:"gone,omitempty"`   // somebody has deleted it in the cluster
	Reason  i18n.Text `json:"reason,omitzero"`  // why it is not ready
	Detail  string    `json:"detail,omitempty"` // the same in the cluster's words
	Failed  bool      `json:"failed,omitempty"` // the cluster says that it could not be taken
	At      time.Time `json:"-"`
}

// Same reports whether two looks, at whatever time, saw the same.
func (s SnapshotState) Same(other SnapshotState) bool {
	a, errA := json.Marshal(s)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// GiB is the least size of a volume made from it, rounded up.
func (s SnapshotState) GiB() int { return int((s.Bytes + 1<<30 - 1) >> 30) }

// snapshotSlow is how long a snapshot is waited for before an administrator should be asked: drivers take minutes at
// most, and where no snapshot controller runs nothing ever happens.
const snapshotSlow = 15 * time.Minute

// Usable reports whether a volume can be made from it.
func (s VolumeSnapshot) Usable() bool { return s.State.Ready && !s.State.Gone && !s.Deleted }

// Slow reports whether it is being taken for longer than it should.
func (s VolumeSnapshot) Slow(now time.Time) bool {
	return !s.State.Ready && !s.State.Gone && s.State.Reason.IsZero() && now.Sub(s.CreatedAt) >= snapshotSlow
}

// SnapshotPhase is what becomes of a snapshot.
type SnapshotPhase string

// The phases of a snapshot. SnapshotGone: it was deleted in the cluster.
const (
	SnapshotTaking SnapshotPhase = "taking"
	SnapshotReady  SnapshotPhase = "ready"
	SnapshotFailed SnapshotPhase = "failed"
	SnapshotGone   SnapshotPhase = "gone"
)

// Is the phase that it is in.
func (s VolumeSnapshot) Is() SnapshotPhase {
	switch {
	case s.State.Gone:
		return SnapshotGone
	case s.State.Ready:
		return SnapshotReady
	case s.State.Failed:
		return SnapshotFailed
	}
	return SnapshotTaking
}

// Why says why it is not ready; zero while that is as it should be.
func (s VolumeSnapshot) Why(now time.Time) i18n.Text {
	if s.Slow(now) {
		return i18n.T("snapshot.slow")
	}
	return s.State.Reason
}

// MaxSnapshots is how many one volume can have, also those that are still being deleted.
const MaxSnapshots = 10

// HasSnapshots reports whether a cluster takes snapshots of volumes.
func (s Sharing) HasSnapshots(cluster string) bool {
	for _, c := range s.Snapshots {
		if c == cluster {
			return true
		}
	}
	return false
}

// TakeSnapshot has the cluster keep the files of a home volume or a personal one as they are. It may be in use.
func (s *Service) TakeSnapshot(ctx context.Context, a identity.Actor, volume, name string) (VolumeSnapshot, error) {
	name = strings.TrimSpace(name)
	var out VolumeSnapshot
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := snapshotted(ctx, tx, a, volume)
		if err != nil {
			return err
		}
		sharing := s.Sharing()
		switch _, ok := sharing.Namespace(v.Tenant); {
		case !ok:
			return fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", v.Tenant))
		case v.Deleted:
			return fault.New(fault.Conflict, i18n.T("volume.gone"))
		case !sharing.HasSnapshots(v.Cluster):
			return fault.New(fault.Conflict, i18n.T("snapshot.not_offered", "Cluster", v.Cluster))
		}
		if len(validation.IsDNS1123Label(name)) > 0 || len(name) > maxShareName {
			return wrongSnapshotName(i18n.T("tenant.name_wrong", "Most", maxShareName))
		}
		claims, err := tx.Claims(ctx, v.Name)
		if err != nil {
			return err
		}
		if c := claims[v.Name]; c.Phase != ClaimBound && (!c.At.IsZero() || v.IsPersonal()) {
			return fault.New(fault.Conflict, i18n.T("snapshot.unbound"))
		}
		has, err := tx.VolumeSnapshots(ctx, v.Name)
		if err != nil {
			return err
		}
		for _, h := range has {
			if h.Name == name {
				return wrongSnapshotName(i18n.T("snapshot.name_taken", "Name", name))
			}
		}
		if len(has) >= MaxSnapshots {
			return fault.New(fault.Conflict, i18n.T("snapshot.too_many", "Most", MaxSnapshots))
		}
		out = VolumeSnapshot{ID: SnapshotID(v.Name, name), Volume: v.Name, Name: name, Tenant: v.Tenant,
			Cluster: v.Cluster, Namespace: v.Namespace, CreatedAt: s.Now()}
		if err := tx.AddVolumeSnapshot(ctx, out); err != nil {
			return err
		}
		return tx.Append(ctx, snapshotEvent(audit.By(a, audit.SnapshotTaken, s.Now()), out))
	})
	return out, err
}

func wrongSnapshotName(reason i18n.Text) error {
	return fault.InvalidFields([]fault.Field{{Name: "name", Reason: reason}})
}

func snapshotEvent(e audit.Event, s VolumeSnapshot) audit.Event {
	e.Tenant, e.Volume, e.Detail = s.Tenant, s.Volume, i18n.T("snapshot.detail", "Name", s.Name)
	return e
}

// snapshotted is the volume of somebody who may take and delete its snapshots.
func snapshotted(ctx context.Context, tx Tx, a identity.Actor, volume string) (Volume, error) {
	v, err := tx.Volume(ctx, volume)
	switch {
	case err != nil:
		return v, err
	case !identity.Can(a, identity.ReadVolume, v.Resource()):
		return v, fault.New(fault.NotFound, i18n.T("volume.not_found"))
	case !identity.Can(a, identity.SnapshotVolume, v.Resource()):
		return v, fault.New(fault.Forbidden, i18n.T("snapshot.not_yours", "Owner", v.OwnerName))
	case v.OfTeam():
		return v, fault.New(fault.Conflict, i18n.T("snapshot.of_team"))
	}
	return v, nil
}

// DeleteSnapshot deletes a snapshot for good. Volumes made from it stay; while one is still to be made that is a
// Conflict.
func (s *Service) DeleteSnapshot(ctx context.Context, a identity.Actor, volume, name string) error {
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := snapshotted(ctx, tx, a, volume)
		if err != nil {
			return err
		}
		found, err := tx.VolumeSnapshot(ctx, SnapshotID(v.Name, name))
		switch {
		case err != nil:
			return err
		case found.Deleted:
			return nil
		}
		if err := uncloned(ctx, tx, v, func(p Personal) bool { return p.Snapshot == found.ID }); err != nil {
			return err
		}
		if err := tx.DropVolumeSnapshots(ctx, v, found.ID); err != nil {
			return err
		}
		return tx.Append(ctx, snapshotEvent(audit.By(a, audit.SnapshotDeleted, s.Now()), found))
	})
}

// dropSnapshots lets the snapshots of a volume go with it.
func dropSnapshots(ctx context.Context, tx Tx, v Volume) error {
	if v.OfTeam() {
		return nil
	}
	has, err := tx.VolumeSnapshots(ctx, v.Name)
	var ids []string
	for _, s := range has {
		if !s.Deleted {
			ids = append(ids, s.ID)
		}
	}
	if err != nil || len(ids) == 0 {
		return err
	}
	return tx.DropVolumeSnapshots(ctx, v, ids...)
}

// isSourceOf reports whether a clone is made of the volume, or of a snapshot of it.
func (v Volume) isSourceOf(p Personal) bool {
	_, ok := SnapshotName(v.Name, p.Snapshot)
	return ok || p.From == v.Name
}

// snapshotsOf are those of volumes, by the volume's name, without those that are being deleted.
func (s *Service) snapshotsOf(ctx context.Context, volumes []Volume) (map[string][]VolumeSnapshot, error) {
	list, err := s.Store.VolumeSnapshots(ctx, namesOf(volumes)...)
	of := map[string][]VolumeSnapshot{}
	for _, one := range list {
		if !one.Deleted {
			of[one.Volume] = append(of[one.Volume], one)
		}
	}
	return of, err
}

// snapshotSource checks what a volume is to be made from. Kubernetes makes it in the same namespace, as large at least
// as the snapshot says.
func (s *Service) snapshotSource(ctx context.Context, tx Tx, a identity.Actor, v Volume) ([]fault.Field, error) {
	wrong := func(field string, reason i18n.Text) ([]fault.Field, error) {
		return []fault.Field{{Name: field, Reason: reason}}, nil
	}
	from, err := tx.VolumeSnapshot(ctx, v.Personal.Snapshot)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	of, volumeErr := tx.Volume(ctx, from.Volume)
	if volumeErr != nil && !fault.Is(volumeErr, fault.NotFound) {
		return nil, volumeErr
	}
	switch {
	case err != nil || volumeErr != nil || from.Deleted || of.Owner != a.Person.ID:
		return wrong("snapshot", i18n.T("snapshot.unknown"))
	case from.Cluster != v.Cluster || from.Tenant != v.Tenant || from.Namespace != v.Namespace:
		return wrong("snapshot", i18n.T("volume.from_elsewhere", "Tenant", from.Tenant, "Cluster", from.Cluster))
	case !s.Sharing().HasSnapshots(v.Cluster):
		return wrong("snapshot", i18n.T("snapshot.not_offered", "Cluster", v.Cluster))
	case from.State.Gone:
		return wrong("snapshot", i18n.T("snapshot.gone"))
	case from.State.Failed:
		return wrong("snapshot", i18n.T("snapshot.source_failed"))
	case !from.Usable():
		return wrong("snapshot", i18n.T("snapshot.not_ready"))
	case v.GiB < from.State.GiB():
		return wrong("gib", i18n.T("snapshot.larger", "Least", from.State.GiB()))
	}
	return nil, nil
}
