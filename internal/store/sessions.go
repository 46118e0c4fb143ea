package store

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
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
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
	SeenAt     timestamp
	EndsAt     timestamp
	IDToken    string `gorm:"column:id_token"`
	Parent     sql.NullString
	Workload   string
	// RefreshToken is sealed before it comes here.
	RefreshToken       string
	GroupsAt           timestamp
	AskedAt            timestamp
	Impersonates       sql.NullString
	ImpersonationUntil timestamp
	Roles              string
	FormerHash         string
	RenewedAt          timestamp
	Address            string
	Agent              string
	// ProviderSession is the sid of the provider's ID token.
	ProviderSession string
}

type logoutRow struct {
	ID        string `gorm:"primaryKey"`
	ExpiresAt timestamp
}

func (logoutRow) TableName() string { return "logouts" }

func (sessionRow) TableName() string { return "sessions" }

func toSession(row sessionRow) identity.Session {
	return identity.Session{
		ID: row.ID, SecretHash: row.SecretHash, Person: identity.PersonID(row.Person), CreatedAt: row.CreatedAt.time(),
		SeenAt: row.SeenAt.time(),
		EndsAt: row.EndsAt.time(), IDToken: row.IDToken, Parent: row.Parent.String, Workload: row.Workload,
		RefreshToken: row.RefreshToken, GroupsAt: row.GroupsAt.time(), AskedAt: row.AskedAt.time(),
		Impersonates: identity.PersonID(row.Impersonates.String), ImpersonationUntil: row.ImpersonationUntil.time(),
		Roles: row.Roles, FormerHash: row.FormerHash, RenewedAt: row.RenewedAt.time(),
		Address: row.Address, Agent: row.Agent,
		ProviderSession: row.ProviderSession,
	}
}

// CreateSession keeps a new session. One that hangs on a session that has ended meanwhile is Unauthenticated.
func (s *Store) CreateSession(ctx context.Context, n identity.Session) error {
	row := sessionRow{ID: n.ID, SecretHash: n.SecretHash, Person: string(n.Person), CreatedAt: timestampOf(n.CreatedAt),
		SeenAt: timestampOf(n.SeenAt),
		EndsAt: timestampOf(n.EndsAt), IDToken: n.IDToken, Parent: optional(n.Parent), Workload: n.Workload,
		RefreshToken: n.RefreshToken, GroupsAt: timestampOf(n.GroupsAt), AskedAt: timestampOf(n.AskedAt),
		Impersonates: optional(string(n.Impersonates)), ImpersonationUntil: timestampOf(n.ImpersonationUntil),
		Roles: n.Roles, FormerHash: n.FormerHash, RenewedAt: timestampOf(n.RenewedAt),
		Address: n.Address, Agent: n.Agent, ProviderSession: n.ProviderSession}
	err := s.write(ctx, func(t *tx) error { return insert(t.at(ctx), &row) })
	if dangling(err) {
		return fault.Wrap(fault.Unauthenticated, err, i18n.T("store.session_over"))
	}
	return err
}

// Session gives a session by its id. Whether it is still within its limits is for the caller to say.
func (v view) Session(ctx context.Context, id string) (identity.Session, error) {
	row, err := sessionByID.one(ctx, v, i18n.T("store.session_over"), id)
	return toSession(row), err
}

var sessionByID = asked[sessionRow](func(db *gorm.DB) *gorm.DB { return db.Where("id = ?", "").Limit(1) })

// TouchSession notes that a session is in use, at most once a minute.
func (s *Store) TouchSession(ctx context.Context, id string, now time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.at(ctx).Exec("UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at <= ?",
			timestampOf(now), id, timestampOf(now.Add(-touchEvery))).Error
	})
}

// RenewSecret gives a session another secret because its roles changed, once for all calls that saw the secret of
// before; renewed is false for the others.
func (s *Store) RenewSecret(ctx context.Context, n identity.Session, hash, roles string,
	now time.Time) (renewed bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE sessions SET secret_hash = ?, former_hash = ?, roles = ?, renewed_at = ? WHERE id = "+
			"? AND secret_hash = ? AND roles = ?",
			hash, n.SecretHash, roles, timestampOf(now), n.ID, n.SecretHash, n.Roles)
		renewed = done.RowsAffected == 1
		return done.Error
	})
	return renewed && err == nil, err
}

