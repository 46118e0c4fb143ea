package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
)

// undecidedKey marks a call with a session of which nobody can say now whether it holds.
const undecidedKey = "undecided"

// authenticate finds out who calls and puts the actor into the context. A call without or with a dead session goes on
// as nobody; a bad bearer token is refused at once, so that a program hears of it. While nobody can say whether a
// session holds, the call goes on as nobody too, for styles and the way out need no name; what does need one answers
// with the reason.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Path() == BackChannelPath || s.own[c.Path()] { // whoever else's cookie comes with such a call means nothing
			return next(c)
		}
		a, err := s.actor(c)
		if err == nil && s.opts.Delegators != nil {
			a.Delegators, err = s.opts.Delegators(c.Request().Context(), a.Person.ID)
		}
		switch {
		case err == nil:
			a.Address = s.Address(c.Request())
			ctx := logging.With(c.Request().Context(), logging.Actor, string(a.Person.ID))
			c.SetRequest(c.Request().WithContext(identity.WithActor(ctx, a)))
			if err := s.readOnly(a, c.Request()); err != nil {
				return err
			}
			if err := s.tooMany(a, c.Request()); err != nil {
				return err
			}
		case errors.Is(err, errNoCredential):
		case errors.As(err, new(undecidedError)) && !strings.HasPrefix(c.Request().URL.Path, "/api/"):
			c.Set(undecidedKey, errors.Unwrap(err))
		default:
			if fault.Is(err, fault.Unauthenticated) { // a token that is guessed or left behind in a script
				if busy := s.opts.Limits.Take(limit.BadToken, neighbourhood(s.Address(c.Request()))); busy != nil {
					return busy
				}
			}
			return err
		}
		return next(c)
	}
}

// tooMany counts the calls of a person, or of each token by itself. Files are in every cache.
func (s *Server) tooMany(a identity.Actor, r *http.Request) error {
	switch {
	case strings.HasPrefix(r.URL.Path, "/static/"):
		return nil
	case a.Via == identity.ViaToken:
		return s.opts.Limits.Take(limit.Call, "token "+a.Session)
	}
	return s.opts.Limits.Take(limit.Call, string(a.Person.ID))
}

func (s *Server) actor(c echo.Context) (identity.Actor, error) {
	r := c.Request()
	if a, admitted := admittedBy(r.Context()); admitted {
		return a, nil
	}
	if token := bearer(r); token != "" {
		return s.opts.Tokens.ActorByToken(r.Context(), token)
	}
	session, err := s.session(r)
	if err != nil {
		return identity.Actor{}, err
	}
	if s.opts.Renewals != nil { // before the person is read, whose groups it may change
		if session, err = s.opts.Renewals.Fresh(r.Context(), session); err != nil {
			return identity.Actor{}, undecided(err)
		}
	}
	p, err := s.opts.Store.Person(r.Context(), session.Person)
	if err != nil {
		return identity.Actor{}, nobodyIfGone(err)
	}
	if p.Disabled {
		return identity.Actor{}, errNoCredential
	}
	now := s.opts.Now()
	if now.Sub(session.SeenAt) > time.Minute {
		if err := s.opts.Store.TouchSession(r.Context(), session.ID, now); err != nil {
			s.opts.Logger.WarnContext(c.Request().Context(), "could not note that a session is in use", "error", err)
		}
	}
	a := s.opts.Actor(p, identity.ViaSession)
	a.Session = session.ID
	if err := s.renew(c, session, a); err != nil {
		return identity.Actor{}, err
	}
	if session.Impersonates != "" {
		a.Address = s.Address(r)
		return s.impersonation(r.Context(), session, a)
	}
	return a, nil
}

// renew gives a session whose person has other roles than before another cookie, so that one that somebody got hold of
// does not become more than it was (T-SESS-2).
func (s *Server) renew(c echo.Context, session identity.Session, a identity.Actor) error {
	roles := identity.RolesHash(a)
	// what caches may keep carries no cookie
	if session.Roles == roles || strings.HasPrefix(c.Request().URL.Path, "/static/") {
		return nil
	}
	now, fresh := s.opts.Now(), identity.NewCredential()
	fresh.ID = session.ID
	renewed, err := s.opts.Store.RenewSecret(c.Request().Context(), session, fresh.Hash(), roles, now)
	if renewed {
		c.SetCookie(edge.Cookie(edge.Session, fresh.String(), session.EndsAt.Sub(now)))
	}
	return err
}

