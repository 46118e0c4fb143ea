package i18n

import (
	"context"
	"sync"
)

type localizerKey struct{}

// With puts the reader's Localizer into the context; serve does it once for each call.
func With(ctx context.Context, l *Localizer) context.Context {
	return context.WithValue(ctx, localizerKey{}, l)
}

// From takes the reader's Localizer out; without one it is the fallback language.
func From(ctx context.Context) *Localizer {
	if l, ok := ctx.Value(localizerKey{}).(*Localizer); ok {
		return l
	}
	return fallback()
}

// fallback is for calls that nobody chose a language for; the messages are read once.
var fallback = sync.OnceValue(func() *Localizer { return MustLoad().For() })
