package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type volumeSnapshotRow struct {
	ID        string `gorm:"primaryKey"`
	Volume    string
	Name      string
	Tenant    string
	Cluster   string
	Namespace string
	Deleted   bool
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
	State     document[workload.SnapshotState]
	SeenAt    timestamp
}

func (volumeSnapshotRow) TableName() string { return "volume_snapshots" }

func fromVolumeSnapshot(s workload.VolumeSnapshot) volumeSnapshotRow {
	return volumeSnapshotRow{ID: s.ID, Volume: s.Volume, Name: s.Name, Tenant: s.Tenant, Cluster: s.Cluster,
		Namespace: s.Namespace, Deleted: s.Deleted, CreatedAt: timestampOf(s.CreatedAt), State: doc(s.State),
		SeenAt: timestampOf(s.State.At)}
}

func toVolumeSnapshot(row volumeSnapshotRow) workload.VolumeSnapshot {
	s := workload.VolumeSnapshot{ID: row.ID, Volume: row.Volume, Name: row.Name, Tenant: row.Tenant,
		Cluster: row.Cluster, Namespace: row.Namespace, Deleted: row.Deleted, CreatedAt: row.CreatedAt.time(),
		State: row.State.is}
	s.State.At = row.SeenAt.time()
	return s
}

// VolumeSnapshot gives one, also one that is still to be removed from the cluster.
func (v view) VolumeSnapshot(ctx context.Context, id string) (workload.VolumeSnapshot, error) {
	row, err := one[volumeSnapshotRow](v.at(ctx).Where("id = ?", id), i18n.T("snapshot.not_found"))
	return toVolumeSnapshot(row), err
}

// VolumeSnapshots lists those of some volumes, oldest first, also those that are still to be removed.
func (v view) VolumeSnapshots(ctx context.Context, volumes ...string) ([]workload.VolumeSnapshot, error) {
	if len(volumes) == 0 {
		return nil, nil
	}
	rows, err := all[volumeSnapshotRow](v.at(ctx).Where("volume IN ?", volumes).Order("created_at, id"))
	return each(rows, toVolumeSnapshot), err
}

// ClusterSnapshots lists those on a cluster, also those that are still to be removed.
func (v view) ClusterSnapshots(ctx context.Context, cluster string) ([]workload.VolumeSnapshot, error) {
	rows, err := all[volumeSnapshotRow](v.at(ctx).Where("cluster = ?", cluster).Order("id"))
	return each(rows, toVolumeSnapshot), err
}

// AddVolumeSnapshot inserts it; its volume is there.
func (t *tx) AddVolumeSnapshot(ctx context.Context, s workload.VolumeSnapshot) error {
	if err := t.unheld(s.Cluster); err != nil {
		return err
	}
	if err := t.snapshotChanged(ctx, s.Volume); err != nil {
		return err
	}
	row := fromVolumeSnapshot(s)
	return insert(t.at(ctx), &row)
}

// DropVolumeSnapshots says that snapshots of a volume shall go.
func (t *tx) DropVolumeSnapshots(ctx context.Context, of workload.Volume, ids ...string) error {
	if err := t.unheld(of.Cluster); err != nil {
		return err
	}
	t.changed(volumeChange(fromVolume(of)))
	return failure(t.at(ctx).Model(&volumeSnapshotRow{}).Where("id IN ?", ids).Update("deleted", true).Error)
}

// snapshotChanged tells those who look at a volume.
func (t *tx) snapshotChanged(ctx context.Context, volume string) error {
	v, err := t.Volume(ctx, volume)
	if err == nil {
		t.changed(volumeChange(fromVolume(v)))
	}
	return err
}

// AdoptVolumeSnapshot writes down one that a cluster has of a volume, with the event; where there is one of that id, or
// the volume is gone or going, nothing happens.
func (s *Store) AdoptVolumeSnapshot(ctx context.Context, found workload.VolumeSnapshot, e audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.VolumeSnapshot(ctx, found.ID)
		if !fault.Is(err, fault.NotFound) {
			return err
		}
		v, err := t.Volume(ctx, found.Volume)
		if fault.Is(err, fault.NotFound) || err == nil && v.Deleted {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.AddVolumeSnapshot(ctx, found); err != nil {
			return err
		}
		return t.Append(ctx, e)
	})
}

// SaveSnapshotState keeps what a cluster says of a snapshot. Of one that is gone nothing is kept, and what was seen
// earlier replaces nothing newer.
func (s *Store) SaveSnapshotState(ctx context.Context, id string, state workload.SnapshotState) error {
	return s.write(ctx, func(t *tx) error {
		was, err := t.VolumeSnapshot(ctx, id)
		if fault.Is(err, fault.NotFound) || err == nil && was.State.At.After(state.At) {
			return nil
		}
		if err != nil {
			return err
		}
		if !was.State.Same(state) {
			if err := t.snapshotChanged(ctx, was.Volume); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		was.State = state
		row := fromVolumeSnapshot(was)
		if err := writable(&row); err != nil {
			return err
		}
		return failure(t.at(ctx).Model(&volumeSnapshotRow{}).Where("id = ?", id).
			Select("state", "seen_at").Updates(&row).Error)
	})
}

// PurgeVolumeSnapshot forgets a deleted snapshot whose object is gone, and so frees its name.
func (s *Store) PurgeVolumeSnapshot(ctx context.Context, id string) error {
	return s.write(ctx, func(t *tx) error {
		was, err := t.VolumeSnapshot(ctx, id)
		if fault.Is(err, fault.NotFound) || err == nil && !was.Deleted {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.snapshotChanged(ctx, was.Volume); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		return failure(t.at(ctx).Where("id = ? AND deleted", id).Delete(&volumeSnapshotRow{}).Error)
	})
}