// session is the one whose cookie came with a call, within its limits. It says nothing of the person. When several
// cookies came, one that opens a session counts, wherever it stands.
func (s *Server) session(r *http.Request) (identity.Session, error) {
	for _, value := range edge.Values(r, edge.Session) {
		session, err := s.sessionBy(r.Context(), value)
		if !errors.Is(err, errNoCredential) {
			return session, err
		}
	}
	return identity.Session{}, errNoCredential
}

func (s *Server) sessionBy(ctx context.Context, value string) (identity.Session, error) {
	credential, ok := identity.ParseCredential(value)
	if !ok {
		return identity.Session{}, errNoCredential
	}
	session, err := s.opts.Store.Session(ctx, credential.ID)
	if err != nil {
		return identity.Session{}, nobodyIfGone(err)
	}
	if !session.Opens(credential, s.opts.Now()) || session.Workload != "" || !s.Alive(session) {
		return identity.Session{}, errNoCredential
	}
	return session, nil
}

// undecidedError is for a session whose person nobody vouches for now.
type undecidedError struct{ cause error }

func (e undecidedError) Error() string { return e.cause.Error() }
func (e undecidedError) Unwrap() error { return e.cause }

// undecided treats a session that the provider has ended as nobody.
func undecided(err error) error {
	switch {
	case fault.Is(err, fault.Unauthenticated), fault.Is(err, fault.NotFound):
		return errNoCredential
	case fault.Is(err, fault.Unavailable):
		return undecidedError{err}
	}
	return err
}

// nobodyIfGone treats a session that does not exist as nobody, and passes trouble with the store on.
func nobodyIfGone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return errNoCredential
	}
	return err
}

// Alive reports whether a session is within its idle and absolute limits.
func (s *Server) Alive(session identity.Session) bool {
	now := s.opts.Now()
	return now.Before(session.EndsAt) && now.Sub(session.SeenAt) < s.opts.Idle
}

func (s *Server) signInPage(c echo.Context) error {
	if !identity.ActorFrom(c.Request().Context()).IsZero() {
		return c.Redirect(http.StatusSeeOther, oidc.LocalPath(c.QueryParam("return")))
	}
	reason := i18n.Text{}
	if c.QueryParam("ended") != "" {
		reason = i18n.T("store.session_over")
	}
	return s.opts.Pages.SignIn(c, oidc.LocalPath(c.QueryParam("return")), reason)
}

// signInStart sends the browser to the provider; state, nonce and verifier travel in one sealed cookie of ten minutes.
func (s *Server) signInStart(c echo.Context) error {
	if err := s.opts.Limits.Take(limit.SignIn, neighbourhood(s.Address(c.Request()))); err != nil {
		return err
	}
	return s.toProvider(c, c.FormValue("return"))
}

func (s *Server) toProvider(c echo.Context, returnTo string) error {
	target, flow, err := s.opts.Provider.Begin(c.Request().Context(), oidc.LocalPath(returnTo))
	if err != nil {
		return s.signInFailed(c, err, returnTo)
	}
	sealed, err := oidc.Seal(s.opts.Key, flow)
	if err != nil {
		return err
	}
	c.SetCookie(edge.Cookie(edge.SignIn, sealed, 10*time.Minute))
	return s.opts.Pages.Leave(c, target)
}

func (s *Server) signInCallback(c echo.Context) error {
	ctx, now := c.Request().Context(), s.opts.Now()
	if err := s.opts.Limits.Take(limit.SignIn, "back "+neighbourhood(s.Address(c.Request()))); err != nil {
		return err
	}
	flow, err := s.flow(c)
	if err != nil {
		return s.signInFailed(c, err, "/")
	}
	// Each answer makes a call of the provider's token endpoint, and a cookie can be sent again.
	if err := s.opts.Limits.Take(limit.Flow, flow.State); err != nil {
		return err
	}
	in, err := s.opts.Provider.Finish(ctx, flow, c.QueryParams())
	if errors.Is(err, oidc.ErrConsentNeeded) {
		return s.toProvider(c, flow.ReturnTo)
	}
	if err != nil {
		return s.signInFailed(c, err, flow.ReturnTo)
	}
	p := in.Person
	p.SeenAt = now
	if err := s.opts.Store.SavePerson(ctx, p); err != nil {
		return err
	}
	known, err := s.opts.Store.Person(ctx, p.ID)
	if err != nil {
		return err
	}
	if known.Disabled { // in the portal; the provider knows nothing of it
		return s.signInFailed(c, fault.New(fault.Forbidden, i18n.T("signin.disabled")), flow.ReturnTo)
	}
	credential := identity.NewCredential()
	session := identity.Session{ID: credential.ID, SecretHash: credential.Hash(), Person: p.ID, CreatedAt: now,
		SeenAt: now, EndsAt: now.Add(s.opts.Absolute), IDToken: in.IDToken, ProviderSession: in.Session,
		Address: s.Address(c.Request()), Agent: agent(c.Request())}
	if s.opts.Renewals != nil {
		if session, err = s.opts.Renewals.Begin(session, in); err != nil {
			return err
		}
	}
	a := s.opts.Actor(p, identity.ViaSession)
	session.Roles = identity.RolesHash(a)
	if err := s.opts.Store.CreateSession(ctx, session); err != nil {
		return err
	}
	s.endOld(c)
	if s.opts.MostSessions > 0 {
		if err := s.opts.Store.LimitSessions(ctx, p.ID, s.opts.MostSessions); err != nil {
			return err
		}
	}
	a.Address = s.Address(c.Request())
	if err := s.opts.Store.Append(ctx, audit.By(a, audit.SignedIn, now)); err != nil {
		return err
	}
	c.SetCookie(edge.Cookie(edge.Session, credential.String(), session.EndsAt.Sub(now)))
	return c.Redirect(http.StatusSeeOther, oidc.LocalPath(flow.ReturnTo))
}

