package renewal

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
)

// Store keeps sessions and people; see internal/store. Faults: NotFound for what has ended.
type Store interface {
	Session(ctx context.Context, id string) (identity.Session, error)
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	ClaimRenewal(ctx context.Context, id string, told, now, older time.Time) (bool, error)
	AskingSession(ctx context.Context, person identity.PersonID) (identity.Session, error)
	SaveRenewal(ctx context.Context, s identity.Session, groups []string) error
	CloseSession(ctx context.Context, id string, why audit.Event) error
	RefusePerson(ctx context.Context, id identity.PersonID, why audit.Event) error
}

// Provider is asked for the groups; see oidc.Client.
type Provider interface {
	Renew(ctx context.Context, subject, refreshToken string) (oidc.Renewed, error)
}

// Service asks on behalf of sessions in use. It is safe for use by many goroutines; all fields but Patience are needed.
type Service struct {
	Store    Store
	Provider Provider
	Limits   Limits
	Key      []byte // for refresh tokens, 32 bytes, the same in every replica
	Now      func() time.Time
	Logger   *slog.Logger
	// Patience is how long a call waits for the provider while the groups as known still count; then it goes on with them.
	// Default 2 s.
	Patience time.Duration

	asking singleflight.Group
}

const (
	patience   = 2 * time.Second
	mostAsking = 25 * time.Second // below retry, so that of two askers the first has given up
	mostSaving = 10 * time.Second // for writing down what cannot be asked again
)

// Begin makes a fresh session one that can be renewed, or one that ends with the provider's token.
func (s *Service) Begin(n identity.Session, in oidc.SignedIn) (identity.Session, error) {
	var err error
	n.GroupsAt = s.Now()
	if n.RefreshToken, err = oidc.SealToken(s.Key, n.ID, in.RefreshToken); err != nil {
		return n, err
	}
	if n.IDToken, err = oidc.SealToken(s.Key, hintOf(n), in.IDToken); err != nil {
		return n, err
	}
	n.EndsAt = s.Limits.ends(n, in.ExpiresAt)
	return n, nil
}

// hintOf binds the sealed ID token of a session to its place, apart from the refresh token.
func hintOf(n identity.Session) string { return n.ID + " id_token" }

// IDToken is the one that the provider gave for a session, to sign out there; "" where it cannot be opened, as after a
// change of the key: the provider then asks whom to sign out.
func (s *Service) IDToken(n identity.Session) string {
	if n.IDToken == "" {
		return ""
	}
	token, err := oidc.OpenToken(s.Key, hintOf(n), n.IDToken)
	if err != nil {
		s.Logger.Warn("the ID token of a session cannot be opened", "person", string(n.Person), "error", err)
		return ""
	}
	return token
}

// Fresh gives the session with groups that count; the person's row has them. Unauthenticated when the provider has
// ended it, Unavailable when it does not answer and the groups are too old. The provider is asked for as long as that
// takes even if the caller leaves: an answer that nobody writes down could not be had again.
func (s *Service) Fresh(ctx context.Context, session identity.Session) (identity.Session, error) {
	age := s.Limits.Look(session, s.Now())
	if age == Current {
		return session, nil
	}
	answer := s.asking.DoChan(session.ID, func() (any, error) { return s.ask(context.WithoutCancel(ctx), session) })
	wait := ctx
	if age == Due {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, s.patience())
		defer cancel()
	}
	select {
	case <-wait.Done():
		return session, ctx.Err()
	case a := <-answer:
		switch {
		case a.Err == nil:
			return a.Val.(identity.Session), nil
		case age == Due && fault.Is(a.Err, fault.Unavailable):
			return session, nil
		}
		return session, a.Err
	}
}

