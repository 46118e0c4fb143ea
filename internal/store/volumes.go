package store

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type volumeRow struct {
	Name      string `gorm:"primaryKey"`
	Tenant    string
	Owner     string
	OwnerName string
	Cluster   string
	Namespace string
	GiB       int `gorm:"column:gib"`
	Workload  string
	Deleted   bool
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
	UpdatedAt timestamp `gorm:"autoUpdateTime:false"`
	Version   int64

	UnusedFrom  timestamp
	WarnedAt    timestamp
	WarnedFor   int64 // seconds
	Share       document[workload.TeamShare]
	DeleteAfter timestamp
	Refused     document[workload.Refusal]
	Personal    document[workload.Personal]
}

func (volumeRow) TableName() string { return "volumes" }

func fromVolume(v workload.Volume) volumeRow {
	return volumeRow{
		Name: v.Name, Tenant: v.Tenant, Owner: string(v.Owner), OwnerName: v.OwnerName, Cluster: v.Cluster,
		Namespace: v.Namespace, GiB: v.GiB,
		Workload: string(v.Workload), Deleted: v.Deleted, CreatedAt: timestampOf(v.CreatedAt),
		UpdatedAt:  timestampOf(v.UpdatedAt),
		Version:    v.Version,
		UnusedFrom: timestampOf(v.UnusedFrom), WarnedAt: timestampOf(v.WarnedAt), WarnedFor: int64(v.WarnedFor / time.Second),
		Share: doc(v.Share), DeleteAfter: timestampOf(v.DeleteAfter), Refused: doc(v.Refused),
		Personal: doc(v.Personal),
	}
}

func toVolume(row volumeRow) workload.Volume {
	return workload.Volume{
		Name: row.Name, Tenant: row.Tenant, Owner: identity.PersonID(row.Owner), OwnerName: row.OwnerName,
		Cluster:   row.Cluster,
		Namespace: row.Namespace, GiB: row.GiB, Workload: workload.ID(row.Workload), Deleted: row.Deleted,
		CreatedAt: row.CreatedAt.time(),
		UpdatedAt: row.UpdatedAt.time(), Version: row.Version, UnusedFrom: row.UnusedFrom.time(),
		WarnedAt:  row.WarnedAt.time(),
		WarnedFor: time.Duration(row.WarnedFor) * time.Second, Share: row.Share.is, DeleteAfter: row.DeleteAfter.time(),
		Refused: row.Refused.is, Personal: row.Personal.is,
	}
}

// Volume gives one volume, also a deleted one that is still to be removed from the cluster.
func (v view) Volume(ctx context.Context, name string) (workload.Volume, error) {
	row, err := volumeByName.one(ctx, v, i18n.T("volume.not_found"), name)
	return toVolume(row), err
}

var volumeByName = asked[volumeRow](func(db *gorm.DB) *gorm.DB { return db.Where("name = ?", "").Limit(1) })

// Volumes lists storage by name, without what was deleted.
func (v view) Volumes(ctx context.Context, f workload.VolumeFilter) ([]workload.Volume, error) {
	if none(f.Tenants) {
		return nil, nil
	}
	switch everywhere := f.Cluster == ""; {
	case everywhere && f.Tenants == nil && f.Owner != "" && !f.Shared:
		rows, err := volumesOfOwner.all(ctx, v, string(f.Owner))
		return each(rows, toVolume), err
	case everywhere && len(f.Tenants) == 1 && f.Owner == "" && f.Shared:
		rows, err := volumesOfTeam.all(ctx, v, f.Tenants[0])
		return each(rows, toVolume), err
	}
	query := among(v.at(ctx).Where("NOT deleted"), "tenant", f.Tenants)
	if f.Owner != "" {
		query = query.Where("owner = ?", string(f.Owner))
	}
	if f.Cluster != "" {
		query = query.Where("cluster = ?", f.Cluster)
	}
	if f.Shared {
		query = query.Where("share <> '{}'")
	}
	rows, err := all[volumeRow](query.Order("name"))
	return each(rows, toVolume), err
}

// What the form to start something asks for.
var (
	volumesOfOwner = asked[volumeRow](func(db *gorm.DB) *gorm.DB {
		return db.Where("NOT deleted").Where("owner = ?", "").Order("name")
	})
	volumesOfTeam = asked[volumeRow](func(db *gorm.DB) *gorm.DB {
		return db.Where("NOT deleted").Where("tenant IN ?", []string{""}).Where("share <> '{}'").Order("name")
	})
)

