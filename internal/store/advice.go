package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var _ advice.Store = (*Store)(nil)

type dismissalRow struct {
	Workload   string `gorm:"primaryKey"`
	Kind       string
	SizeName   string
	Author     string
	AuthorName string
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (dismissalRow) TableName() string { return "advice_dismissals" }

// Dismissals are what was put away, by workload.
func (v view) Dismissals(ctx context.Context) (map[workload.ID]advice.Dismissal, error) {
	rows, err := all[dismissalRow](v.at(ctx))
	put := make(map[workload.ID]advice.Dismissal, len(rows))
	for _, row := range rows {
		put[workload.ID(row.Workload)] = advice.Dismissal{Workload: workload.ID(row.Workload), Kind: advice.Kind(row.Kind),
			Size:   row.SizeName,
			Author: identity.PersonID(row.Author), Name: row.AuthorName, At: row.CreatedAt.time()}
	}
	return put, err
}

// SaveDismissal puts advice away; the last one for a workload counts.
func (s *Store) SaveDismissal(ctx context.Context, d advice.Dismissal, events ...audit.Event) error {
	row := dismissalRow{Workload: string(d.Workload), Kind: string(d.Kind), SizeName: d.Size, Author: string(d.Author),
		AuthorName: d.Name, CreatedAt: timestampOf(d.At)}
	return s.write(ctx, func(t *tx) error {
		if err := t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return err
		}
		return t.adviceChanged(ctx, row.Workload, events)
	})
}

// DeleteDismissal shows advice again; nothing where none was put away.
func (s *Store) DeleteDismissal(ctx context.Context, id workload.ID, events ...audit.Event) error {
	if !clean(string(id)) {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("DELETE FROM advice_dismissals WHERE workload = ?", string(id))
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		return t.adviceChanged(ctx, string(id), events)
	})
}

// adviceChanged tells the pages that show the workload.
func (t *tx) adviceChanged(ctx context.Context, id string, events []audit.Event) error {
	var of struct{ Tenant, Owner string }
	if err := t.at(ctx).Raw("SELECT tenant, owner FROM workloads WHERE id = ?", id).Scan(&of).Error; err != nil {
		return err
	}
	t.changed(live.Change{Topic: live.TopicWorkload, ID: id, Tenant: of.Tenant, Person: of.Owner})
	return t.Append(ctx, events...)
}

// NamesEnded is when a workload of each name last ended, by cluster, namespace and name, as far as this is after a
// time.
func (v view) NamesEnded(ctx context.Context, since time.Time) (map[advice.Name]time.Time, error) {
	var rows []struct {
		Cluster, Namespace, Name string
		EndedAt                  timestamp
	}
	err := v.at(ctx).Raw("SELECT cluster, namespace, name, MAX(updated_at) AS ended_at FROM workloads WHERE state = "+
		"'ended' AND updated_at >= ? GROUP BY cluster, namespace, name", timestampOf(since)).
		Scan(&rows).Error
	ended := make(map[advice.Name]time.Time, len(rows))
	for _, row := range rows {
		ended[advice.Name{Cluster: row.Cluster, Namespace: row.Namespace, Name: row.Name}] = row.EndedAt.time()
	}
	return ended, failure(err)
}
