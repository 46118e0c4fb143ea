// Package story collects what the storybook shows: every component and page in each of its states. A package of stories
// adds its own and is imported by cmd/storybook/areas.go, never by the portal:
//
//	func init() {
//		story.AddFunc("requests", "row, waiting", func(s story.Setting) templ.Component { return Row(…) })
//		story.AddPage("requests", "page, empty", func(s story.Setting) templ.Component { return Page(…) })
//	}
//
// Stories have fixed values and a fixed time, so that pictures can be compared.
package story

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Now is the time of all stories.
var Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Setting is how a story is looked at.
type Setting struct {
	Localizer *i18n.Localizer
	// Theme is "dark", "light" or "".
	Theme string
}

// Story is one state of one component, or a whole page.
type Story struct {
	Area string
	Name string
	// Page is a whole document, shown without the storybook's frame.
	Page   bool
	Render func(Setting) templ.Component
}

// Slug is its place in an address: "ui/button-primary".
func (s Story) Slug() string {
	words := strings.FieldsFunc(strings.ToLower(s.Name), func(r rune) bool {
		return (r < 'a' || r > 'z') &&
			(r < '0' || r > '9')
	})
	return s.Area + "/" + strings.Join(words, "-")
}

var all []Story

// AddFunc adds a component that is made for the reader's language.
func AddFunc(area, name string, render func(Setting) templ.Component) {
	all = append(all, Story{Area: area, Name: name, Render: render})
}

// AddPage adds a whole page.
func AddPage(area, name string, render func(Setting) templ.Component) {
	all = append(all, Story{Area: area, Name: name, Page: true, Render: render})
}

// All lists the stories by area; within one as they were added.
func All() []Story {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Story) int { return cmp.Compare(a.Area, b.Area) })
	return sorted
}
