package oidc

import (
	"context"
	"sync"
	"time"
)

// health remembers how the provider did when it was last called.
type health struct {
	now   func() time.Time
	mu    sync.Mutex
	since time.Time
}

func (h *health) note(answers bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case answers:
		h.since = time.Time{}
	case h.since.IsZero():
		h.since = h.now()
	}
}

func (h *health) away() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since
}

// Healthy reports whether the provider answered when it was last called. It is true before the first call.
func (c *Client) Healthy() bool { return c.Since().IsZero() }

// Since is when the provider first failed to answer; zero while it answers, as far as is known. It never waits.
func (c *Client) Since() time.Time { return c.health.away() }

// Probe asks the provider for its document, for a caller that wants Since to be fresh though nobody signs in.
// Unavailable when it does not answer, or not as it should.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.ask(ctx)
	return err
}
