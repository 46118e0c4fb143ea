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

type markRow struct {
	Cluster    string `gorm:"primaryKey"`
	Kind       string `gorm:"primaryKey"`
	Name       string `gorm:"primaryKey"`
	Node       string
	Note       string
	Author     string
	AuthorName string
	CreatedAt  moment `gorm:"autoCreateTime:false"`
}

func (markRow) TableName() string { return "hardware_marks" }

// Marks are the nodes and cards that administrators have called bad, in a steady order.
func (v view) Marks(ctx context.Context) ([]health.Mark, error) {
	rows, err := all[markRow](v.at(ctx).Order("cluster, kind DESC, name"))
	return each(rows, func(r markRow) health.Mark {
		return health.Mark{Place: health.Place{Cluster: r.Cluster, Kind: health.Kind(r.Kind), Name: r.Name}, Node: r.Node,
			Note: r.Note,
			By:   identity.PersonID(r.Author), ByName: r.AuthorName, At: r.CreatedAt.time()}
	}), err
}

// SaveMark keeps a mark, in place of one with another note; where there is one with the same it does nothing.
func (s *Store) SaveMark(ctx context.Context, m health.Mark, events ...audit.Event) error {
	row := markRow{Cluster: m.Cluster, Kind: string(m.Kind), Name: m.Name, Node: m.Node, Note: m.Note,
		Author: string(m.By), AuthorName: m.ByName, CreatedAt: momentOf(m.At)}
	if err := writable(&row); err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		same := t.at(ctx).Model(&markRow{}).Where("cluster = ? AND kind = ? AND name = ? AND note = ?", row.Cluster, row.Kind,
			row.Name, row.Note)
		if there, err := all[markRow](same); err != nil || len(there) > 0 {
			return err // somebody was faster
		}
		if err := t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return err
		}
		t.changed(live.Change{Topic: "mark", ID: row.Name})
		return t.Append(ctx, events...)
	})
}

// DeleteMark takes a mark away and writes the events; nothing where there is none.
func (s *Store) DeleteMark(ctx context.Context, p health.Place, events ...audit.Event) error {
	if !clean(p.Cluster) || !clean(p.Name) {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("DELETE FROM hardware_marks WHERE cluster = ? AND kind = ? AND name = ?", p.Cluster,
			string(p.Kind), p.Name)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: "mark", ID: p.Name})
		return t.Append(ctx, events...)
	})
}
