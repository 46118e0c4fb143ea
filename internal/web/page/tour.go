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

// The pages with a tour. That of home goes on to the form of a start.
const (
	TourHome     = layout.TourHome
	TourStart    = layout.TourStart
	TourWorkload = layout.TourWorkload
)

// TourPath is where the tour begins.
const TourPath = "/?" + TourParam + "=1"

// tour is that of the page, and tourHref the one that the help menu opens.
func (w *Frame) tour(c echo.Context, k Call, v View) (m *layout.TourModel) {
	if v.Tour == "" || c.Request().Method != http.MethodGet {
		return nil
	}
	m = &layout.TourModel{Tour: v.Tour, Mark: TourMark}
	if v.Tour == TourHome && w.starts(k) {
		m.Start = "/start?" + TourParam + "=1"
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
