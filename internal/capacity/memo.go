package capacity

import (
	"encoding/json"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Memo remembers what was asked about the last snapshot of each cluster: going through five thousand nodes takes
// milliseconds, and every page and request does it with the same result. Sizes are the same where everything in them
// is. The zero value is ready.
type Memo struct{ snapshots inventory.Once[*memoOf] }

// memoOf is what was asked about one snapshot, by the size as JSON.
type memoOf struct {
	mu     sync.Mutex
	bySize map[string]*answers
}

// answers of one size; nil: not asked yet.
type answers struct {
	fit       *inventory.Fit
	why       *i18n.Text
	isolation *catalog.Isolation
}

// mostSizes bounds what is kept of sizes that only somebody's draft has.
const mostSizes = 1000

// Fit is the function Fit.
func (m *Memo) Fit(s inventory.Snapshot, size catalog.Size) inventory.Fit {
	return remembered(m, s, size, func(a *answers) **inventory.Fit { return &a.fit }, Fit)
}

// Why is the function Why.
func (m *Memo) Why(s inventory.Snapshot, size catalog.Size) i18n.Text {
	return remembered(m, s, size, func(a *answers) **i18n.Text { return &a.why }, Why)
}

// Isolation is the function Isolation.
func (m *Memo) Isolation(s inventory.Snapshot, size catalog.Size) catalog.Isolation {
	return remembered(m, s, size, func(a *answers) **catalog.Isolation { return &a.isolation }, Isolation)
}

func remembered[T any](m *Memo, s inventory.Snapshot, size catalog.Size, place func(*answers) **T,
	find func(inventory.Snapshot, catalog.Size) T) T {
	key, err := json.Marshal(size)
	if err != nil {
		return find(s, size)
	}
	of := m.snapshots.Of(s, nil, func() *memoOf { return &memoOf{bySize: map[string]*answers{}} })
	of.mu.Lock()
	defer of.mu.Unlock()
	known := of.bySize[string(key)]
	if known == nil {
		if len(of.bySize) >= mostSizes {
			clear(of.bySize)
		}
		known = &answers{}
		of.bySize[string(key)] = known
	}
	at := place(known)
	if *at == nil {
		found := find(s, size)
		*at = &found
	}
	return **at
}
