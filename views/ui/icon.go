package ui

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/static"
)

// Icon draws an icon of static/icons.svg at the size of the text around it. It says nothing to a screen reader: the
// word beside it does. An unknown or empty name draws nothing.
func Icon(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		icon, ok := static.IconNamed(name)
		if !ok {
			return nil
		}
		h := markup{w: w}
		h.raw(`<svg class="gp-icon`)
		h.rawIf(icon.Line, " gp-icon--line")
		h.raw(`" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" focusable="false">`)
		h.raw(icon.Body)
		h.raw(`</svg>`)
		return h.err
	})
}
