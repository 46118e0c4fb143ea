package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// neighbourhood is an IPv4 address, or the /64 of an IPv6 one, which is one customer's.
func neighbourhood(address string) string {
	ip := net.ParseIP(address)
	if ip == nil || ip.To4() != nil {
		return address
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}

// noteSignIn records a sign-in that was refused.
func (s *Server) noteSignIn(ctx context.Context, address string, why i18n.Text) error {
	return s.refusals.Note(ctx, "address "+neighbourhood(address), "sign-in", audit.Event{Kind: audit.SignInRefused,
		At: s.opts.Now(), Address: address, Detail: why})
}

// noteAccess records that somebody was not let to what they asked for (ASVS 16.3.2): no or no valid credential where
// one was sent, a right that they lack, an object that is not theirs or does not exist. Which of the two it is the
// record does not know either. An address that leads nowhere is no attempt at anything, and what the answer's own event
// tells is not told twice.
func (s *Server) noteAccess(c echo.Context, calls *calls) {
	r, status := c.Request(), c.Response().Status
	a := identity.ActorFrom(r.Context())
	switch {
	case status == http.StatusUnauthorized && bearer(r) == "",
		status == http.StatusNotFound && (a.IsZero() || !strings.ContainsAny(calls.routeOf(c), ":{")):
		return
	case status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusNotFound,
		audit.RefusalRecorded(r.Context()):
		return
	}
	e := audit.By(a, audit.AccessRefused, s.opts.Now())
	e.Address = s.Address(r)
	e.Detail = i18n.T("serve.refused_call", "Call", methodOf(r.Method)+" "+calls.routeOf(c), "Status", status)
	group := "address " + neighbourhood(e.Address)
	if !a.IsZero() {
		group = "person " + string(e.Actor)
	}
	// The caller may have left and the database may hang: neither keeps the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordFor)
	defer cancel()
	if err := s.refusals.Note(ctx, group, strconv.Itoa(status), e); err != nil {
		s.opts.Logger.WarnContext(c.Request().Context(), "could not record a refused call", "error", err)
	}
}

// recordFor bounds how long a refused call waits for its record.
const recordFor = 3 * time.Second

// FlushRefusals writes down how many sign-ins and calls were refused beside those in the record, of each address or
// person whose minute is over, or of all. The app calls it now and then, and at the end.
func (s *Server) FlushRefusals(ctx context.Context, all bool) error {
	return errors.Join(s.refusals.Flush(ctx, all))
}
