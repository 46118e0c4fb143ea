package store

import (
	"fmt"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// requestCounts are how many requests some filters leave, as they were after one change or later: a list says how many
// there are in all, and to count thousands takes longer than to read a page of them. Each change of a request counts
// the outbox on.
type requestCounts struct {
	mu sync.Mutex
	at int64
	of map[string]int
}

// mostCounts bounds how many filters are kept; when it is reached, everything is forgotten.
const mostCounts = 500

// countOf names what is counted, and whether that is common to many readers and does not move with the clock.
func countOf(f request.Filter) (name string, common bool) {
	if f.Asker != "" || f.About != "" || f.Inbox != nil || f.DeferredBy != "" || !f.DueAt.IsZero() || !f.Since.IsZero() ||
		f.Holding || len(f.Text) > 0 {
		return "", false
	}
	return fmt.Sprintf("%q %q %q %q %t %t", f.Tenants, f.States, f.Decider, f.Size, f.Seat, f.Tenants == nil), true
}

// get is what is kept for a change, else what is read, which nobody else waits for.
func (c *requestCounts) get(now int64, of string, read func() (int, error)) (int, error) {
	c.mu.Lock()
	n, known := c.of[of]
	known = known && c.at == now
	c.mu.Unlock()
	if known {
		return n, nil
	}
	n, err := read()
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at < now || c.of == nil || len(c.of) >= mostCounts {
		c.at, c.of = now, map[string]int{}
	}
	if c.at == now {
		c.of[of] = n
	}
	return n, nil
}
