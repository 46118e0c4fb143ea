package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// DefListModel is a list of facts about one thing.
type DefListModel struct {
	Items []DefModel
	// Columns sets them side by side on wide screens; otherwise term and value stand in one line each.
	Columns bool
	ID      string
}

// DefModel is a term with its value, or with a component as value.
type DefModel struct {
	Term      string
	Value     string
	Component templ.Component
	// About explains the term in a short line.
	About string
	Test  string
}

// DefList is a real dl. Each row of the record has one, so it is written by hand.
func DefList(m DefListModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<dl class="gp-deflist`)
		h.RawIf(m.Columns, " gp-deflist--columns")
		h.Raw(`"`)
		h.Attr("id", m.ID)
		h.Raw(">")
		for i := range m.Items {
			m.Items[i].write(h)
		}
		h.Raw("</dl>")
	})
}

func (d *DefModel) write(h *markup.Writer) {
	h.Raw(`<div class="gp-def"><dt class="gp-def__term">`)
	h.Text(d.Term)
	h.Raw(`</dt><dd class="gp-def__value"`)
	h.Attr("data-test", d.Test)
	h.Raw(">")
	if d.Component != nil {
		h.Put(d.Component)
	} else {
		h.Text(d.Value)
		h.Raw(" ")
	}
	h.Element("span", "gp-def__about", d.About)
	h.Raw("</dd></div>")
}
