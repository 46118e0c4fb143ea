package store

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// afterChange is what was read of requests for some filters, as it was after one change or later. Each change of a
// request counts the outbox on.
type afterChange[Read any] struct {
	mu sync.Mutex
	at int64
	of map[string]Read
}

// requestCounts are how many requests some filters leave: a list says how many there are in all, and to count thousands
// takes longer than to read a page of them.
type requestCounts = afterChange[int]

// requestLists are which requests are on a page of a list: the page of one request has several such lists beside it,
// and each of those who decide reads them again with each part of it that changes. Whoever reads one changes nothing
// of it.
type requestLists = afterChange[[]versionRow]

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

// listOf names a list by all that chooses in it, and whether it does not move with the clock. Inboxes are kept as a
// whole, see pendingList.
func listOf(f request.Filter, limit int) (name string, common bool) {
	if f.Inbox != nil || f.DeferredBy != "" || !f.DueAt.IsZero() || !f.Since.IsZero() || f.Holding || len(f.Text) > 0 ||
		f.Cursor != "" {
		return "", false
	}
	var b strings.Builder
	for _, word := range []string{string(f.Asker), string(f.About), f.Size, string(f.Decider), string(f.Sort)} {
		writeWord(&b, word)
	}
	writeWord(&b, strconv.Itoa(limit))
	writeWord(&b, strconv.FormatBool(f.Seat))
	writeWord(&b, strconv.FormatBool(f.Tenants == nil))
	writeWord(&b, strconv.Itoa(len(f.Tenants)))
	for _, tenant := range f.Tenants {
		writeWord(&b, tenant)
	}
	for _, state := range f.States {
		writeWord(&b, string(state))
	}
	return b.String(), true
}

// writeWord says how long a word is, so that no two lists of words come to the same name.
func writeWord(b *strings.Builder, word string) {
	b.WriteString(strconv.Itoa(len(word)))
	b.WriteByte(':')
	b.WriteString(word)
}

// get is what is kept for a change, else what is read, which nobody else waits for.
func (c *afterChange[Read]) get(now int64, of string, read func() (Read, error)) (Read, error) {
	c.mu.Lock()
	n, known := c.of[of]
	known = known && c.at == now
	c.mu.Unlock()
	if known {
		return n, nil
	}
	n, err := read()
	if err != nil {
		return n, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at < now || c.of == nil || len(c.of) >= mostCounts {
		c.at, c.of = now, map[string]Read{}
	}
	if c.at == now {
		c.of[of] = n
	}
	return n, nil
}
