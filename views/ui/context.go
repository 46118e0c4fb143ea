package ui

import (
	"context"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/markup"
)

type readerKey struct{}

// WithLocalizer hands the reader's language to all components rendered with this context.
func WithLocalizer(ctx context.Context, l *i18n.Localizer) context.Context {
	return markup.WithOutermost(context.WithValue(ctx, readerKey{}, l))
}

var fallback = sync.OnceValue(func() *i18n.Localizer { return i18n.MustLoad().For("en") })

// L is the reader's Localizer; English when none was given.
func L(ctx context.Context) *i18n.Localizer {
	if l, ok := ctx.Value(readerKey{}).(*i18n.Localizer); ok {
		return l
	}
	return fallback()
}
