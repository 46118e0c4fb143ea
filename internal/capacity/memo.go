package capacity

import (
	"reflect"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Memo remembers what was asked about the last snapshot of each cluster: going through five thousand nodes takes
// milliseconds, and every page and request does it with the same result. Sizes are the same where everything in them
// is. The zero value is ready.
type Memo struct{ snapshots inventory.Once[*memoOf] }

// memoOf is what was asked about one snapshot.
type memoOf struct {
	mu    sync.Mutex
	count int
	sizes map[sizeKey][]*answers
}

// sizeKey is what sizes of one name mostly differ in: teams have prices of their own.
type sizeKey struct {
	name      string
	price     usage.Money
	isolation catalog.Isolation
}

// of are the answers of a size, which has its maps and lists from the catalog, as it had them before: then comparing is
// far quicker than writing it down as a key.
func (m *memoOf) of(size *catalog.Size) *answers {
	key := sizeKey{size.Name, size.PricePerHour, size.Isolation}
	for _, known := range m.sizes[key] {
		if reflect.DeepEqual(&known.size, size) {
			return known
		}
	}
	if m.count >= mostSizes {
		clear(m.sizes)
		m.count = 0
	}
	m.count++
	a := &answers{size: *size}
	m.sizes[key] = append(m.sizes[key], a)
	return a
}

// answers of one size; nil: not asked yet.
type answers struct {
	size      catalog.Size
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
	of := m.snapshots.Of(s, nil, func() *memoOf { return &memoOf{sizes: map[sizeKey][]*answers{}} })
	of.mu.Lock()
	defer of.mu.Unlock()
	at := place(of.of(&size))
	if *at == nil {
		found := find(s, size)
		*at = &found
	}
	return **at
}
