package serve

import (
	"context"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// TokenStore is the part of the store that tokens need.
type TokenStore interface {
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	Token(ctx context.Context, id string) (identity.Token, error)
	TouchToken(ctx context.Context, id string, now time.Time) error
}

// ActorByToken says who a bearer token belongs to. Every refusal is the same Unauthenticated fault, so that nothing can
// be learned from it.
func ActorByToken(ctx context.Context, store TokenStore, actor func(identity.Person, identity.Via) identity.Actor,
	text string, now time.Time) (identity.Actor, error) {
	refused := fault.New(fault.Unauthenticated, i18n.T("problem.token"))
	rest, found := strings.CutPrefix(text, identity.TokenPrefix)
	credential, ok := identity.ParseCredential(rest)
	if !found || !ok {
		return identity.Actor{}, refused
	}
	t, err := store.Token(ctx, credential.ID)
	if fault.Is(err, fault.NotFound) {
		return identity.Actor{}, refused
	}
	if err != nil {
		return identity.Actor{}, err
	}
	if !credential.Matches(t.SecretHash) || !now.Before(t.ExpiresAt) {
		return identity.Actor{}, refused
	}
	p, err := store.Person(ctx, t.Person)
	if fault.Is(err, fault.NotFound) || p.Disabled {
		return identity.Actor{}, refused
	}
	if err != nil {
		return identity.Actor{}, err
	}
	if now.Sub(t.LastUsedAt) > time.Minute {
		if err := store.TouchToken(ctx, t.ID, now); err != nil {
			return identity.Actor{}, err
		}
	}
	a := actor(p, identity.ViaToken)
	a.Session, a.Credential = t.ID, t.Name
	return a, nil
}
