package accounts

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Announcing is the part of the store that announcements need.
type Announcing interface {
	// ExpiringTokens lists tokens that expire before a time, or were made before another one, of which nobody was told
	// yet.
	ExpiringTokens(ctx context.Context, now, expires, created time.Time) ([]identity.Token, error)
	// AnnounceToken writes the event once for each token.
	AnnounceToken(ctx context.Context, id string, event audit.Event) error
}

// AnnounceExpiring records, once for each token, that it expires within the notice, for its owner to hear of. A token
// that was made for no longer than the notice is not announced: who made it knows.
func AnnounceExpiring(ctx context.Context, st Announcing, limits identity.TokenLimits, notice time.Duration,
	now time.Time) error {
	tokens, err := st.ExpiringTokens(ctx, now, now.Add(notice), now.Add(notice-limits.Lifetime))
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if ends := limits.Ends(t); now.Before(ends) && ends.Sub(t.CreatedAt) > notice {
			if err := st.AnnounceToken(ctx, t.ID, expiring(t, ends, now)); err != nil {
				return err
			}
		}
	}
	return nil
}

func expiring(t identity.Token, ends, now time.Time) audit.Event {
	e := audit.By(identity.System(), audit.TokenExpiring, now)
	e.Detail = i18n.T("accounts.audit_expiring", "Name", t.Name, "At", ends.UTC().Format(time.RFC3339))
	e.Changes = audit.Changed(audit.TokenHolder, "", t.Person)
	return e
}
