package markup

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Component is one without children.
type Component func(*Writer)

// Render writes it where a template stands around it.
func (c Component) Render(ctx context.Context, w io.Writer) error { return render(ctx, w, c) }

// Around is a component that has children; inside writes them.
type Around func(h *Writer, inside func())

// Render writes it where a template stands around it. Each component around adds to the context, and templ looks
// through all of it for each one within: children begin with the context of the page again.
func (a Around) Render(ctx context.Context, w io.Writer) error {
	children := templ.GetChildren(ctx)
	return render(outermost(ctx), w, func(h *Writer) { a(h, func() { h.Put(children) }) })
}

type outermostKey struct{}

// WithOutermost is a context for all of a page, in which templ's own values stand. Children begin with it.
func WithOutermost(ctx context.Context) context.Context {
	page := &struct{ context.Context }{}
	page.Context = context.WithValue(templ.ClearChildren(templ.InitializeContext(ctx)), outermostKey{}, page)
	return page.Context
}

// outermost is the context that WithOutermost gave.
func outermost(ctx context.Context) context.Context {
	if page, ok := ctx.Value(outermostKey{}).(*struct{ context.Context }); ok {
		return page.Context
	}
	return templ.ClearChildren(ctx)
}
