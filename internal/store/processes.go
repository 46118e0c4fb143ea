package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type processRow struct {
	ID        string `gorm:"primaryKey"`
	SeenAt    timestamp
	Leads     bool
	WantedAt  timestamp
	CheckedAt timestamp
	Load      string
	Facts     string
}

// load is the part of a heartbeat that is kept as JSON.
type load struct {
	Reconcile map[string]int `json:"reconcile,omitempty"`
	Hung      []string       `json:"hung,omitempty"`
}

func loadOf(h doctor.Heartbeat) (string, error) {
	text, err := json.Marshal(load{Reconcile: h.Reconcile, Hung: h.Hung})
	return string(text), err
}

func (processRow) TableName() string { return "processes" }

func (r processRow) report() (doctor.Report, error) {
	var l load
	if err := json.Unmarshal([]byte(r.Load), &l); err != nil {
		return doctor.Report{}, fmt.Errorf("load of process %s: %w", r.ID, err)
	}
	out := doctor.Report{ID: r.ID, SeenAt: r.SeenAt.time(), WantedAt: r.WantedAt.time(), CheckedAt: r.CheckedAt.time(),
		Heartbeat: doctor.Heartbeat{Leads: r.Leads, Reconcile: l.Reconcile, Hung: l.Hung}}
	if err := json.Unmarshal([]byte(r.Facts), &out.Facts); err != nil {
		return out, fmt.Errorf("facts of process %s: %w", r.ID, err)
	}
	return out, nil
}

// Reports lists what every process found that was seen since, by id.
func (v view) Reports(ctx context.Context, since time.Time) ([]doctor.Report, error) {
	var rows []processRow
	err := v.at(ctx).Where("seen_at >= ?", timestampOf(since)).Order("id").Find(&rows).Error
	if err != nil {
		return nil, failure(err)
	}
	out := make([]doctor.Report, len(rows))
	for i, r := range rows {
		if out[i], err = r.report(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SaveReport replaces what a process found and tells whoever looks; when checks were wanted is kept. Processes that
// were not seen since are forgotten.
func (s *Store) SaveReport(ctx context.Context, r doctor.Report, since time.Time) error {
	facts, err := json.Marshal(r.Facts)
	if err != nil {
		return err
	}
	busy, err := loadOf(r.Heartbeat)
	if err != nil {
		return err
	}
	row := processRow{ID: r.ID, SeenAt: timestampOf(r.SeenAt), Leads: r.Leads, CheckedAt: timestampOf(r.CheckedAt),
		Load: busy, Facts: string(facts)}
	return s.write(ctx, func(t *tx) error {
		if err := t.at(ctx).Where("seen_at < ?", timestampOf(since)).Delete(&processRow{}).Error; err != nil {
			return failure(err)
		}
		keep := clause.OnConflict{Columns: []clause.Column{{Name: "id"}},
			DoUpdates: clause.AssignmentColumns([]string{"seen_at", "leads", "checked_at", "load", "facts"})}
		if err := t.at(ctx).Clauses(keep).Create(&row).Error; err != nil {
			return failure(err)
		}
		t.changed(live.Change{Topic: live.TopicSystem})
		return nil
	})
}

// SeeProcess notes that a process lives, and what it says of itself.
func (s *Store) SeeProcess(ctx context.Context, id string, at time.Time, h doctor.Heartbeat) error {
	busy, err := loadOf(h)
	if err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		return failure(t.at(ctx).Model(&processRow{}).Where("id = ?", id).
			Updates(map[string]any{"seen_at": timestampOf(at), "leads": h.Leads, "load": busy}).Error)
	})
}

// WantChecks asks every process to look again.
func (s *Store) WantChecks(ctx context.Context, at time.Time) error {
	return s.write(ctx, func(t *tx) error {
		t.changed(live.Change{Topic: live.TopicSystem})
		return failure(t.at(ctx).Model(&processRow{}).Where("1 = 1").Update("wanted_at", timestampOf(at)).Error)
	})
}

// Queues lists what waits in the database, over all tenants.
func (s *Store) Queues(ctx context.Context) ([]doctor.Queue, error) {
	b, err := s.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	return []doctor.Queue{
		{Name: doctor.Approvals, Length: b.Requests[ForApproval]},
		{Name: doctor.LicenseSeats, Length: b.Requests[ForSeat]},
		{Name: doctor.GPUs, Length: b.Workloads[workload.Queued]},
		{Name: doctor.Events, Length: int(b.UnprocessedEvents)},
		{Name: doctor.Messages, Length: b.Deliveries[notify.Due] + b.Deliveries[notify.Sending], Oldest: b.OldestDue},
	}, nil
}
