package store

import (
	"context"
	"math"
	"strconv"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	_ idle.Store = (*Store)(nil)
	_ idle.Tx    = (*tx)(nil)
)

type idleSettingsRow struct {
	Version    int64 `gorm:"primaryKey;autoIncrement:false"`
	Settings   document[idle.Settings]
	Author     string
	AuthorName string
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (idleSettingsRow) TableName() string { return "idle_settings" }

type idleObservedRow struct {
	Cluster string `gorm:"primaryKey"`
	UntilAt timestamp
}

func (idleObservedRow) TableName() string { return "idle_observed" }

type idleRecordRow struct {
	Workload       string `gorm:"primaryKey"`
	Generation     int64
	Below          int64
	SinceAt        timestamp
	High           int64 // hundredths of a per cent
	BelowCPU       int64 // thousandths of a core, as HighCPU
	BelowNetwork   int64 // bytes per second, as HighNetwork
	HighCPU        int64
	HighNetwork    int64
	HighMemory     int64 // MiB
	MemoryKnown    bool
	WarnedAt       timestamp
	StopsAt        timestamp
	KeepAliveUntil timestamp
	KeepAliveBy    string
}

func (idleRecordRow) TableName() string { return "idle_records" }

func toIdleRecord(r idleRecordRow) idle.Record {
	return idle.Record{Workload: workload.ID(r.Workload), Generation: r.Generation, Below: int(r.Below),
		Since: r.SinceAt.time(), High: float64(r.High) / 100,
		PodBelow:   idle.PodUse{CPU: float64(r.BelowCPU) / 1000, Network: float64(r.BelowNetwork)},
		PodHigh:    idle.PodUse{CPU: float64(r.HighCPU) / 1000, Network: float64(r.HighNetwork)},
		MemoryHigh: idle.MemoryChange{MiB: float64(r.HighMemory), Known: r.MemoryKnown},
		WarnedAt:   r.WarnedAt.time(), StopsAt: r.StopsAt.time(), KeepAliveUntil: r.KeepAliveUntil.time(),
		KeepAliveBy: r.KeepAliveBy}
}

func fromIdleRecord(m idle.Record) idleRecordRow {
	return idleRecordRow{Workload: string(m.Workload), Generation: m.Generation, Below: int64(m.Below),
		SinceAt: timestampOf(m.Since), High: int64(math.Ceil(m.High * 100)),
		BelowCPU: int64(math.Round(m.PodBelow.CPU * 1000)), BelowNetwork: int64(m.PodBelow.Network),
		HighCPU: int64(math.Ceil(m.PodHigh.CPU * 1000)), HighNetwork: int64(math.Ceil(m.PodHigh.Network)),
		HighMemory: int64(math.Ceil(m.MemoryHigh.MiB)), MemoryKnown: m.MemoryHigh.Known,
		WarnedAt: timestampOf(m.WarnedAt), StopsAt: timestampOf(m.StopsAt), KeepAliveUntil: timestampOf(m.KeepAliveUntil),
		KeepAliveBy: m.KeepAliveBy}
}

// IdleSettings are the ones that count; version 0 while none were saved.
func (v view) IdleSettings(ctx context.Context) (idle.Revision, error) {
	row, err := one[idleSettingsRow](v.at(ctx).Order("version DESC"), i18n.T("idle.never_set"))
	if fault.Is(err, fault.NotFound) {
		return idle.Revision{}, nil
	}
	return idle.Revision{Version: row.Version, Settings: row.Settings.is, Author: identity.PersonID(row.Author),
		AuthorName: row.AuthorName, At: row.CreatedAt.time()}, err
}

// SaveIdleSettings keeps a revision that follows the newest one. Of two that follow the same one the second loses.
func (s *Store) SaveIdleSettings(ctx context.Context, r idle.Revision, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		newest, err := t.IdleSettings(ctx)
		if err != nil {
			return err
		}
		if r.Version != newest.Version+1 {
			return lostRace()
		}
		row := idleSettingsRow{Version: r.Version, Settings: doc(r.Settings), Author: string(r.Author),
			AuthorName: r.AuthorName,
			CreatedAt:  timestampOf(r.At)}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.changed(live.Change{Topic: live.TopicIdle, ID: strconv.FormatInt(r.Version, 10)})
		return t.Append(ctx, events...)
	})
}

// IdleRecords are those of the given workloads, of all where none is given. Up to when they are known is their
// cluster's to say: see IdleObserved.
func (v view) IdleRecords(ctx context.Context, ids ...workload.ID) (map[workload.ID]idle.Record, error) {
	query := v.at(ctx)
	if len(ids) > 0 {
		query = query.Where("workload IN ?", ids)
	}
	rows, err := all[idleRecordRow](query)
	records := make(map[workload.ID]idle.Record, len(rows))
	for _, row := range rows {
		records[workload.ID(row.Workload)] = toIdleRecord(row)
	}
	return records, err
}

// IdleObserved is up to when each cluster was looked at.
func (v view) IdleObserved(ctx context.Context) (map[string]time.Time, error) {
	rows, err := all[idleObservedRow](v.at(ctx))
	looks := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		looks[row.Cluster] = row.UntilAt.time()
	}
	return looks, err
}

// ChangeIdle is ChangeExclusively with the idle records beside the workloads.
func (s *Store) ChangeIdle(ctx context.Context, fn func(idle.Tx) error) error {
	return s.exclusively(ctx, "idle", func(t *tx) error { return fn(t) })
}

// SaveIdleObserved notes up to when a cluster was looked at.
func (t *tx) SaveIdleObserved(ctx context.Context, cluster string, until time.Time) error {
	row := idleObservedRow{Cluster: cluster, UntilAt: timestampOf(until)}
	if err := writable(&row); err != nil {
		return err
	}
	return failure(t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error)
}

// SaveIdleRecord keeps a record in place of the last one. With an event, pages that show the workload hear of it.
func (t *tx) SaveIdleRecord(ctx context.Context, m idle.Record, events ...audit.Event) error {
	row := fromIdleRecord(m)
	if err := writable(&row); err != nil {
		return err
	}
	if err := t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil || len(events) == 0 {
		return failure(err)
	}
	return t.adviceChanged(ctx, row.Workload, events)
}

// DeleteIdleRecords forgets what was known of workloads.
func (t *tx) DeleteIdleRecords(ctx context.Context, ids ...workload.ID) error {
	if len(ids) == 0 {
		return nil
	}
	return failure(t.at(ctx).Where("workload IN ?", ids).Delete(&idleRecordRow{}).Error)
}
