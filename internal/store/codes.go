package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// codeRow is a one-time code with which a portal session opens a session at the gateway, which lives on another site.
type codeRow struct {
	Hash      string `gorm:"primaryKey"`
	Session   string
	Workload  string
	ExpiresAt timestamp
}

func (codeRow) TableName() string { return "codes" }

// SaveCode keeps the hash of a one-time code, for which session and workload it is good, and until when. It ends with
// the session.
func (s *Store) SaveCode(ctx context.Context, hash, session, workload string, expires time.Time) error {
	row := codeRow{Hash: hash, Session: session, Workload: workload, ExpiresAt: timestampOf(expires)}
	err := s.write(ctx, func(t *tx) error { return insert(t.at(ctx), &row) })
	if dangling(err) {
		return fault.Wrap(fault.Unauthenticated, err, i18n.T("store.session_over"))
	}
	return err
}

// TakeCode gives what a code is good for, once: of two that take it at the same time, one finds nothing. NotFound for a
// code that was used, has expired, or never was. An expired one is used up by asking.
func (s *Store) TakeCode(ctx context.Context, hash string, now time.Time) (session, workload string, err error) {
	var taken []codeRow
	err = s.write(ctx, func(t *tx) error {
		taken = nil
		return t.at(ctx).Raw("DELETE FROM codes WHERE hash = ? RETURNING hash, session, workload, expires_at",
			hash).Scan(&taken).Error
	})
	switch {
	case err != nil && !fault.Is(err, fault.Invalid):
		return "", "", err
	case len(taken) == 0 || !now.Before(taken[0].ExpiresAt.time()):
		return "", "", fault.New(fault.NotFound, i18n.T("store.code_used"))
	}
	return taken[0].Session, taken[0].Workload, nil
}
