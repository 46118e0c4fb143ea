package gpumetrics

import (
	"sync"
	"time"
)

// queryCache keeps what is asked for when somebody wants it: one call for a question at a time, however many want its
// answer, and none before the last answer has grown old. A call belongs to nobody's page, so no page that is closed
// ends it, and no page waits for it longer than it likes.
type queryCache[K comparable, V any] struct {
	every time.Duration // how long an answer, or a failure, is good for
	most  int           // how many questions are kept
	done  func()        // called after each answer; nil for nothing

	mu      sync.Mutex
	entries map[K]*cachedAnswer[V]
	slot    chan struct{} // one for each call that may be under way at once
}

type cachedAnswer[V any] struct {
	began time.Time // of the last call
	at    time.Time // of the last answer; zero for never
	value V
	err   error         // of the last call
	call  chan struct{} // closed when the call under way is done; nil when none is
}

func newQueryCache[K comparable, V any](every time.Duration, most, atOnce int, done func()) *queryCache[K, V] {
	return &queryCache[K, V]{every: every, most: most, done: done, entries: map[K]*cachedAnswer[V]{},
		slot: make(chan struct{}, atOnce)}
}

// get is what is known of a question. It begins a call where that is too old; the answer's call is the one under way,
// nil for none.
func (a *queryCache[K, V]) get(key K, now time.Time, ask func() (V, error)) cachedAnswer[V] {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.entries[key]
	if k == nil {
		a.tidy()
		k = &cachedAnswer[V]{}
		a.entries[key] = k
	}
	if k.call == nil && (k.began.IsZero() || now.Sub(k.began) >= a.every) {
		k.began, k.call = now, make(chan struct{})
		go a.ask(k, now, ask)
	}
	return *k
}

func (a *queryCache[K, V]) ask(k *cachedAnswer[V], now time.Time, ask func() (V, error)) {
	a.slot <- struct{}{}
	value, err := ask()
	<-a.slot
	a.mu.Lock()
	if k.err = err; err == nil {
		k.value, k.at = value, now
	}
	close(k.call)
	k.call = nil
	a.mu.Unlock()
	if a.done != nil {
		a.done()
	}
}

// forget drops a question that has failed some time ago, sooner than an answer grows old.
func (a *queryCache[K, V]) forget(key K, now time.Time, after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k := a.entries[key]; k != nil && k.call == nil && k.at.IsZero() && now.Sub(k.began) >= after {
		delete(a.entries, key)
	}
}

// tidy drops the question that was asked the longest ago. It must be called with the lock held.
func (a *queryCache[K, V]) tidy() {
	if len(a.entries) < a.most {
		return
	}
	var oldest K
	var began time.Time
	for key, k := range a.entries {
		if k.call == nil && (began.IsZero() || k.began.Before(began)) {
			oldest, began = key, k.began
		}
	}
	delete(a.entries, oldest)
}
