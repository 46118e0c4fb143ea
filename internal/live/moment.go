package live

import (
	"context"
	"sync"
)

type momentKey struct{}

// moment is the number of the last change, once somebody has asked for it.
type moment struct {
	mu    sync.Mutex
	last  int64
	known bool
}

// AtOneMoment is a context in which the number of the last change is asked for once, for what is made in one go, such
// as a page: each list that it reads would ask again whether it is still as it was kept. What changes meanwhile is told
// by the stream of the page; what is written in the context itself is seen at once.
func AtOneMoment(ctx context.Context) context.Context {
	return context.WithValue(ctx, momentKey{}, &moment{})
}

// OneMoment reports whether a context is one of AtOneMoment.
func OneMoment(ctx context.Context) bool {
	_, is := ctx.Value(momentKey{}).(*moment)
	return is
}

// Noted is the number that was noted in a context AtOneMoment.
func Noted(ctx context.Context) (last int64, known bool) {
	m, ok := ctx.Value(momentKey{}).(*moment)
	if !ok {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.known
}

// Note keeps the number of the last change in a context AtOneMoment; in any other it does nothing.
func Note(ctx context.Context, last int64) { note(ctx, last, true) }

// Forget has the number asked for again.
func Forget(ctx context.Context) { note(ctx, 0, false) }

func note(ctx context.Context, last int64, known bool) {
	if m, ok := ctx.Value(momentKey{}).(*moment); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.last, m.known = last, known
	}
}
