package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// options are those of a select: of a filter by team as many as there are teams.
func options(m FieldModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		for i := range m.Options {
			o := &m.Options[i]
			h.Raw("<option")
			h.Always("value", o.Value)
			h.RawIf(o.Selected || m.Value != "" && o.Value == m.Value, " selected")
			h.RawIf(o.Disabled, " disabled")
			h.Attr("title", o.Hint)
			h.Raw(">")
			h.Text(o.Label)
			h.Raw(" ")
			if o.Why != "" {
				h.Raw(" (")
				h.Text(o.Why)
				h.Raw(")")
			}
			h.Raw("</option>")
		}
	})
}
