package ui

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// markup writes what components that are not templates consist of, and keeps the first error.
type markup struct {
	w   io.Writer
	err error
}

// raw writes what is HTML already.
func (h *markup) raw(html string) {
	if h.err == nil {
		_, h.err = io.WriteString(h.w, html)
	}
}

func (h *markup) rawIf(condition bool, html string) {
	if condition {
		h.raw(html)
	}
}

// text writes words.
func (h *markup) text(words string) { h.raw(templ.EscapeString(words)) }

// attr writes an attribute, unless its value is empty.
func (h *markup) attr(name, value string) {
	if value != "" {
		h.raw(" ")
		h.raw(name)
		h.raw(`="`)
		h.text(value)
		h.raw(`"`)
	}
}

func (h *markup) attrs(ctx context.Context, attributes templ.Attributes) {
	if h.err == nil && len(attributes) > 0 {
		h.err = templ.RenderAttributes(ctx, h.w, attributes)
	}
}

// children writes what stands in the component. Each component around adds to the context, and templ looks through all
// of it for each one within: children begin with the context of the page again.
func (h *markup) children(ctx context.Context) {
	if h.err == nil {
		h.err = templ.GetChildren(ctx).Render(outermost(ctx), h.w)
	}
}
