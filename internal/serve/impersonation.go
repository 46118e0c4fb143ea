package serve

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

const (
	// impersonationLife is how long an administrator sees the portal as somebody else at most.
	impersonationLife    = 30 * time.Minute
	impersonationEndPath = "/impersonation/end"
)

// impersonation is the actor of a session of an administrator who looks through somebody else's eyes. It ends by itself
// when its time is over, or when one of the two has become somebody with whom it could not begin.
func (s *Server) impersonation(ctx context.Context, session identity.Session,
	own identity.Actor) (identity.Actor, error) {
	p, err := s.opts.Store.Person(ctx, session.Impersonates)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return identity.Actor{}, err
	}
	seen := s.opts.Actor(p, identity.ViaSession)
	if now := s.opts.Now(); err != nil || !now.Before(session.ImpersonationUntil) || !mayImpersonate(own, seen) {
		return own, s.opts.Store.EndImpersonation(ctx, session.ID, impersonationEvent(own, audit.ImpersonationEnded, p, now))
	}
	seen.Session, seen.Impersonator, seen.ImpersonationUntil = own.Session, &own.Person, session.ImpersonationUntil
	return seen, nil
}

// mayImpersonate: an administrator as somebody who is none. Two who are would be a way around that nobody decides their
// own requests.
func mayImpersonate(own, seen identity.Actor) bool {
	return identity.Can(own, identity.Impersonate, identity.Resource{}) && !seen.Person.Disabled &&
		!seen.Is(identity.Admin) &&
		seen.Person.ID != own.Person.ID
}

func impersonationEvent(own identity.Actor, kind audit.Kind, seen identity.Person, at time.Time) audit.Event {
	e := audit.By(own, kind, at)
	e.Behalf, e.BehalfName, e.Detail = seen.ID, seen.Name, i18n.T("serve.impersonates", "Name", seen.Name, "Email",
		seen.Email)
	return e
}

// readOnly refuses whatever could change something to those who look through somebody else's eyes, and notes that it
// was tried; ending that, or the session, they may.
func (s *Server) readOnly(a identity.Actor, r *http.Request) error {
	if a.Impersonator == nil || !changes(r.Method) || r.URL.Path == impersonationEndPath || r.URL.Path == "/signout" {
		return nil
	}
	e := audit.By(a, audit.ImpersonationRefused, s.opts.Now())
	e.Detail = i18n.T("serve.impersonation_tried", "Call", r.Method+" "+clipped(r.URL.Path))
	audit.MarkRefusalRecorded(r.Context())
	if err := s.opts.Store.Append(r.Context(), e); err != nil {
		return err
	}
	return fault.New(fault.Forbidden, i18n.T("serve.impersonation_read_only", "Name", a.Person.Name))
}

// clipped keeps what somebody put into an address from filling the record.
func clipped(path string) string {
	const most = 200
	if len(path) > most {
		path = path[:most]
	}
	return strings.ToValidUTF8(path, "")
}

// impersonate begins to show the portal as a person has it.
func (s *Server) impersonate(c echo.Context) error {
	ctx, a := c.Request().Context(), identity.ActorFrom(c.Request().Context())
	switch {
	case !identity.Can(a, identity.ReadPeople, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, identity.Impersonate, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("tenant.admins_only"))
	case a.Via != identity.ViaSession:
		return fault.New(fault.Forbidden, i18n.T("problem.browser_only"))
	}
	p, err := s.opts.Store.Person(ctx, identity.PersonID(c.Param("id")))
	if err != nil {
		return err
	}
	if !mayImpersonate(a, s.opts.Actor(p, identity.ViaSession)) {
		return fault.New(fault.Forbidden, i18n.T("serve.impersonation_not_them"))
	}
	now := s.opts.Now()
	if err := s.opts.Store.Impersonate(ctx, a.Session, p.ID, now.Add(impersonationLife),
		impersonationEvent(a, audit.ImpersonationBegun, p,
			now)); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}

// endImpersonation gives the administrator their own eyes back.
func (s *Server) endImpersonation(c echo.Context) error {
	a := identity.ActorFrom(c.Request().Context())
	if a.Impersonator != nil {
		if err := s.opts.Store.EndImpersonation(c.Request().Context(), a.Session,
			audit.By(a, audit.ImpersonationEnded, s.opts.Now())); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, "/")
}
