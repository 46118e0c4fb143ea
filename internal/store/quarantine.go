package store

import (
	"context"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

var _ health.Store = (*Store)(nil)

type quarantineRow struct {
	Cluster    string `gorm:"primaryKey"`
	Kind       string `gorm:"primaryKey"`
	Name       string `gorm:"primaryKey"`
	Node       string
	Note       string
	Author     string
	AuthorName string
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
}

func (quarantineRow) TableName() string { return "hardware_quarantine" }

// Quarantines are the nodes and cards that administrators have called bad, in a steady order.
func (v view) Quarantines(ctx context.Context) ([]health.Quarantine, error) {
	rows, err := all[quarantineRow](v.at(ctx).Order("cluster, kind DESC, name"))
	return each(rows, func(r quarantineRow) health.Quarantine {
		return health.Quarantine{Target: health.Target{Cluster: r.Cluster, Kind: health.Kind(r.Kind), Name: r.Name},
			Node: r.Node,
			Note: r.Note,
			By:   identity.PersonID(r.Author), ByName: r.AuthorName, At: r.CreatedAt.time()}
	}), err
}

// SaveQuarantine keeps a quarantine, in place of one with another note; where there is one with the same it does
// nothing.
func (s *Store) SaveQuarantine(ctx context.Context, m health.Quarantine, events ...audit.Event) error {
	row := quarantineRow{Cluster: m.Cluster, Kind: string(m.Kind), Name: m.Name, Node: m.Node, Note: m.Note,
		Author: string(m.By), AuthorName: m.ByName, CreatedAt: timestampOf(m.At)}
	if err := writable(&row); err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		same := t.at(ctx).Model(&quarantineRow{}).Where("cluster = ? AND kind = ? AND name = ? AND note = ?", row.Cluster,
			row.Kind,
			row.Name, row.Note)
		if there, err := all[quarantineRow](same); err != nil || len(there) > 0 {
			return err // somebody was faster
		}
		if err := t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return err
		}
		t.changed(live.Change{Topic: live.TopicQuarantine, ID: row.Name})
		return t.Append(ctx, events...)
	})
}

// DeleteQuarantine takes a quarantine away and writes the events; nothing where there is none.
func (s *Store) DeleteQuarantine(ctx context.Context, p health.Target, events ...audit.Event) error {
	if !clean(p.Cluster) || !clean(p.Name) {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("DELETE FROM hardware_quarantine WHERE cluster = ? AND kind = ? AND name = ?", p.Cluster,
			string(p.Kind), p.Name)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: live.TopicQuarantine, ID: p.Name})
		return t.Append(ctx, events...)
	})
}