// EndSession ends a session and the gateway sessions that hang on it. Ending one that has ended changes nothing. Of
// somebody who has API tokens its refresh token is kept, in a row that opens nothing: see AskingSession.
func (s *Store) EndSession(ctx context.Context, id string) error {
	return s.write(ctx, func(t *tx) error {
		kept := t.at(ctx).Exec("UPDATE sessions SET secret_hash = '', former_hash = '', id_token = '', "+
			"provider_session = '', ends_at = ? WHERE id = ? AND secret_hash <> '' AND refresh_token <> '' AND "+ownsTokens,
			timestampOf(t.now), id)
		if kept.Error != nil {
			return kept.Error
		}
		if kept.RowsAffected == 0 {
			return t.endSessions(ctx, "(id = ? OR parent = ?) AND secret_hash <> ''", id, id)
		}
		row, err := one[sessionRow](t.at(ctx).Where("id = ?", id), i18n.T("store.session_over"))
		if err != nil {
			return err
		}
		t.changed(live.Change{Topic: live.TopicSession, ID: row.ID, Person: row.Person})
		return t.endSessions(ctx, "parent = ? OR (person = ? AND id <> ? AND secret_hash = '')", id, row.Person, id)
	})
}

// ownsTokens is the condition that the person of a session has API tokens, or panels in pages of other sites.
const ownsTokens = "(EXISTS (SELECT 1 FROM tokens WHERE tokens.person = sessions.person) OR " +
	"EXISTS (SELECT 1 FROM embeds WHERE embeds.person = sessions.person))"

// AskingSession is the session of a person with which the provider can be asked for them and was asked last, whether it
// still opens anything or not. NotFound when there is none.
func (v view) AskingSession(ctx context.Context, person identity.PersonID) (identity.Session, error) {
	row, err := one[sessionRow](v.at(ctx).Where("person = ? AND refresh_token <> ''", string(person)).
		Order("groups_at DESC, id").Limit(1), i18n.T("store.session_over"))
	return toSession(row), err
}

// LimitSessions ends the sessions of a person with the portal that were not used for the longest time, beyond so many.
func (s *Store) LimitSessions(ctx context.Context, person identity.PersonID, keep int) error {
	return s.write(ctx, func(t *tx) error {
		own := t.at(ctx).Model(&sessionRow{}).Where("person = ? AND parent IS NULL", string(person))
		var over []string
		if err := own.Order("seen_at DESC, created_at DESC, id").Offset(keep).Limit(1000).
			Pluck("id", &over).Error; err != nil ||
			len(over) == 0 {
			return err
		}
		return t.endSessions(ctx, "id IN ? OR parent IN ?", over, over)
	})
}

// Impersonate notes that a session sees the portal as somebody else from now on, with the event that says so. Conflict
// when it does so already, or has ended.
func (s *Store) Impersonate(ctx context.Context, id string, person identity.PersonID, until time.Time,
	event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE sessions SET impersonates = ?, impersonation_until = ? WHERE id = ? AND "+
			"impersonates IS NULL",
			string(person), timestampOf(until), id)
		return t.impersonated(ctx, id, done, lostRace(), event)
	})
}

// EndImpersonation gives a session back to its own person, with the event that says so. Nothing is written about one
// that is its own already.
func (s *Store) EndImpersonation(ctx context.Context, id string, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE sessions SET impersonates = NULL, impersonation_until = NULL WHERE id = ? AND "+
			"impersonates IS "+
			"NOT NULL", id)
		return t.impersonated(ctx, id, done, nil, event)
	})
}

// impersonated tells open pages of the session, which were drawn for another person.
func (t *tx) impersonated(ctx context.Context, id string, done *gorm.DB, none error, event audit.Event) error {
	if done.Error != nil || done.RowsAffected == 0 {
		return cmp.Or(done.Error, none)
	}
	t.changed(live.Change{Topic: live.TopicSession, ID: id})
	return t.Append(ctx, event)
}

