package serve

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
)

// Names of the cookies. __Host- binds them to this host, path / and a secure channel (browsers count localhost as one).
const (
	sessionCookie = "__Host-gpu-portal"
	flowCookie    = "__Host-gpu-portal-signin"
)

// authenticate finds out who calls and puts the actor into the context. A call without or with a dead session goes on as nobody; a bad bearer
// token is refused at once, so that a program hears of it.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		a, err := s.actor(c.Request())
		switch {
		case err == nil:
			a.Address = s.Address(c.Request())
			c.SetRequest(c.Request().WithContext(identity.WithActor(c.Request().Context(), a)))
		case errors.Is(err, errNoCredential):
		default:
			return err
		}
		return next(c)
	}
}

func (s *Server) actor(r *http.Request) (identity.Actor, error) {
	if token := bearer(r); token != "" {
		return s.actorByToken(r, token)
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return identity.Actor{}, errNoCredential
	}
	credential, ok := identity.ParseCredential(cookie.Value)
	if !ok {
		return identity.Actor{}, errNoCredential
	}
	session, err := s.opts.Store.Session(r.Context(), credential.ID)
	if err != nil {
		return identity.Actor{}, nobodyIfGone(err)
	}
	if !credential.Matches(session.SecretHash) || session.Workload != "" || !s.Alive(session) {
		return identity.Actor{}, errNoCredential
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
			s.opts.Logger.Warn("could not note that a session is in use", "error", err)
		}
	}
	a := s.opts.Actor(p, identity.ViaSession)
	a.Session = session.ID
	return a, nil
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

func (s *Server) actorByToken(r *http.Request, text string) (identity.Actor, error) {
	a, err := ActorByToken(r.Context(), s.opts.Store, s.opts.Actor, text, s.opts.Now())
	if err != nil {
		return a, err
	}
	return a, nil
}

func (s *Server) signInPage(c echo.Context) error {
	if !identity.ActorFrom(c.Request().Context()).IsZero() {
		return c.Redirect(http.StatusSeeOther, oidc.LocalPath(c.QueryParam("return")))
	}
	return s.opts.Pages.SignIn(c, oidc.LocalPath(c.QueryParam("return")), i18n.Text{})
}

// signInStart sends the browser to the provider; state, nonce and verifier travel in one sealed cookie of ten minutes.
func (s *Server) signInStart(c echo.Context) error {
	target, flow, err := s.opts.Provider.Begin(c.Request().Context(), oidc.LocalPath(c.FormValue("return")))
	if err != nil {
		return s.signInFailed(c, err, c.FormValue("return"))
	}
	sealed, err := oidc.Seal(s.opts.Key, flow)
	if err != nil {
		return err
	}
	c.SetCookie(hostCookie(flowCookie, sealed, 10*time.Minute))
	return s.opts.Pages.Leave(c, target)
}

func (s *Server) signInCallback(c echo.Context) error {
	ctx, now := c.Request().Context(), s.opts.Now()
	cookie, err := c.Cookie(flowCookie)
	if err != nil {
		return s.signInFailed(c, fault.New(fault.Forbidden, i18n.T("signin.flow_lost")), "/")
	}
	c.SetCookie(hostCookie(flowCookie, "", -1))
	flow, err := oidc.Open(s.opts.Key, cookie.Value, now)
	if err != nil {
		return s.signInFailed(c, err, "/")
	}
	p, idToken, err := s.opts.Provider.Finish(ctx, flow, c.QueryParams())
	if err != nil {
		return s.signInFailed(c, err, flow.ReturnTo)
	}
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
	session := identity.Session{ID: credential.ID, SecretHash: credential.Hash(), Person: p.ID, CreatedAt: now, SeenAt: now,
		EndsAt: now.Add(s.opts.Absolute), IDToken: idToken}
	if err := s.opts.Store.CreateSession(ctx, session); err != nil {
		return err
	}
	s.endOld(c)
	a := s.opts.Actor(p, identity.ViaSession)
	a.Address = s.Address(c.Request())
	if err := s.opts.Store.Append(ctx, audit.By(a, audit.SignedIn, now)); err != nil {
		return err
	}
	c.SetCookie(hostCookie(sessionCookie, credential.String(), s.opts.Absolute))
	return c.Redirect(http.StatusSeeOther, oidc.LocalPath(flow.ReturnTo))
}

// endOld ends the session that the browser had before, so that no session outlives a change of person.
func (s *Server) endOld(c echo.Context) {
	if old := identity.ActorFrom(c.Request().Context()); old.Session != "" {
		if err := s.opts.Store.EndSession(c.Request().Context(), old.Session); err != nil {
			s.opts.Logger.Warn("could not end the session before", "error", err)
		}
	}
}

// signInFailed records a refused sign-in and shows the sign-in page again with the reason.
func (s *Server) signInFailed(c echo.Context, err error, returnTo string) error {
	f := problem.Fault(err)
	e := audit.Event{Kind: audit.SignInRefused, At: s.opts.Now(), Address: s.Address(c.Request()), Detail: f.Sentence}
	if appendErr := s.opts.Store.Append(c.Request().Context(), e); appendErr != nil {
		s.opts.Logger.Warn("could not record a refused sign-in", "error", appendErr)
	}
	s.opts.Logger.Warn("sign-in refused", "request", RequestID(c), "error", err)
	c.Response().Status = problem.Status(f.Kind)
	return s.opts.Pages.SignIn(c, oidc.LocalPath(returnTo), f.Sentence)
}

// signOut ends the session, everything that hangs on it, and the provider's own session.
func (s *Server) signOut(c echo.Context) error {
	ctx := c.Request().Context()
	a := identity.ActorFrom(ctx)
	back := ""
	if a.Session != "" && a.Via == identity.ViaSession {
		session, err := s.opts.Store.Session(ctx, a.Session)
		if err != nil {
			return err
		}
		if err := s.opts.Store.EndSession(ctx, a.Session); err != nil {
			return err
		}
		if err := s.opts.Store.Append(ctx, audit.By(a, audit.SignedOut, s.opts.Now())); err != nil {
			return err
		}
		back = s.opts.Provider.LogoutURL(ctx, session.IDToken, s.opts.URL+"/signin")
	}
	c.SetCookie(hostCookie(sessionCookie, "", -1))
	if back == "" {
		return c.Redirect(http.StatusSeeOther, "/signin")
	}
	return s.opts.Pages.Leave(c, back)
}

func hostCookie(name, value string, life time.Duration) *http.Cookie {
	cookie := &http.Cookie{Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if life < 0 {
		cookie.MaxAge = -1
	} else {
		cookie.MaxAge = int(life / time.Second)
	}
	return cookie
}
