package page

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/views/layout"
)

// goKeys are the second keys of g, by the id of the place: letters of the English names, in every language.
var goKeys = []struct{ key, id string }{{"h", "home"}, {"r", "requests"}, {"a", "approvals"}, {"s", "storage"},
	{"t", "team"}, {"u", "usage"}, {"c", "fleet"}, {"p", "platform"}}

// keysOff is the value of the cookie of those who want no shortcuts that are a single character.
const keysOff = "off"

// keys are the shortcuts of every page.
func (w *Frame) keys(c echo.Context, k Call) layout.KeysModel {
	m := layout.KeysModel{Off: edge.Value(c.Request(), edge.Keys) == keysOff}
	places := w.Places(k)
	for _, g := range goKeys {
		if i := slices.IndexFunc(places, func(l Link) bool { return l.ID == g.id }); i >= 0 {
			m.Go = append(m.Go, layout.GoKeyModel{Key: g.key, Label: places[i].Label, Href: places[i].Href})
		}
	}
	if w.starts(k) {
		m.Go = append(m.Go, layout.GoKeyModel{Key: "n", Label: k.Words.S("layout.start"), Href: "/start"})
	}
	return m
}

func (w *Frame) setKeys(c echo.Context) error {
	if c.FormValue("keys") == keysOff {
		c.SetCookie(edge.Cookie(edge.Keys, keysOff, aYear))
	} else {
		c.SetCookie(edge.Cookie(edge.Keys, "", -1))
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}
