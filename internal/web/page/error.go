package page

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/views/layout"
)

// Error shows what went wrong within the frame, for somebody who is signed in. The status stays: what one may not see
// answers like what is not there.
func (w *Frame) Error(c echo.Context, status int, m layout.ErrorModel) error {
	k, path := w.CallOf(c), c.Request().URL.Path
	if status == http.StatusNotFound || status == http.StatusForbidden {
		if p, locked := lockedPlace(k.Actor, path); locked {
			m = layout.Locked(k.Words.Localizer, m, k.Words.S("web.nav."+p.id), w.Support.ContactURL)
		}
	}
	return w.Reply(c, k, Page{}, View{Title: m.Title, Back: "/", Body: layout.ErrorBody(m)}, status)
}

// lockedPlace is the platform's page to which an address belongs, where the reader's roles do not open it. That it is
// there is no secret: every portal has it.
func lockedPlace(a identity.Actor, path string) (place, bool) {
	for _, g := range platformPlaces {
		i := slices.IndexFunc(g.places, func(p place) bool {
			return (path == p.path || strings.HasPrefix(path, p.path+"/")) && !identity.Can(a, p.action, identity.Resource{})
		})
		if i >= 0 {
			return g.places[i], true
		}
	}
	return place{}, false
}
