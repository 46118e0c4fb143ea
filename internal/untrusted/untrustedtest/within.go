// Package untrustedtest has Within, which fails a test where work on an input takes longer than a linear parser would.
package untrustedtest

import (
	"testing"
	"time"
)

// Limit is for inputs that take milliseconds where a parser is linear, on a machine at ten times its load. What grows
// with the square of a largest input, or doubles with a level of it, takes longer.
const Limit = 30 * time.Second

// Within fails when work on an input takes longer than Limit. Work that hangs is left behind: the test ends anyway.
func Within(t *testing.T, name string, work func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
	case <-time.After(Limit):
		t.Fatalf("%s: still at work after %s", name, Limit)
	}
}