// maxAgent bounds in bytes what is kept of a User-Agent.
const maxAgent = 300

// agent is the browser as it calls itself, in printable ASCII.
func agent(r *http.Request) string {
	text := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, r.UserAgent())
	return text[:min(len(text), maxAgent)]
}

// flow is the sign-in of this browser that the provider answers, and ends it: its cookie is good once.
func (s *Server) flow(c echo.Context) (oidc.Flow, error) {
	values := edge.Values(c.Request(), edge.SignIn)
	flow, err := oidc.Flow{}, error(fault.New(fault.Forbidden, i18n.T("signin.flow_lost")))
	if len(values) > 0 {
		c.SetCookie(edge.Cookie(edge.SignIn, "", -1))
	}
	for _, value := range values {
		flow, err = oidc.Open(s.opts.Key, value, s.opts.Now())
		if err == nil && flow.State == c.QueryParam("state") {
			return flow, nil
		}
	}
	return flow, err
}

// endOld ends the session that the browser had before, so that no session outlives a change of person.
func (s *Server) endOld(c echo.Context) {
	if old, err := s.session(c.Request()); err == nil {
		if err := s.opts.Store.EndSession(c.Request().Context(), old.ID); err != nil {
			s.opts.Logger.WarnContext(c.Request().Context(), "could not end the session before", "error", err)
		}
	}
}

// signInFailed records a refused sign-in and shows the sign-in page again with the reason.
func (s *Server) signInFailed(c echo.Context, err error, returnTo string) error {
	f := problem.Fault(err)
	audit.MarkRefusalRecorded(c.Request().Context())
	if appendErr := s.noteSignIn(c.Request().Context(), s.Address(c.Request()), f.Sentence); appendErr != nil {
		s.opts.Logger.WarnContext(c.Request().Context(), "could not record a refused sign-in", "error", appendErr)
	}
	s.opts.Logger.WarnContext(c.Request().Context(), "sign-in refused", "error", err)
	c.Response().Status = problem.Status(f.Kind)
	return s.opts.Pages.SignIn(c, oidc.LocalPath(returnTo), f.Sentence)
}

// signOut ends the session, everything that hangs on it, and the provider's own session.
func (s *Server) signOut(c echo.Context) error {
	ctx := c.Request().Context()
	back := ""
	session, err := s.session(c.Request())
	switch {
	case err == nil:
		if err := s.opts.Store.EndSession(ctx, session.ID); err != nil {
			return err
		}
		if err := s.opts.Store.Append(ctx, s.signedOut(c, session)); err != nil {
			return err
		}
		hint := session.IDToken
		if s.opts.Renewals != nil {
			hint = s.opts.Renewals.IDToken(session)
		}
		back = s.opts.Provider.LogoutURL(ctx, hint, s.opts.URL+"/signin")
	case !errors.Is(err, errNoCredential):
		return err
	}
	c.SetCookie(edge.Cookie(edge.Session, "", -1))
	if back == "" {
		return c.Redirect(http.StatusSeeOther, "/signin")
	}
	return s.opts.Pages.Leave(c, back)
}

// signedOut is also for somebody whom nobody vouches for now: they leave all the same.
func (s *Server) signedOut(c echo.Context, session identity.Session) audit.Event {
	a := identity.ActorFrom(c.Request().Context())
	if a.IsZero() {
		a.Person.ID, a.Address = session.Person, s.Address(c.Request())
	}
	return audit.By(a, audit.SignedOut, s.opts.Now())
}
