package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

// touchEvery is how exactly the last use of sessions and tokens is known.
const touchEvery = time.Minute

type sessionRow struct {
	ID         string `gorm:"primaryKey"`
	SecretHash string
	Person     string
	CreatedAt  moment `gorm:"autoCreateTime:false"`
	SeenAt     moment
	EndsAt     moment
	IDToken    string `gorm:"column:id_token"`
	Parent     sql.NullString
	Workload   string
}

func (sessionRow) TableName() string { return "sessions" }

func toSession(row sessionRow) identity.Session {
	return identity.Session{
		ID: row.ID, SecretHash: row.SecretHash, Person: identity.PersonID(row.Person), CreatedAt: row.CreatedAt.time(), SeenAt: row.SeenAt.time(),
		EndsAt: row.EndsAt.time(), IDToken: row.IDToken, Parent: row.Parent.String, Workload: row.Workload,
	}
}

// CreateSession keeps a new session. One that hangs on a session that has ended meanwhile is Unauthenticated.
func (s *Store) CreateSession(ctx context.Context, n identity.Session) error {
	row := sessionRow{ID: n.ID, SecretHash: n.SecretHash, Person: string(n.Person), CreatedAt: momentOf(n.CreatedAt), SeenAt: momentOf(n.SeenAt),
		EndsAt: momentOf(n.EndsAt), IDToken: n.IDToken, Parent: optional(n.Parent), Workload: n.Workload}
	err := s.write(ctx, func(t *tx) error { return insert(t.at(ctx), &row) })
	if dangling(err) {
		return fault.Wrap(fault.Unauthenticated, err, i18n.T("store.session_over"))
	}
	return err
}

// Session gives a session by its id. Whether it is still within its limits is for the caller to say.
func (v view) Session(ctx context.Context, id string) (identity.Session, error) {
	row, err := one[sessionRow](v.at(ctx).Where("id = ?", id), i18n.T("store.session_over"))
	return toSession(row), err
}

// TouchSession notes that a session is in use, at most once a minute.
func (s *Store) TouchSession(ctx context.Context, id string, now time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.at(ctx).Exec("UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at <= ?",
			momentOf(now), id, momentOf(now.Add(-touchEvery))).Error
	})
}

// EndSession ends a session and the gateway sessions that hang on it. Ending one that has ended changes nothing.
func (s *Store) EndSession(ctx context.Context, id string) error {
	return s.write(ctx, func(t *tx) error { return t.endSessions(ctx, "id = ? OR parent = ?", id, id) })
}

// EndSessionsOf ends every session of a person.
func (s *Store) EndSessionsOf(ctx context.Context, person identity.PersonID) error {
	return s.write(ctx, func(t *tx) error { return t.endSessions(ctx, "person = ?", string(person)) })
}

// endSessions deletes sessions, each with an outbox row, so that open streams end. Codes that were issued for them go with them, and so does a gateway session
// that is being created at this moment: it refers to its parent.
func (t *tx) endSessions(ctx context.Context, which string, args ...any) error {
	rows, err := all[sessionRow](t.at(ctx).Where(which, args...).Order("id"))
	if err != nil {
		return err
	}
	for _, row := range rows {
		t.changed(live.Change{Topic: "session", ID: row.ID, Person: row.Person})
	}
	return t.at(ctx).Where(which, args...).Delete(&sessionRow{}).Error
}
