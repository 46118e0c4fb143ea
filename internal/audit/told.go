package audit

import (
	"context"
	"sync/atomic"
)

type refusalKey struct{}

// WithRefusalMark lets what happens in a call say that its refusal is on record, so that the edge does not record it
// again.
func WithRefusalMark(ctx context.Context) context.Context {
	return context.WithValue(ctx, refusalKey{}, new(atomic.Bool))
}

// MarkRefusalRecorded says that the refusal of this call is on record, or counted there.
func MarkRefusalRecorded(ctx context.Context) {
	if told, ok := ctx.Value(refusalKey{}).(*atomic.Bool); ok {
		told.Store(true)
	}
}

// RefusalRecorded reports whether somebody said so.
func RefusalRecorded(ctx context.Context) bool {
	told, ok := ctx.Value(refusalKey{}).(*atomic.Bool)
	return ok && told.Load()
}