// CloseSession ends a session as EndSession does because the provider has ended it, with the event that says why;
// nothing is written about one that has ended. Nobody stands for the person then unless another session can still ask.
func (s *Store) CloseSession(ctx context.Context, id string, why audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		living, err := all[sessionRow](t.at(ctx).Where("id = ?", id))
		if err != nil || len(living) == 0 {
			return err
		}
		if err := t.endSessions(ctx, "id = ? OR parent = ?", id, id); err != nil {
			return err
		}
		_, err = t.endStanding(ctx, "id = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE person = people.id AND "+
			"refresh_token <> '')", living[0].Person)
		if err != nil {
			return err
		}
		return t.Append(ctx, why)
	})
}

// EndSessionsAt ends the sessions that the provider has ended, each with an event that says why, and gives how many:
// those of one of its sessions, or all of a person. A session of the person of which the provider's is not known is one
// of them. Conflict when this logout came before.
func (s *Store) EndSessionsAt(ctx context.Context, l identity.ProviderLogout,
	why func(identity.Person) audit.Event) (ended int, err error) {
	err = s.write(ctx, func(t *tx) error {
		row := logoutRow{ID: l.ID, ExpiresAt: timestampOf(l.Until)}
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		which, args := endedAt(l)
		rows, err := all[sessionRow](t.at(ctx).Where("parent IS NULL").Where(which, args...).Order("id"))
		if err != nil {
			return err
		}
		ended = len(rows)
		for _, row := range rows {
			if err := t.endSessions(ctx, "id = ? OR parent = ?", row.ID, row.ID); err != nil {
				return err
			}
			p, err := t.Person(ctx, identity.PersonID(row.Person))
			if err != nil {
				return err
			}
			if err := t.Append(ctx, why(p)); err != nil {
				return err
			}
		}
		return nil
	})
	return ended, err
}

// endedAt is the condition of EndSessionsAt. A logout names a session, a person, or both.
func endedAt(l identity.ProviderLogout) (which string, args []any) {
	switch {
	case l.Session == "":
		return "person = ?", []any{string(l.Person)}
	case l.Person == "":
		return "provider_session = ?", []any{l.Session}
	}
	return "person = ? AND provider_session IN (?, '')", []any{string(l.Person), l.Session}
}

// ClaimRenewal lets one caller ask the provider for the groups of a session, of all replicas that saw them told at the
// same time. Who claimed them and was not heard of again loses the claim to whoever finds it older than a moment.
func (s *Store) ClaimRenewal(ctx context.Context, id string, told, now, older time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE sessions SET asked_at = ? WHERE id = ? AND groups_at = ? AND (asked_at IS NULL OR "+
			"asked_at <= ?)",
			timestampOf(now), id, timestampOf(told), timestampOf(older))
		claimed = done.RowsAffected == 1
		return done.Error
	})
	return claimed && err == nil, err
}

// SaveRenewal writes what the provider answered to the one who claimed at the session's AskedAt: the session's tokens
// and when, and the person's groups. NotFound when the session has ended meanwhile or the claim was lost; then nothing
// is written.
func (s *Store) SaveRenewal(ctx context.Context, n identity.Session, groups []string) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE sessions SET refresh_token = ?, id_token = ?, groups_at = ?, asked_at = NULL WHERE "+
			"id = ? AND asked_at = ?",
			n.RefreshToken, n.IDToken, timestampOf(n.GroupsAt), n.ID, timestampOf(n.AskedAt))
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("store.session_over"))
		}
		return t.saveGroups(ctx, string(n.Person), groups, n.GroupsAt)
	})
}

// endSessions deletes sessions, each with an outbox row, so that open streams end. Codes that were issued for them go
// with them, and so does a gateway session that is being created at this moment: it refers to its parent.
func (t *tx) endSessions(ctx context.Context, which string, args ...any) error {
	rows, err := all[sessionRow](t.at(ctx).Where(which, args...).Order("id"))
	if err != nil {
		return err
	}
	for _, row := range rows {
		t.changed(live.Change{Topic: live.TopicSession, ID: row.ID, Person: row.Person})
	}
	return t.at(ctx).Where(which, args...).Delete(&sessionRow{}).Error
}
