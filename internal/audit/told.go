package audit

import (
	"context"
	"sync/atomic"
)

type toldKey struct{}

// WithTold lets what happens in a call say that its refusal is on record, so that the edge does not record it again.
func WithTold(ctx context.Context) context.Context {
	return context.WithValue(ctx, toldKey{}, new(atomic.Bool))
}

// Tell says that the refusal of this call is on record, or counted there.
func Tell(ctx context.Context) {
	if told, ok := ctx.Value(toldKey{}).(*atomic.Bool); ok {
		told.Store(true)
	}
}

// Told reports whether somebody said so.
func Told(ctx context.Context) bool {
	told, ok := ctx.Value(toldKey{}).(*atomic.Bool)
	return ok && told.Load()
}
