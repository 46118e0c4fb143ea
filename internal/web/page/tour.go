package page

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/views/layout"
)

// TourMark is what somebody has acknowledged who took the guided tour, or left it.
const TourMark = "tour"

// TourParam in an address opens the tour of its page.
const TourParam = "tour"

// Tour names the stops of a page.
type Tour string

// The pages with a tour. That of home goes on to the form of a start.
const (
	TourHome     Tour = "home"
	TourStart    Tour = "start"
	TourWorkload Tour = "workload"
)

// stops are what a tour points at, by selector; tour.js leaves out what a page does not have.
var stops = map[Tour][]struct{ id, target string }{
	TourHome: {{"list", "#home-list"}, {"new", "#gp-start"}, {"search", ".gp-masthead__search"},
		{"help", ".gp-masthead__help"}},
	TourStart: {{"size", ".gp-size-tiles"}, {"lease", ".gp-start__presets"}, {"bar", ".gp-start__bar"}},
	TourWorkload: {{"head", "#workload-head"}, {"tabs", ".gp-tabs"}, {"gpu", "#workload-gpu"},
		{"lease", "#workload-lease"}, {"access", "#workload-access"}},
}

// TourPath is where the tour begins.
const TourPath = "/?" + TourParam + "=1"

// tour is that of the page, and tourHref the one that the help menu opens.
func (w *Frame) tour(c echo.Context, k Call, v View) (m *layout.TourModel) {
	if len(stops[v.Tour]) == 0 || c.Request().Method != http.MethodGet {
		return nil
	}
	m = &layout.TourModel{Mark: TourMark}
	for _, s := range stops[v.Tour] {
		id := "tour." + string(v.Tour) + "_" + s.id
		m.Steps = append(m.Steps, layout.TourStepModel{ID: s.id, Target: s.target, Title: k.Words.S(id),
			Words: k.Words.S(id + "_words")})
	}
	if v.Tour == TourHome && len(w.Startable(k)) > 0 {
		m.NextHref, m.NextLabel = "/start?"+TourParam+"=1", k.Words.S("tour.to_start")
	}
	return m
}

func tourHref(c echo.Context, m *layout.TourModel) string {
	if m == nil {
		return TourPath
	}
	return c.Request().URL.Path + "?" + TourParam + "=1"
}

// Toured reports whether the reader took the tour, or left it.
func Toured(k Call) bool { return slices.Contains(k.Actor.Person.Acknowledged, TourMark) }

// setAcknowledged keeps that the reader has seen the tour, or what is new.
func (w *Frame) setAcknowledged(c echo.Context) error {
	k, mark := w.CallOf(c), c.FormValue("mark")
	if mark == TourMark || mark == news.Mark() {
		if err := w.Acknowledge(k.Ctx, k.Actor, mark); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("back"), "/"))
}
