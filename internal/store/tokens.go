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

type tokenRow struct {
	ID         string `gorm:"primaryKey"`
	Name       string
	SecretHash string
	Person     string
	CreatedAt  timestamp `gorm:"autoCreateTime:false"`
	ExpiresAt  timestamp
	LastUsedAt timestamp
	// AnnouncedAt is when the owner was told that it expires soon.
	AnnouncedAt timestamp
}

func (tokenRow) TableName() string { return "tokens" }

func toToken(row tokenRow) identity.Token {
	return identity.Token{
		ID: row.ID, Name: row.Name, SecretHash: row.SecretHash, Person: identity.PersonID(row.Person),
		CreatedAt: row.CreatedAt.time(),
		ExpiresAt: row.ExpiresAt.time(), LastUsedAt: row.LastUsedAt.time(),
	}
}

// CreateToken keeps a new token, with the event that says so.
func (s *Store) CreateToken(ctx context.Context, n identity.Token, event audit.Event) error {
	row := tokenRow{ID: n.ID, Name: n.Name, SecretHash: n.SecretHash, Person: string(n.Person),
		CreatedAt: timestampOf(n.CreatedAt),
		ExpiresAt: timestampOf(n.ExpiresAt), LastUsedAt: timestampOf(n.LastUsedAt)}
	return s.write(ctx, func(t *tx) error {
		if err := insert(t.at(ctx), &row); err != nil {
			return err
		}
		return t.Append(ctx, event)
	})
}

// Token gives a token by its id. Whether it has expired is for the caller to say.
func (v view) Token(ctx context.Context, id string) (identity.Token, error) {
	row, err := one[tokenRow](v.at(ctx).Where("id = ?", id), i18n.T("store.no_token"))
	return toToken(row), err
}

// TokensOf lists someone's tokens, newest first.
func (v view) TokensOf(ctx context.Context, person identity.PersonID) ([]identity.Token, error) {
	rows, err := all[tokenRow](v.at(ctx).Where("person = ?", string(person)).Order("created_at DESC, id DESC"))
	return each(rows, toToken), err
}

// TouchToken notes that a token is in use, at most once a minute.
func (s *Store) TouchToken(ctx context.Context, id string, now time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.at(ctx).Exec("UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at "+
			"<= ?)",
			timestampOf(now), id, timestampOf(now.Add(-touchEvery))).Error
	})
}

// RevokeToken ends a token permanently, with the event that says so. NotFound when it is not this person's.
func (s *Store) RevokeToken(ctx context.Context, person identity.PersonID, id string, event audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		done := t.at(ctx).Where("id = ? AND person = ?", id, string(person)).Delete(&tokenRow{})
		if unwritable(done.Error) || done.Error == nil && done.RowsAffected == 0 {
			return fault.New(fault.NotFound, i18n.T("store.no_token"))
		}
		t.changed(live.Change{Topic: live.TopicSession, ID: id, Person: string(person)})
		if done.Error != nil {
			return done.Error
		}
		return t.Append(ctx, event)
	})
}
