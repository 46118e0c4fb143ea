package accounts

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Sessions lists the sign-ins of a person that still let them in, newest first.
func (s *Service) Sessions(ctx context.Context, a identity.Actor, id identity.PersonID) ([]identity.Session, error) {
	p, err := s.of(ctx, a, id, identity.ReadAccount)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	list, err := s.Store.SessionsOf(ctx, p.ID, now)
	return slices.DeleteFunc(list, func(n identity.Session) bool { return now.Sub(n.SeenAt) >= s.Idle }), err
}

// Current reports whether a session is the one that the actor uses now.
func Current(a identity.Actor, n identity.Session) bool {
	return a.Via == identity.ViaSession && a.Session == n.ID
}

// EndSession ends one sign-in.
func (s *Service) EndSession(ctx context.Context, a identity.Actor, id identity.PersonID, session string) error {
	p, err := s.of(ctx, a, id, identity.ManageTokens)
	if err != nil {
		return err
	}
	return s.Store.EndSessionOf(ctx, p.ID, session, s.about(a, audit.SessionsEnded, p))
}

// EndSessions ends all sign-ins of a person; others: but the one that the actor uses now.
func (s *Service) EndSessions(ctx context.Context, a identity.Actor, id identity.PersonID, others bool) error {
	p, err := s.of(ctx, a, id, identity.ManageTokens)
	if err != nil {
		return err
	}
	but := ""
	if others && a.Via == identity.ViaSession {
		but = a.Session
	}
	return s.Store.EndSessionsOf(ctx, p.ID, but, s.about(a, audit.SessionsEnded, p))
}

// Tokens lists the API tokens of a person, newest first, each with the end that counts.
func (s *Service) Tokens(ctx context.Context, a identity.Actor, id identity.PersonID) ([]identity.Token, error) {
	p, err := s.of(ctx, a, id, identity.ReadAccount)
	if err != nil {
		return nil, err
	}
	tokens, err := s.Store.TokensOf(ctx, p.ID)
	for i := range tokens {
		tokens[i].ExpiresAt = s.Limits.Ends(tokens[i])
	}
	return tokens, err
}

// RevokeToken ends a token permanently.
func (s *Service) RevokeToken(ctx context.Context, a identity.Actor, id identity.PersonID, token string) error {
	p, err := s.of(ctx, a, id, identity.ManageTokens)
	if err != nil {
		return err
	}
	token = strings.TrimPrefix(token, identity.TokenPrefix)
	e := s.about(a, audit.TokenRevoked, p)
	e.Detail = i18n.T("accounts.audit_token", "Token", identity.TokenPrefix+token, "Name", p.Name)
	return s.Store.RevokeToken(ctx, p.ID, token, e)
}

// RevokeTokens ends all tokens of a person permanently.
func (s *Service) RevokeTokens(ctx context.Context, a identity.Actor, id identity.PersonID) error {
	p, err := s.of(ctx, a, id, identity.ManageTokens)
	if err != nil {
		return err
	}
	e := s.about(a, audit.TokenRevoked, p)
	e.Detail = i18n.T("accounts.audit_tokens", "Name", p.Name)
	return s.Store.RevokeTokensOf(ctx, p.ID, e)
}

// Bounds of what somebody can make.
const (
	MaxTokens    = 20
	MaxTokenName = 60 // characters
)

// TokenDraft is a token as somebody wants it.
type TokenDraft struct {
	Name string
	Life time.Duration
}

// CreateToken makes a token for the actor and gives what is shown once. A token makes no token: whoever got hold of one
// could keep it alive forever.
func (s *Service) CreateToken(ctx context.Context, a identity.Actor, d TokenDraft) (string, error) {
	p, err := s.of(ctx, a, Me, identity.ManageTokens)
	if err != nil {
		return "", err
	}
	tokens, err := s.Store.TokensOf(ctx, p.ID)
	if err != nil {
		return "", err
	}
	d.Name = strings.TrimSpace(d.Name)
	problems := s.check(d, len(tokens))
	if a.Via == identity.ViaToken {
		problems = append(problems, fault.Field{Name: "name", Reason: i18n.T("account.no_token_by_token")})
	}
	if len(problems) > 0 {
		return "", fault.InvalidFields(problems)
	}
	now, credential := s.Now(), identity.NewCredential()
	e := audit.By(a, audit.TokenCreated, now)
	e.Detail = i18n.Literal(d.Name)
	return identity.TokenPrefix + credential.String(), s.Store.CreateToken(ctx, identity.Token{ID: credential.ID,
		Name: d.Name, SecretHash: credential.Hash(), Person: p.ID, CreatedAt: now, ExpiresAt: now.Add(d.Life)}, e)
}

func (s *Service) check(d TokenDraft, have int) []fault.Field {
	var problems []fault.Field
	add := func(field string, reason i18n.Text) {
		problems = append(problems, fault.Field{Name: field, Reason: reason})
	}
	switch {
	case d.Name == "":
		add("name", i18n.T("account.name_missing"))
	case !utf8.ValidString(d.Name) || utf8.RuneCountInString(d.Name) > MaxTokenName:
		add("name", i18n.T("account.name_too_long", "Most", MaxTokenName))
	}
	if have >= MaxTokens {
		add("name", i18n.T("account.too_many", "Most", MaxTokens))
	}
	if d.Life <= 0 || d.Life > s.Limits.Lifetime {
		add("lasts", i18n.T("account.lasts_wrong", "Days", int(s.Limits.Lifetime/(24*time.Hour))))
	}
	return problems
}
