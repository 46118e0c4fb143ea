package fleet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/licenses"
)

// weekOrder begins with Monday, as calendars do where the portal's languages are spoken most.
var weekOrder = [7]int{1, 2, 3, 4, 5, 6, 0}

// weekShades are the classes of an hour: not seen yet, no seat, and quarters of the pool.
var weekShades = []string{"unknown", "free", "1", "2", "3", "4"}

// weekModel draws the mean number of seats by weekday and hour; nil without a past. An hour that has not been yet is
// drawn as unknown, and is a dash among the numbers.
func weekModel(say page.Words, id string, l license.PoolOverview) *licenses.WeekModel {
	f := l.Forecast
	if f.From.IsZero() {
		return nil
	}
	whole := float64(max(l.Status.Pool.Seats, f.Peak.Seats, 1))
	m := &licenses.WeekModel{ID: id, Lead: say.S("licenses.week_lead", "Count", max(1, f.Days))}
	for h := range 24 {
		m.Hours = append(m.Hours, fmt.Sprintf("%02d", h))
	}
	for _, day := range weekOrder {
		m.Days = append(m.Days, dayModel(say, day, f, whole))
	}
	return m
}

func dayModel(say page.Words, day int, f license.Forecast, whole float64) licenses.DayModel {
	m := licenses.DayModel{Name: say.Say(i18n.T("licenses.day_" + strconv.Itoa(day))), Most: "–"}
	paths := map[string]*strings.Builder{}
	most := -1
	for h := range 24 {
		shade, number := shadeOf(f.Week[day][h]/whole, f.HoursSeen[day][h]), "–"
		if f.HoursSeen[day][h] > 0 {
			number = say.Number(f.Week[day][h])
			if most < 0 || f.Week[day][h] > f.Week[day][most] {
				most = h
			}
		}
		m.Numbers = append(m.Numbers, number)
		if paths[shade] == nil {
			paths[shade] = &strings.Builder{}
		}
		fmt.Fprintf(paths[shade], "M%d 0h%dv%dh-%dz", h*licenses.HourWidth, licenses.HourWidth-1, licenses.HourHeight,
			licenses.HourWidth-1)
	}
	for _, shade := range weekShades {
		if p := paths[shade]; p != nil {
			m.Paths = append(m.Paths, licenses.PathModel{Class: shade, D: p.String()})
		}
	}
	if most >= 0 {
		m.Most = say.S("licenses.most_at", "Seats", m.Numbers[most], "Hour", fmt.Sprintf("%02d", most))
	}
	m.Words = say.S("licenses.day_words", "Day", m.Name, "Most", m.Most)
	return m
}

// shadeOf is the class of an hour with a share of the pool.
func shadeOf(share float64, seen int) string {
	switch {
	case seen == 0:
		return "unknown"
	case share <= 0:
		return "free"
	}
	return strconv.Itoa(min(4, 1+int(share*4)))
}
