package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/static"
	"github.com/gpu-portal/gpu-portal/views/markup"
)

// Icon draws an icon of static/icons.svg at the size of the text around it. It says nothing to a screen reader: the
// word beside it does. An unknown or empty name draws nothing.
func Icon(name string) templ.Component {
	return markup.Component(func(h *markup.Writer) { icon(h, name) })
}

func icon(h *markup.Writer, name string) {
	icon, ok := static.IconNamed(name)
	if !ok {
		return
	}
	h.Raw(`<svg class="gp-icon`)
	h.RawIf(icon.Line, " gp-icon--line")
	h.Raw(`" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" focusable="false">`)
	h.Raw(icon.Body)
	h.Raw(`</svg>`)
}
