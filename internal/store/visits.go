package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type visitRow struct {
	Workload string `gorm:"primaryKey"`
	Person   string `gorm:"primaryKey"`
	SeenAt   timestamp
}

func (visitRow) TableName() string { return "visits" }

// visitLife is how long it is known who was inside a workload.
const visitLife = 30 * 24 * time.Hour

// SaveVisits writes down who is inside workloads now.
func (s *Store) SaveVisits(ctx context.Context, visits []workload.Visit) error {
	if len(visits) == 0 {
		return nil
	}
	rows := each(visits, func(v workload.Visit) visitRow {
		return visitRow{Workload: string(v.Workload), Person: string(v.Person), SeenAt: timestampOf(v.At)}
	})
	return s.write(ctx, func(t *tx) error {
		return failure(t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(&rows, 500).Error)
	})
}

// Visits lists who was inside a workload, newest first.
func (v view) Visits(ctx context.Context, id workload.ID, most int) ([]workload.Visit, error) {
	var rows []struct {
		Person, Name string
		SeenAt       timestamp
	}
	err := v.at(ctx).Model(&visitRow{}).Select("visits.person, people.name, visits.seen_at").
		Joins("JOIN people ON people.id = visits.person").
		Where("visits.workload = ?", string(id)).Order("visits.seen_at DESC, visits.person").Limit(most).Find(&rows).Error
	list := make([]workload.Visit, len(rows))
	for i, r := range rows {
		list[i] = workload.Visit{Workload: id, Person: identity.PersonID(r.Person), Name: r.Name, At: r.SeenAt.time()}
	}
	return list, failure(err)
}

// LastVisits is when somebody was inside the given workloads last, inside all where none is given.
func (v view) LastVisits(ctx context.Context, ids ...workload.ID) (map[workload.ID]time.Time, error) {
	query := v.at(ctx).Model(&visitRow{}).Select("workload, max(seen_at) AS seen_at").Group("workload")
	if len(ids) > 0 {
		query = query.Where("workload IN ?", ids)
	}
	rows, err := all[visitRow](query)
	last := make(map[workload.ID]time.Time, len(rows))
	for _, r := range rows {
		last[workload.ID(r.Workload)] = r.SeenAt.time()
	}
	return last, err
}
