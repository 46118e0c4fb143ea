package serve

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
)

// BackChannelPath is where the sign-in provider says that sessions have ended (OpenID Connect Back-Channel Logout 1.0);
// it is registered there as backchannel_logout_uri.
const BackChannelPath = "/signin/backchannel-logout"

// backChannelLogout ends the sessions that a logout token names; streams and connections to workloads that hang on them
// are closed as after signing out. The specification knows two answers: 200, and 400 for whatever did not end them.
func (s *Server) backChannelLogout(c echo.Context) error {
	ctx, address := c.Request().Context(), s.Address(c.Request())
	logout, err := s.opts.Provider.BackChannelLogout(ctx, c.FormValue("logout_token"))
	if err == nil {
		_, err = s.opts.Store.EndSessionsAt(ctx, logout, func(p identity.Person) audit.Event {
			return audit.Event{Kind: audit.SessionClosed, At: s.opts.Now(), Actor: p.ID, ActorName: p.Name, Address: address,
				Detail: i18n.T("oidc.ended_there")}
		})
	}
	if err != nil {
		return s.logoutRefused(c, address, err)
	}
	return c.NoContent(http.StatusOK)
}

func (s *Server) logoutRefused(c echo.Context, address string, err error) error {
	why := problem.Fault(err).Sentence
	if fault.Is(err, fault.Conflict) { // it came before
		why = i18n.T("oidc.logout_refused")
	}
	// Anybody can post here without a session: refused ones are bounded as other bad tokens are. Good ones are not
	// counted, for a provider that ends many sessions at once sends as many.
	if busy := s.opts.Limits.Take(limit.BadToken, "logout "+neighbourhood(address)); busy != nil {
		return busy
	}
	if appendErr := s.noteSignIn(c.Request().Context(), address, why); appendErr != nil {
		s.opts.Logger.WarnContext(c.Request().Context(), "could not record a refused logout", "error", appendErr)
	}
	s.opts.Logger.WarnContext(c.Request().Context(), "logout of the provider refused", "error", err)
	return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request",
		"error_description": i18n.From(c.Request().Context()).Say(why)})
}
