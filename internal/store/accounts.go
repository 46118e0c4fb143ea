package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

// SessionsOf lists someone's sign-ins that end after a time, newest first; sessions of the gateway are not among them.
func (v view) SessionsOf(ctx context.Context, person identity.PersonID, after time.Time) ([]identity.Session, error) {
	rows, err := all[sessionRow](v.at(ctx).Where("person = ? AND parent IS NULL AND ends_at > ?", string(person),
		timestampOf(after)).Order("created_at DESC, id DESC"))
	return each(rows, toSession), err
}

// EndSessionOf ends a sign-in of a person and what hangs on it, with the event that says so. NotFound when it is not
// this person's or has ended.
func (s *Store) EndSessionOf(ctx context.Context, person identity.PersonID, id string, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		rows, err := all[sessionRow](t.at(ctx).Select("id").Where("id = ? AND person = ? AND parent IS NULL", id,
			string(person)))
		if unwritable(err) || err == nil && len(rows) == 0 {
			return fault.New(fault.NotFound, i18n.T("store.session_over"))
		}
		if err != nil {
			return err
		}
		if err := t.endSessions(ctx, "id = ? OR parent = ?", id, id); err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// EndSessionsOf ends the sessions of a person but one and what hangs on it ("" for all), with the event that says so.
// Nothing is written where there is none.
func (s *Store) EndSessionsOf(ctx context.Context, person identity.PersonID, but string, event audit.Event) error {
	const which = "person = ? AND id <> ? AND (parent IS NULL OR parent <> ?)"
	return s.write(ctx, func(t *tx) error {
		rows, err := all[sessionRow](t.at(ctx).Select("id").Where(which, string(person), but, but).Limit(1))
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := t.endSessions(ctx, which, string(person), but, but); err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// RevokeTokensOf ends all tokens of a person permanently, with the event that says so. Nothing is written where there
// is none.
func (s *Store) RevokeTokensOf(ctx context.Context, person identity.PersonID, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Where("person = ?", string(person)).Delete(&tokenRow{})
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		t.changed(live.Change{Topic: live.TopicSession, Person: string(person)})
		return t.Append(ctx, event)
	})
}

// ExpiringTokens lists tokens that expire before a time, or were made before another one, and whose owner was not told
// yet. What has expired is not among them.
func (v view) ExpiringTokens(ctx context.Context, now, expires, created time.Time) ([]identity.Token, error) {
	rows, err := all[tokenRow](v.at(ctx).Where("announced_at IS NULL AND expires_at > ? AND (expires_at <= ? OR "+
		"created_at <= ?)", timestampOf(now), timestampOf(expires), timestampOf(created)).Order("created_at, id"))
	return each(rows, toToken), err
}

// AnnounceToken writes that the owner of a token is told that it expires, with the event that says so, once of all
// replicas that do so at the same time.
func (s *Store) AnnounceToken(ctx context.Context, id string, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Exec("UPDATE tokens SET announced_at = ? WHERE id = ? AND announced_at IS NULL",
			timestampOf(event.At), id)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		return t.Append(ctx, event)
	})
}
