package store

import (
	"cmp"
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/live"
)

type changeRow struct {
	Seq    int64 `gorm:"primaryKey;autoIncrement:false"`
	At     timestamp
	Topic  string
	ID     string
	Tenant string
	Person string
}

func (changeRow) TableName() string { return "outbox" }

func toChange(row changeRow) live.Change {
	return live.Change{Seq: row.Seq, Topic: live.Topic(row.Topic), ID: row.ID, Tenant: row.Tenant, Person: row.Person}
}

// insertChanges writes outbox rows with the numbers after last.
func insertChanges(db *gorm.DB, changes []live.Change, last int64, now time.Time) error {
	if len(changes) == 0 {
		return nil
	}
	rows := make([]changeRow, len(changes))
	for i, c := range changes {
		rows[i] = changeRow{Seq: last + int64(i) + 1, At: timestampOf(now), Topic: string(c.Topic), ID: c.ID,
			Tenant: c.Tenant,
			Person: c.Person}
		if err := writable(&rows[i]); err != nil {
			return err
		}
	}
	return db.CreateInBatches(rows, 100).Error
}

// ChangesAfter gives the outbox rows after a number, oldest first. Numbers follow the order of commits (see flush), so
// whoever goes on from the last one it saw misses none.
func (v view) ChangesAfter(ctx context.Context, seq int64, limit int) ([]live.Change, error) {
	rows, err := all[changeRow](v.at(ctx).Where("seq > ?", seq).Order("seq").Limit(pageSize(limit)))
	return each(rows, toChange), err
}

// LastChange is the number of the newest outbox row, also when it was purged since.
func (v view) LastChange(ctx context.Context) (last int64, err error) {
	outside := v.kept != nil && v.moment == nil
	if noted, known := live.Noted(ctx); known && outside {
		return noted, nil
	}
	if v.moment != nil && v.moment.known {
		return v.moment.last, nil
	}
	begun := time.Now()
	last, err = v.lastChange(ctx)
	v.db.Logger.Trace(ctx, begun, func() (string, int64) { return selectLast, 1 }, err)
	switch {
	case err != nil:
	case outside:
		live.Note(ctx, last)
	case v.moment != nil:
		*v.moment = moment{last, true}
	}
	return last, failure(err)
}

const selectLast = "SELECT outbox FROM counters WHERE id = 1"

// lastChange goes past gorm, which takes as long as the database does: a page asks for it several times.
func (v view) lastChange(ctx context.Context) (last int64, err error) {
	rows, err := v.db.Statement.ConnPool.QueryContext(ctx, selectLast)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&last)
	}
	return last, cmp.Or(err, rows.Err())
}
