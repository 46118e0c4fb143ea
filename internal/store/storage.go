package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

type storageIntervalRow struct {
	Volume    string
	Tenant    string
	Owner     string
	OwnerName string
	GiB       int64 `gorm:"column:gib"`
	FromAt    timestamp
	UntilAt   timestamp
}

func (storageIntervalRow) TableName() string { return "storage_intervals" }

func toStorageInterval(row storageIntervalRow) usage.StorageInterval {
	return usage.StorageInterval{Volume: row.Volume, Tenant: row.Tenant, Owner: row.Owner, OwnerName: row.OwnerName,
		GiB:  row.GiB,
		From: row.FromAt.time(), Until: row.UntilAt.time()}
}

// StorageIntervals gives the storage that was there in a span, and what was there of the same volumes before it, oldest
// first.
func (v view) StorageIntervals(ctx context.Context, f usage.Filter) ([]usage.StorageInterval, error) {
	if none(f.Tenants) || !f.Span.From.Before(f.Span.Until) {
		return nil, nil
	}
	query := among(v.at(ctx), "tenant", f.Tenants).Where("from_at < ?", timestampOf(f.Span.Until)).
		Where("volume IN (SELECT volume FROM storage_intervals WHERE from_at < ? AND (until_at IS NULL OR until_at > ?))",
			timestampOf(f.Span.Until), timestampOf(f.Span.From))
	if f.Owner != "" {
		query = query.Where("owner = ?", f.Owner)
	}
	rows, err := all[storageIntervalRow](query.Order("volume, from_at"))
	return each(rows, toStorageInterval), err
}

// meterVolume begins to meter a volume, and anew where its size or whose it is has changed. Its row was just written in
// this transaction, so no other one is at its meter.
func (t *tx) meterVolume(ctx context.Context, row volumeRow) error {
	now := timestampOf(t.now)
	done := t.at(ctx).Exec(`UPDATE storage_intervals SET until_at = CASE WHEN from_at > ? THEN from_at ELSE ? END
		WHERE volume = ? AND until_at IS NULL AND NOT (tenant = ? AND owner = ? AND gib = ?)`, now, now, row.Name, row.Tenant,
		row.Owner, row.GiB)
	if done.Error != nil {
		return done.Error
	}
	return beginMeter(t.at(ctx), now, row.Name)
}

// beginMeter opens the meter of a volume that has no open one: now, or where the last one ended, if by another clock
// that is later. Who loses a race finds it open.
func beginMeter(db *gorm.DB, now timestamp, name string) error {
	return db.Exec(`INSERT INTO storage_intervals (volume, tenant, owner, owner_name, gib, from_at)
		SELECT v.name, v.tenant, v.owner, v.owner_name, v.gib, COALESCE((
			SELECT MAX(CASE WHEN last.until_at > last.from_at THEN last.until_at ELSE last.from_at + 1 END)
			FROM storage_intervals AS last WHERE last.volume = v.name AND last.until_at >= ?), CAST(? AS BIGINT))
		FROM volumes AS v
		WHERE NOT EXISTS (SELECT 1 FROM storage_intervals AS open WHERE open.volume = v.name AND open.until_at IS NULL)
			AND v.name = ?
		ON CONFLICT DO NOTHING`, now, now, name).Error
}

// endMeter ends the meter of storage that is gone.
func (t *tx) endMeter(ctx context.Context, volume string) error {
	now := timestampOf(t.now)
	return t.at(ctx).Exec("UPDATE storage_intervals SET until_at = CASE WHEN from_at > ? THEN from_at ELSE ? END WHERE "+
		"volume = ? AND until_at IS NULL", now, now, volume).Error
}
