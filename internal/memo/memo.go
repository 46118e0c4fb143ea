// Package memo keeps the last answer to a question about the whole site, such as what every workload has cost: many
// look at it, and it costs too much to work out for each. A Memo is asked with a key, usually the number of the last
// change in the database.
package memo

import (
	"sync"
	"time"
)

// Memo keeps one answer. The zero value is empty and ready. It may be used from several goroutines.
type Memo[K comparable, V any] struct {
	mu    sync.Mutex
	key   K
	at    time.Time
	value V
}

// Get is the answer that is kept under the key if it is younger than lasts, else what work gives. Answers belong to all
// who ask and must not be changed. Those who ask at the same time may work it out at the same time: nobody waits for
// another. An error is not kept.
func (m *Memo[K, V]) Get(key K, now time.Time, lasts time.Duration, work func() (V, error)) (V, error) {
	if v, ok := m.kept(key, now, lasts); ok {
		return v, nil
	}
	v, err := work()
	if err == nil {
		m.keep(key, now, v)
	}
	return v, err
}

func (m *Memo[K, V]) kept(key K, now time.Time, lasts time.Duration) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	age := now.Sub(m.at)
	return m.value, m.key == key && !m.at.IsZero() && age >= 0 && age < lasts
}

func (m *Memo[K, V]) keep(key K, now time.Time, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.key, m.at, m.value = key, now, v
}