// Mounting lists the workloads that mount a volume by name and have not ended.
func (v view) Mounting(ctx context.Context, of workload.Volume) ([]workload.Workload, error) {
	return v.mounting(ctx, of.Tenant, func(m workload.Mount) bool { return m.Claim == of.Name })
}

func (v view) mounting(ctx context.Context, tenant string, is func(workload.Mount) bool) ([]workload.Workload, error) {
	rows, err := all[workloadRow](v.at(ctx).Where("tenant = ? AND state <> 'ended' AND mounts <> ''",
		tenant).Order("created_at, id"))
	if err != nil {
		return nil, err
	}
	var list []workload.Workload
	for _, w := range each(rows, toWorkload) {
		if !w.Over() && slices.ContainsFunc(w.Mounts, is) {
			list = append(list, w)
		}
	}
	return list, nil
}

// DeletedVolumes are those whose PVC is still to be removed.
func (v view) DeletedVolumes(ctx context.Context) ([]workload.Volume, error) {
	rows, err := all[volumeRow](v.at(ctx).Where("deleted").Order("name"))
	return each(rows, toVolume), err
}

// SaveVolume inserts at Version 0 and else updates that version; the row's version is one higher afterwards.
func (t *tx) SaveVolume(ctx context.Context, v workload.Volume) error {
	if err := t.unheld(v.Cluster); err != nil {
		return err
	}
	row := fromVolume(v)
	row.Version++
	t.changed(volumeChange(row))
	write := func() error { return insert(t.at(ctx), &row) }
	if v.Version > 0 {
		write = func() error { return update(t.at(ctx), &row, "name", row.Name, v.Version) }
	}
	if err := write(); err != nil {
		return err
	}
	return t.meterVolume(ctx, row)
}

// PurgeVolume forgets a deleted volume whose PVC is gone, and so frees its name; the audit still knows it. Purging what
// is not there, or was never deleted, changes nothing.
func (s *Store) PurgeVolume(ctx context.Context, name string) error {
	return s.write(ctx, func(t *tx) error {
		var gone []volumeRow
		err := t.at(ctx).Raw("DELETE FROM volumes WHERE name = ? AND deleted RETURNING *", name).Scan(&gone).Error
		for _, row := range gone {
			t.changed(volumeChange(row))
			if err := t.endMeter(ctx, row.Name); err != nil {
				return err
			}
		}
		return err
	})
}

type claimRow struct {
	Volume string `gorm:"primaryKey"`
	State  document[workload.ClaimState]
	SeenAt timestamp
}

func (claimRow) TableName() string { return "volume_claims" }

// Claims are what clusters last said of the claims of volumes, by the volume's name; nothing of one that nobody
// has looked at.
func (v view) Claims(ctx context.Context, volumes ...string) (map[string]workload.ClaimState, error) {
	if len(volumes) == 0 {
		return map[string]workload.ClaimState{}, nil
	}
	rows, err := all[claimRow](v.at(ctx).Where("volume IN ?", volumes))
	claims := make(map[string]workload.ClaimState, len(rows))
	for _, row := range rows {
		row.State.is.At = row.SeenAt.time()
		claims[row.Volume] = row.State.is
	}
	return claims, err
}

// SaveClaim keeps what a cluster says of a volume's claim. Of a volume that is gone nothing is kept, and what was seen
// earlier replaces nothing newer.
func (s *Store) SaveClaim(ctx context.Context, volume string, c workload.ClaimState) error {
	return s.write(ctx, func(t *tx) error {
		v, err := t.Volume(ctx, volume)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		was, err := t.Claims(ctx, volume)
		if err != nil || was[volume].At.After(c.At) {
			return err
		}
		if !was[volume].Same(c) {
			t.changed(volumeChange(fromVolume(v)))
		}
		row := claimRow{Volume: volume, State: doc(c), SeenAt: timestampOf(c.At)}
		if err := writable(&row); err != nil {
			return err
		}
		return failure(t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error)
	})
}

func volumeChange(row volumeRow) live.Change {
	return live.Change{Topic: live.TopicVolume, ID: row.Name, Tenant: row.Tenant, Person: row.Owner}
}
