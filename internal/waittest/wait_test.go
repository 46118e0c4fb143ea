package waittest_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// failing takes what a test is told when it fails.
type failing struct {
	testing.TB
	words string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.words = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failureOf is what a wait that never ends well tells.
func failureOf(wait func(testing.TB)) string {
	f := &failing{}
	done := make(chan struct{})
	go func() { defer close(done); wait(f) }()
	<-done
	return f.words
}

func TestItWaitsUntilItIsSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		time.AfterFunc(time.Minute, func() { ready.Store(true) })
		begun := time.Now()
		waittest.For(t, "a minute", ready.Load)
		if took := time.Since(begun); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("waited %s", took)
		}
	})
}

func TestItFailsWithWhatNeverCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		words := failureOf(func(f testing.TB) {
			waittest.Until(f, "a pod",
				func() error { return errors.New("it is queued") })
		})
		if !strings.Contains(words, "for a pod: it is queued") || time.Since(begun) < waittest.Patience {
			t.Errorf("got %q after %s", words, time.Since(begun))
		}
		if words := failureOf(func(f testing.TB) {
			waittest.Within(f, time.Second, "rain", func() bool { return false })
		}); words != "waited 1s for rain: it never was" {
			t.Errorf("got %q", words)
		}
	})
}
