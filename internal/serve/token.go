package serve

import (
	"context"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

type admittedKey struct{}

// WithAdmitted marks a call whose caller another listener of this process has found out: that of the console. No
// browser sends such a call by itself, and it needs neither a cookie nor an Origin header.
func WithAdmitted(ctx context.Context, a identity.Actor) context.Context {
	return context.WithValue(ctx, admittedKey{}, a)
}

func admittedBy(ctx context.Context) (identity.Actor, bool) {
	a, ok := ctx.Value(admittedKey{}).(identity.Actor)
	return a, ok
}

// TokenStore is the part of the store that tokens need.
type TokenStore interface {
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	Token(ctx context.Context, id string) (identity.Token, error)
	TouchToken(ctx context.Context, id string, now time.Time) error
}

// Tokens says who bearer tokens belong to. All fields but Owner are needed.
type Tokens struct {
	Store  TokenStore
	Actor  func(identity.Person, identity.Via) identity.Actor
	Limits identity.TokenLimits
	// Owner gives somebody as the sign-in provider knows them now, or as far as can be told; nil: as told last.
	Owner func(context.Context, identity.Person) (identity.Person, error)
	Now   func() time.Time
}

// ActorByToken says who a bearer token belongs to. Every refusal is the same Unauthenticated fault, so that nothing can
// be learned from it; only who has shown the secret hears that the owner has to sign in.
func (s Tokens) ActorByToken(ctx context.Context, text string) (identity.Actor, error) {
	now, refused := s.Now(), fault.New(fault.Unauthenticated, i18n.T("problem.token"))
	t, err := s.token(ctx, text, now)
	if fault.Is(err, fault.NotFound) {
		return identity.Actor{}, refused
	}
	if err != nil {
		return identity.Actor{}, err
	}
	p, err := s.Store.Person(ctx, t.Person)
	if err == nil && !p.Disabled && s.Owner != nil {
		p, err = s.Owner(ctx, p)
	}
	switch {
	case fault.Is(err, fault.NotFound) || p.Disabled:
		return identity.Actor{}, refused
	case err != nil:
		return identity.Actor{}, err
	case !s.Limits.Standing(p, now):
		return identity.Actor{}, fault.New(fault.Unauthenticated, i18n.T("problem.token_standing"))
	}
	if now.Sub(t.LastUsedAt) > time.Minute {
		if err := s.Store.TouchToken(ctx, t.ID, now); err != nil {
			return identity.Actor{}, err
		}
	}
	a := s.Actor(p, identity.ViaToken)
	a.Session, a.Credential = t.ID, t.Name
	return a, nil
}

// token is the one whose secret was shown. NotFound for one that does not exist, has another secret or has expired.
func (s Tokens) token(ctx context.Context, text string, now time.Time) (identity.Token, error) {
	none := fault.New(fault.NotFound, i18n.T("store.no_token"))
	rest, found := strings.CutPrefix(text, identity.TokenPrefix)
	credential, ok := identity.ParseCredential(rest)
	if !found || !ok {
		return identity.Token{}, none
	}
	t, err := s.Store.Token(ctx, credential.ID)
	if err == nil && (!credential.Matches(t.SecretHash) || !now.Before(s.Limits.Ends(t))) {
		return identity.Token{}, none
	}
	return t, err
}
