package ui

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// StateModel is how a thing is: an icon, a word and a colour that say the same.
type StateModel struct {
	Kind Kind
	Word string
	// Detail is the reason, shown under the word while the thing is not as it should be.
	Detail string
	// Icon replaces the icon of the kind.
	Icon string
	Test string
}

// Hook is the state with a data-test.
func (m StateModel) Hook(test string) StateModel {
	m.Test = test
	return m
}

func (m StateModel) icon() string {
	if m.Icon != "" {
		return m.Icon
	}
	return string(m.Kind)
}

// State is a label.
func State(m StateModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-state"`)
		h.Attr("data-test", m.Test)
		h.Raw(`><span class="pf-v6-c-label pf-m-compact gp-label `)
		h.Text(m.Kind.label())
		h.Raw(" gp-label--")
		h.Text(string(m.Kind))
		h.Raw(`"><span class="pf-v6-c-label__content"><span class="pf-v6-c-label__icon">`)
		icon(h, m.icon())
		h.Raw(`</span> <span class="pf-v6-c-label__text">`)
		h.Text(m.Word)
		h.Raw("</span></span></span> ")
		h.Element("span", "gp-state__detail", m.Detail)
		h.Raw("</span>")
	})
}

// BadgeModel is a word that tells kinds of things apart; it carries no judgement. Color is one of PatternFly's label
// colours (blue, teal, green, orange, purple, red, yellow) or empty for grey.
type BadgeModel struct {
	Word  string
	Color string
	Icon  string
	// About is read out and shown as a tooltip.
	About string
}

// Badge is an outlined label.
func Badge(m BadgeModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="pf-v6-c-label pf-m-outline pf-m-compact gp-label`)
		if m.Color != "" {
			h.Raw(" pf-m-")
			h.Text(m.Color)
		}
		h.Raw(`"`)
		h.Attr("title", m.About)
		h.Raw(`><span class="pf-v6-c-label__content">`)
		if m.Icon != "" {
			h.Raw(`<span class="pf-v6-c-label__icon">`)
			icon(h, m.Icon)
			h.Raw("</span> ")
		}
		h.Raw(`<span class="pf-v6-c-label__text">`)
		h.Text(m.Word)
		h.Raw("</span> ")
		if m.About != "" {
			h.Raw(`<span class="pf-v6-screen-reader">: `)
			h.Text(m.About)
			h.Raw("</span>")
		}
		h.Raw("</span></span>")
	})
}

// CountModel is a number of things that wait. Words says of what, for screen readers: "3 requests wait for you".
type CountModel struct {
	Count int
	Words string
	ID    string
}

// Count shows nothing for zero, but keeps its place for live messages.
func Count(m CountModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<span class="gp-count"`)
		h.Attr("id", m.ID)
		h.Raw(">")
		if m.Count > 0 {
			h.Raw(`<span class="pf-v6-c-badge pf-m-unread gp-count__badge"><span aria-hidden="true">`)
			h.Raw(countWord(m.Count))
			h.Raw(`</span> <span class="pf-v6-screen-reader">`)
			h.Text(m.Words)
			h.Raw("</span></span>")
		}
		h.Raw("</span>")
	})
}

func countWord(n int) string {
	if n > 99 {
		return "99+"
	}
	return strconv.Itoa(n)
}