// Owner gives the owner of an API token as the provider knows them now, whether a session of theirs is open or not: any
// that has a refresh token will do. When none has, or the provider does not answer, the owner is who was told of last;
// how long that counts is for the caller to say. When the provider has ended what could be asked with, the store has
// taken note of it in the person's row.
func (s *Service) Owner(ctx context.Context, p identity.Person) (identity.Person, error) {
	now := s.Now()
	if p.ConfirmedAt.IsZero() || now.Sub(p.ConfirmedAt) < s.Limits.Refresh {
		return p, nil
	}
	session, err := s.Store.AskingSession(ctx, p.ID)
	if fault.Is(err, fault.NotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	session.EndsAt = now.Add(mostAsking) // it is asked with, though it may open nothing any more
	_, err = s.Fresh(ctx, session)
	switch {
	case fault.Is(err, fault.Unavailable):
		return p, nil
	case err != nil && !fault.Is(err, fault.Unauthenticated):
		return p, err
	}
	return s.Store.Person(ctx, p.ID)
}

func (s *Service) patience() time.Duration {
	if s.Patience > 0 {
		return s.Patience
	}
	return patience
}

// ask claims the session and asks the provider, unless somebody else does.
func (s *Service) ask(ctx context.Context, seen identity.Session) (identity.Session, error) {
	now := s.Now()
	if !asked(seen, now) {
		claimed, err := s.Store.ClaimRenewal(ctx, seen.ID, seen.GroupsAt, now, now.Add(-retry))
		if err != nil {
			return seen, err
		}
		if claimed {
			seen.AskedAt = now
			return s.renew(ctx, seen)
		}
	}
	current, err := s.Store.Session(ctx, seen.ID)
	switch {
	case fault.Is(err, fault.NotFound):
		return seen, over(i18n.T("store.session_over"), err)
	case err == nil && s.Limits.Look(current, now) == Stale:
		return seen, tooOld(errors.New("somebody else asks, or asked in vain"))
	}
	return current, err
}

// renew asks the provider and writes down what comes of it.
func (s *Service) renew(ctx context.Context, session identity.Session) (identity.Session, error) {
	p, err := s.Store.Person(ctx, session.Person)
	if err != nil {
		return session, err
	}
	renewed, err := s.call(ctx, session, p.Subject)
	saving, cancel := context.WithTimeout(ctx, mostSaving)
	defer cancel()
	switch {
	case err == nil:
		return s.keep(saving, session, renewed)
	case errors.Is(err, oidc.ErrDisabled):
		return session, s.end(p, err, func(e audit.Event) error { return s.Store.RefusePerson(saving, p.ID, e) })
	case fault.Is(err, fault.Forbidden):
		return session, s.end(p, err, func(e audit.Event) error { return s.Store.CloseSession(saving, session.ID, e) })
	}
	s.Logger.WarnContext(ctx, "the groups could not be read again", "person", string(p.ID), "error", err)
	return session, tooOld(err)
}

// call opens the refresh token, which fails when the portal has another key than it had, and trades it.
func (s *Service) call(ctx context.Context, session identity.Session, subject string) (oidc.Renewed, error) {
	token, err := oidc.OpenToken(s.Key, session.ID, session.RefreshToken)
	if err != nil {
		return oidc.Renewed{}, fault.Wrap(fault.Forbidden, err, i18n.T("store.session_over"))
	}
	asking, cancel := context.WithTimeout(ctx, mostAsking)
	defer cancel()
	return s.Provider.Renew(asking, subject, token)
}

func (s *Service) keep(ctx context.Context, session identity.Session, renewed oidc.Renewed) (identity.Session, error) {
	next := session
	var err error
	if next.RefreshToken, err = oidc.SealToken(s.Key, session.ID, renewed.RefreshToken); err != nil {
		return session, err
	}
	if renewed.IDToken != "" {
		if next.IDToken, err = oidc.SealToken(s.Key, hintOf(session), renewed.IDToken); err != nil {
			return session, err
		}
	}
	next.GroupsAt = s.Now()
	err = s.Store.SaveRenewal(ctx, next, renewed.Groups)
	if fault.Is(err, fault.NotFound) {
		return session, over(i18n.T("store.session_over"), err)
	}
	next.AskedAt = time.Time{}
	return next, err
}

// end writes down that and why a session has ended, and says so.
func (s *Service) end(p identity.Person, why error, write func(audit.Event) error) error {
	sentence := fault.As(why).Sentence
	s.Logger.Info("the provider has ended a session", "person", string(p.ID), "error", why)
	if err := write(audit.Event{Kind: audit.SessionClosed, At: s.Now(), Actor: p.ID, ActorName: p.Name,
		Detail: sentence}); err != nil {
		return err
	}
	return over(sentence, why)
}

func over(sentence i18n.Text, cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, sentence)
}

// tooOld is for groups that nobody vouches for any more.
func tooOld(cause error) error {
	f := fault.Wrap(fault.Unavailable, cause, i18n.T("oidc.groups_old"))
	f.RetryAfter = retry
	return f
}
