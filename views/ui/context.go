package ui

import (
	"context"
	"sync"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

type readerKey struct{}

// reader is what the components of a page have in common.
type reader struct {
	localizer *i18n.Localizer
	outermost context.Context // of the page, without any component around
}

// WithLocalizer hands the reader's language to all components rendered with this context.
func WithLocalizer(ctx context.Context, l *i18n.Localizer) context.Context {
	r := &reader{localizer: l}
	r.outermost = templ.ClearChildren(templ.InitializeContext(context.WithValue(ctx, readerKey{}, r)))
	return r.outermost
}

var fallback = sync.OnceValue(func() *i18n.Localizer { return i18n.MustLoad().For("en") })

// L is the reader's Localizer; English when none was given.
func L(ctx context.Context) *i18n.Localizer {
	if r, ok := ctx.Value(readerKey{}).(*reader); ok {
		return r.localizer
	}
	return fallback()
}

// outermost is the context that WithLocalizer gave.
func outermost(ctx context.Context) context.Context {
	if r, ok := ctx.Value(readerKey{}).(*reader); ok {
		return r.outermost
	}
	return templ.ClearChildren(ctx)
}
