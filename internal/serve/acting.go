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
	// actingFor is how long an administrator sees the portal as somebody else at most.
	actingFor = 30 * time.Minute
	actingEnd = "/acting/end"
)

// acting is the actor of a session of an administrator who looks through somebody else's eyes. It ends by itself when
// its time is over, or when one of the two has become somebody with whom it could not begin.
func (s *Server) acting(ctx context.Context, session identity.Session, own identity.Actor) (identity.Actor, error) {
	p, err := s.opts.Store.Person(ctx, session.ActingAs)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return identity.Actor{}, err
	}
	seen := s.opts.Actor(p, identity.ViaSession)
	if now := s.opts.Now(); err != nil || !now.Before(session.ActingUntil) || !mayActAs(own, seen) {
		return own, s.opts.Store.EndActing(ctx, session.ID, actingEvent(own, audit.ActingEnded, p, now))
	}
	seen.Session, seen.Behind, seen.BehindUntil = own.Session, &own.Person, session.ActingUntil
	return seen, nil
}

// mayActAs: an administrator as somebody who is none. Two who are would be a way around that nobody decides their own
// requests.
func mayActAs(own, seen identity.Actor) bool {
	return identity.Can(own, identity.ActAs, identity.Thing{}) && !seen.Person.Disabled && !seen.Is(identity.Admin) &&
		seen.Person.ID != own.Person.ID
}

func actingEvent(own identity.Actor, kind audit.Kind, seen identity.Person, at time.Time) audit.Event {
	e := audit.By(own, kind, at)
	e.Behalf, e.BehalfName, e.Detail = seen.ID, seen.Name, i18n.T("serve.acting_as", "Name", seen.Name, "Email",
		seen.Email)
	return e
}

// readOnly refuses whatever could change something to those who look through somebody else's eyes, and notes that it
// was tried; ending that, or the session, they may.
func (s *Server) readOnly(a identity.Actor, r *http.Request) error {
	if a.Behind == nil || !changes(r.Method) || r.URL.Path == actingEnd || r.URL.Path == "/signout" {
		return nil
	}
	e := audit.By(a, audit.ActingRefused, s.opts.Now())
	e.Detail = i18n.T("serve.acting_tried", "Call", r.Method+" "+clipped(r.URL.Path))
	audit.Tell(r.Context())
	if err := s.opts.Store.Append(r.Context(), e); err != nil {
		return err
	}
	return fault.New(fault.Forbidden, i18n.T("serve.acting_read_only", "Name", a.Person.Name))
}

// clipped keeps what somebody put into an address from filling the record.
func clipped(path string) string {
	const most = 200
	if len(path) > most {
		path = path[:most]
	}
	return strings.ToValidUTF8(path, "")
}

// actAs begins to show the portal as a person has it.
func (s *Server) actAs(c echo.Context) error {
	ctx, a := c.Request().Context(), identity.ActorFrom(c.Request().Context())
	switch {
	case !identity.Can(a, identity.ReadPeople, identity.Thing{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, identity.ActAs, identity.Thing{}):
		return fault.New(fault.Forbidden, i18n.T("tenant.admins_only"))
	case a.Via != identity.ViaSession:
		return fault.New(fault.Forbidden, i18n.T("problem.browser_only"))
	}
	p, err := s.opts.Store.Person(ctx, identity.PersonID(c.Param("id")))
	if err != nil {
		return err
	}
	if !mayActAs(a, s.opts.Actor(p, identity.ViaSession)) {
		return fault.New(fault.Forbidden, i18n.T("serve.acting_not_them"))
	}
	now := s.opts.Now()
	if err := s.opts.Store.ActAs(ctx, a.Session, p.ID, now.Add(actingFor), actingEvent(a, audit.ActingBegun, p,
		now)); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}

// endActing gives the administrator their own eyes back.
func (s *Server) endActing(c echo.Context) error {
	a := identity.ActorFrom(c.Request().Context())
	if a.Behind != nil {
		if err := s.opts.Store.EndActing(c.Request().Context(), a.Session,
			audit.By(a, audit.ActingEnded, s.opts.Now())); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, "/")
}
