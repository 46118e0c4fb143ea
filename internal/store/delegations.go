package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

var _ delegation.Store = (*Store)(nil)

type delegationRow struct {
	ID        string `gorm:"primaryKey"`
	Person    string
	Delegate  string
	FromAt    timestamp
	UntilAt   timestamp
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
}

func (delegationRow) TableName() string { return "delegations" }

// Delegations lists the periods that end after a time, soonest first, with the names of now.
func (v view) Delegations(ctx context.Context, after time.Time) ([]delegation.Delegation, error) {
	var rows []struct {
		Row                delegationRow `gorm:"embedded"`
		Name, DelegateName string
	}
	err := v.at(ctx).Raw(
		`SELECT s.id, s.person, s.delegate, s.from_at, s.until_at, s.created_at, p.name AS name, t.name AS delegate_name
			FROM delegations s JOIN people p ON p.id = s.person
			JOIN people t ON t.id = s.delegate
		WHERE s.until_at > ? ORDER BY s.from_at, s.id`, timestampOf(after)).Scan(&rows).Error
	list := make([]delegation.Delegation, len(rows))
	for i, r := range rows {
		list[i] = delegation.Delegation{ID: r.Row.ID, Person: identity.PersonID(r.Row.Person), Name: r.Name,
			Delegate: identity.PersonID(r.Row.Delegate), DelegateName: r.DelegateName,
			From: r.Row.FromAt.time(), Until: r.Row.UntilAt.time(), CreatedAt: r.Row.CreatedAt.time()}
	}
	return list, failure(err)
}

// CreateDelegation keeps a period with the event that says so.
func (s *Store) CreateDelegation(ctx context.Context, p delegation.Delegation, event audit.Event) error {
	row := delegationRow{ID: p.ID, Person: string(p.Person), Delegate: string(p.Delegate), FromAt: timestampOf(p.From),
		UntilAt: timestampOf(p.Until), CreatedAt: timestampOf(p.CreatedAt)}
	return s.write(ctx, func(t *tx) error {
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		t.delegationChanged(row)
		return t.Append(ctx, event)
	})
}

// EndDelegation ends a person's period at a time; one that has not begun by then goes altogether.
func (s *Store) EndDelegation(ctx context.Context, person identity.PersonID, id string, now time.Time,
	event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		row, err := one[delegationRow](t.at(ctx).Where("id = ? AND person = ? AND until_at > ?", id, string(person),
			timestampOf(now)), i18n.T("delegation.not_found"))
		if err != nil {
			return err
		}
		statement, args := "DELETE FROM delegations WHERE id = ? AND until_at = ?", []any{id, row.UntilAt}
		if row.FromAt.Int64 < timestampOf(now).Int64 {
			statement, args = "UPDATE delegations SET until_at = ? WHERE id = ? AND until_at = ?",
				append([]any{timestampOf(now)}, args...)
		}
		done := t.at(ctx).Exec(statement, args...)
		if done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("delegation.not_found"))
		}
		if done.Error != nil {
			return done.Error
		}
		t.delegationChanged(row)
		return t.Append(ctx, event)
	})
}

// delegationChanged tells those who remember periods, and the open pages of the delegate, whose rights are others now.
func (t *tx) delegationChanged(row delegationRow) {
	t.changed(live.Change{Topic: live.TopicDelegation, ID: row.ID, Person: row.Delegate})
	t.changed(live.Change{Topic: live.TopicSession, Person: row.Delegate})
}
