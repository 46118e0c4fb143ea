// Package waittest has tests wait for conditions. It is the one loop that sleeps: a test says what it waits for.
package waittest

import (
	"errors"
	"testing"
	"time"
)

// Patience is for what comes within seconds on an idle machine, and later on one at load 10.
const Patience = 3 * time.Minute

// For waits until something is so, and fails the test where it never is.
func For(t testing.TB, what string, so func() bool) {
	t.Helper()
	Within(t, Patience, what, so)
}

var errNotSo = errors.New("it never was")

// Within is For with a patience of its own.
func Within(t testing.TB, patience time.Duration, what string, so func() bool) {
	t.Helper()
	until(t, patience, what, func() error {
		if so() {
			return nil
		}
		return errNotSo
	})
}

// Until waits until ask gives no error, and fails the test with its last one.
func Until(t testing.TB, what string, ask func() error) {
	t.Helper()
	until(t, Patience, what, ask)
}

// until asks often at first and ten times a second later. It asks once more when the time is over: on a machine that
// stalls nobody may have asked in time.
func until(t testing.TB, patience time.Duration, what string, ask func() error) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(patience); ; pause = min(2*pause, 100*time.Millisecond) {
		over := time.Now().After(end)
		err := ask()
		if err == nil {
			return
		}
		if over {
			t.Fatalf("waited %s for %s: %v", patience, what, err)
		}
		time.Sleep(pause)
	}
}
