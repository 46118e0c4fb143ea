package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/standin"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

var _ standin.Store = (*Store)(nil)

type standInRow struct {
	ID        string `gorm:"primaryKey"`
	Person    string
	StandIn   string
	FromAt    moment
	UntilAt   moment
	CreatedAt moment `gorm:"autoCreateTime:false"`
}

func (standInRow) TableName() string { return "stand_ins" }

// StandIns lists the periods that end after a time, soonest first, with the names of now.
func (v view) StandIns(ctx context.Context, after time.Time) ([]standin.Period, error) {
	var rows []struct {
		Row             standInRow `gorm:"embedded"`
		Name, StandName string
	}
	err := v.at(ctx).Raw(
		`SELECT s.*, p.name AS name, t.name AS stand_name FROM stand_ins s JOIN people p ON p.id = s.person JOIN people t ON t.id = s.stand_in
		WHERE s.until_at > ? ORDER BY s.from_at, s.id`, momentOf(after)).Scan(&rows).Error
	list := make([]standin.Period, len(rows))
	for i, r := range rows {
		list[i] = standin.Period{ID: r.Row.ID, Person: identity.PersonID(r.Row.Person), Name: r.Name,
			StandIn: identity.PersonID(r.Row.StandIn), StandName: r.StandName,
			From: r.Row.FromAt.time(), Until: r.Row.UntilAt.time(), CreatedAt: r.Row.CreatedAt.time()}
	}
	return list, failure(err)
}

// CreateStandIn keeps a period with the event that says so.
func (s *Store) CreateStandIn(ctx context.Context, p standin.Period, event audit.Event) error {
	row := standInRow{ID: p.ID, Person: string(p.Person), StandIn: string(p.StandIn), FromAt: momentOf(p.From),
		UntilAt: momentOf(p.Until), CreatedAt: momentOf(p.CreatedAt)}
	return s.write(ctx, func(t *tx) error {
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.standInChanged(row)
		return t.Append(ctx, event)
	})
}

// EndStandIn ends a person's period at a time; one that has not begun by then goes altogether.
func (s *Store) EndStandIn(ctx context.Context, person identity.PersonID, id string, now time.Time,
	event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		row, err := one[standInRow](t.at(ctx).Where("id = ? AND person = ? AND until_at > ?", id, string(person),
			momentOf(now)), i18n.T("standin.not_found"))
		if err != nil {
			return err
		}
		statement, args := "DELETE FROM stand_ins WHERE id = ? AND until_at = ?", []any{id, row.UntilAt}
		if row.FromAt.Int64 < momentOf(now).Int64 {
			statement, args = "UPDATE stand_ins SET until_at = ? WHERE id = ? AND until_at = ?",
				append([]any{momentOf(now)}, args...)
		}
		done := t.at(ctx).Exec(statement, args...)
		if done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("standin.not_found"))
		}
		if done.Error != nil {
			return done.Error
		}
		t.standInChanged(row)
		return t.Append(ctx, event)
	})
}

// standInChanged tells those who remember periods, and the open pages of the stand-in, whose rights are others now.
func (t *tx) standInChanged(row standInRow) {
	t.changed(live.Change{Topic: "standin", ID: row.ID, Person: row.StandIn})
	t.changed(live.Change{Topic: "session", Person: row.StandIn})
}
