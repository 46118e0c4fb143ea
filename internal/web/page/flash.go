package page

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// flashes are what a page says after a redirect. The cookie carries the name only, and no other host can set it.
var flashes = map[string]ui.Kind{
	"stopped": ui.OK, "resumed": ui.OK, "resume-queued": ui.Info, "shared": ui.OK, "unshared": ui.OK, "extended": ui.OK,
	"scaled":          ui.OK,
	"extension-asked": ui.Info, "resume-asked": ui.Info, "deleted": ui.OK,
	"submitted": ui.Info, "withdrawn": ui.OK, "approved": ui.OK, "consented": ui.OK, "rules-saved": ui.OK,
	"rejected": ui.OK, "edited": ui.OK, "reassigned": ui.OK, "taken-back": ui.OK, "undone": ui.OK,
	"delegation-created": ui.OK,
	"delegation-ended":   ui.OK, "edited-approved": ui.OK, "volume-deleted": ui.OK, "volume-kept": ui.OK,
	"token-revoked": ui.OK, "key-revoked": ui.OK, "session-ended": ui.OK, "sessions-ended": ui.OK,
	"person-disabled": ui.OK, "person-enabled": ui.OK, "handed-over": ui.OK, "handed-over-some": ui.Warning,
	"license-entered": ui.OK, "license-removed": ui.OK, "license-chosen": ui.OK, "hardware-quarantined": ui.OK,
	"difference-decided":        ui.OK,
	"hardware-quarantine-ended": ui.OK,
	"catalog-saved":             ui.OK,
	"tenant-saved":              ui.OK, "member-added": ui.OK, "member-removed": ui.OK, "image-saved": ui.OK,
	"volume-shared": ui.OK, "volume-grown": ui.OK, "volume-pending-deletion": ui.Info, "volume-restored": ui.OK,
	"image-retired": ui.OK,
	"budget-saved":  ui.OK, "budget-removed": ui.OK, "budget-refunded": ui.OK,
	"workload-kept-alive": ui.OK, "idle-saved": ui.OK, "advice-dismissed": ui.OK, "advice-restored": ui.OK,
	"price-added": ui.OK, "price-ended": ui.OK,
	"notices-saved": ui.OK, "address-entered": ui.OK, "address-removed": ui.OK, "delivery-retried": ui.OK,
}

// Done redirects after a change and says there what came of it.
func (w *Frame) Done(c echo.Context, flash, path string) error {
	if flash != "" {
		c.SetCookie(edge.Cookie(edge.Flash, flash, time.Minute))
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// takeFlash shows a flash once.
func (w *Frame) takeFlash(c echo.Context, say Words) *ui.NoticeModel {
	name := edge.Value(c.Request(), edge.Flash)
	if name == "" {
		return nil
	}
	c.SetCookie(edge.Cookie(edge.Flash, "", -1))
	kind, known := flashes[name]
	if !known {
		return nil
	}
	return layout.Done(say.Localizer, kind, name)
}

const aYear = 365 * 24 * time.Hour

func (w *Frame) setLanguage(c echo.Context) error {
	chosen := w.Bundle.For(c.FormValue("lang"))
	c.SetCookie(edge.Cookie(edge.Language, chosen.Lang(), aYear))
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}

func (w *Frame) setTheme(c echo.Context) error {
	switch chosen := c.FormValue("theme"); chosen {
	case "dark", "light":
		c.SetCookie(edge.Cookie(edge.Theme, chosen, aYear))
	default:
		c.SetCookie(edge.Cookie(edge.Theme, "", -1))
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}

func (w *Frame) setTeam(c echo.Context) error {
	k := w.CallOf(c)
	chosen := c.FormValue("team")
	if !k.Actor.Member(chosen) {
		return fault.New(fault.NotFound, i18n.T("web.no_team"))
	}
	c.SetCookie(edge.Cookie(edge.Team, chosen, aYear))
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}
