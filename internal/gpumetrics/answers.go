package gpumetrics

import (
	"sync"
	"time"
)

// answers keeps what is asked for when somebody wants it: one call for a question at a time, however many want its
// answer, and none before the last answer has grown old. A call belongs to nobody's page, so no page that is closed
// ends it, and no page waits for it longer than it likes.
type answers[K comparable, V any] struct {
	every time.Duration // how long an answer, or a failure, is good for
	most  int           // how many questions are kept
	done  func()        // called after each answer; nil for nothing

	mu   sync.Mutex
	kept map[K]*kept[V]
	slot chan struct{} // one for each call that may be under way at once
}

type kept[V any] struct {
	began time.Time // of the last call
	at    time.Time // of the last answer; zero for never
	value V
	err   error         // of the last call
	call  chan struct{} // closed when the call under way is done; nil when none is
}

func newAnswers[K comparable, V any](every time.Duration, most, atOnce int, done func()) *answers[K, V] {
	return &answers[K, V]{every: every, most: most, done: done, kept: map[K]*kept[V]{}, slot: make(chan struct{}, atOnce)}
}

// get is what is known of a question. It begins a call where that is too old; the answer's call is the one under way,
// nil for none.
func (a *answers[K, V]) get(key K, now time.Time, ask func() (V, error)) kept[V] {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kept[key]
	if k == nil {
		a.tidy()
		k = &kept[V]{}
		a.kept[key] = k
	}
	if k.call == nil && (k.began.IsZero() || now.Sub(k.began) >= a.every) {
		k.began, k.call = now, make(chan struct{})
		go a.ask(k, now, ask)
	}
	return *k
}

func (a *answers[K, V]) ask(k *kept[V], now time.Time, ask func() (V, error)) {
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

// tidy drops the question that was asked the longest ago. It must be called with the lock held.
func (a *answers[K, V]) tidy() {
	if len(a.kept) < a.most {
		return
	}
	var oldest K
	var began time.Time
	for key, k := range a.kept {
		if k.call == nil && (began.IsZero() || k.began.Before(began)) {
			oldest, began = key, k.began
		}
	}
	delete(a.kept, oldest)
}
