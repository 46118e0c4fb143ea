package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// flashes are what a page says after a redirect. The cookie carries the name only, so nobody can put words into our
// mouth.
var flashes = map[string]ui.Kind{
	"stopped": ui.OK, "resumed": ui.OK, "resume-queued": ui.Info, "shared": ui.OK, "unshared": ui.OK, "extended": ui.OK,
	"extension-asked": ui.Info, "resume-asked": ui.Info, "deleted": ui.OK,
	"submitted": ui.Info, "withdrawn": ui.OK, "approved": ui.OK, "consented": ui.OK, "rules-saved": ui.OK,
	"rejected": ui.OK, "edited": ui.OK, "handed": ui.OK, "taken-back": ui.OK, "standin-created": ui.OK,
	"standin-ended": ui.OK, "edited-approved": ui.OK, "volume-deleted": ui.OK, "volume-kept": ui.OK,
	"token-revoked":   ui.OK,
	"license-entered": ui.OK, "license-removed": ui.OK, "license-chosen": ui.OK, "hardware-marked": ui.OK, "difference-decided": ui.OK,
	"hardware-unmarked": ui.OK,
	"catalog-saved":     ui.OK,
	"tenant-saved":      ui.OK, "member-added": ui.OK, "member-removed": ui.OK, "image-saved": ui.OK,
	"volume-shared": ui.OK, "volume-grown": ui.OK, "volume-going": ui.Info, "volume-restored": ui.OK,
	"image-retired": ui.OK,
	"budget-saved":  ui.OK, "budget-removed": ui.OK, "budget-refunded": ui.OK,
	"workload-needed": ui.OK, "idle-saved": ui.OK, "advice-dismissed": ui.OK, "advice-restored": ui.OK,
	"price-added": ui.OK, "price-ended": ui.OK,
	"notices-saved": ui.OK, "address-entered": ui.OK, "address-removed": ui.OK, "delivery-retried": ui.OK,
}

const flashCookie = "flash"

// done redirects after a change and says there what came of it.
func (w *Web) done(c echo.Context, flash, path string) error {
	if flash != "" {
		c.SetCookie(w.cookie(flashCookie, flash, 60))
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// takeFlash shows a flash once.
func (w *Web) takeFlash(c echo.Context, say words) *ui.NoticeModel {
	cookie, err := c.Cookie(flashCookie)
	if err != nil {
		return nil
	}
	c.SetCookie(w.cookie(flashCookie, "", -1))
	kind, known := flashes[cookie.Value]
	if !known {
		return nil
	}
	return &ui.NoticeModel{Kind: kind, Title: say.Say(i18n.T("web.flash." + cookie.Value)), Alert: true, Test: "flash"}
}

func (w *Web) cookie(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
		Secure:   strings.HasPrefix(w.PortalURL, "https://")}
}

const aYear = 365 * 24 * 3600

func (w *Web) setLanguage(c echo.Context) error {
	chosen := w.Bundle.For(c.FormValue("lang"))
	c.SetCookie(w.cookie("lang", chosen.Lang(), aYear))
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("back"), "/"))
}

func (w *Web) setTheme(c echo.Context) error {
	switch chosen := c.FormValue("theme"); chosen {
	case "dark", "light":
		c.SetCookie(w.cookie("theme", chosen, aYear))
	default:
		c.SetCookie(w.cookie("theme", "", -1))
	}
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("back"), "/"))
}

func (w *Web) setTeam(c echo.Context) error {
	k := w.callOf(c)
	chosen := c.FormValue("team")
	if !k.actor.Member(chosen) {
		return fault.New(fault.NotFound, i18n.T("web.no_team"))
	}
	c.SetCookie(w.cookie("team", chosen, aYear))
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("back"), "/"))
}
