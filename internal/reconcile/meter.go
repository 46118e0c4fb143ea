package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// meter knows which intervals are open. The database is right: after a write whose outcome is unknown everything is
// read again.
type meter struct {
	store  Store
	prices func() usage.PriceList                // nil for none
	sku    func(size string) usage.SKU           // of a size in the catalog; zero for one that is not
	seats  func(w workload.Workload) usage.Seats // nil: each workload holds its own

	mu    sync.Mutex
	known bool
	open  map[workload.ID]usage.Interval
}

func newMeter(store Store, prices func() usage.PriceList, sku func(size string) usage.SKU,
	seats func(w workload.Workload) usage.Seats) *meter {
	if seats == nil {
		seats = workload.Workload.Seats
	}
	return &meter{store: store, prices: prices, sku: sku, seats: seats}
}

// sku is what is in a size of the catalog; zero for one that is not there any more.
func (o Options) sku(size string) usage.SKU {
	known, ok := o.Site().Catalog.Size(size)
	if !ok {
		return usage.SKU{}
	}
	return known.SKU()
}

func (m *meter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = false
}

// change says how the meter changes. Where it does, the database is asked: another controller, a leader that was
// asleep, may have opened, cut or closed the interval. Its write and the row's are one, so what is read here holds
// until this row is saved, or the save is a Conflict.
func (m *meter) change(ctx context.Context, before, after workload.Workload, now time.Time) (*usage.Interval, error) {
	if before.Metered() == after.Metered() {
		known, err := m.openOf(ctx, after.ID)
		if err != nil {
			return nil, err
		}
		if m.next(known, before, after, now) == nil {
			return nil, nil
		}
	}
	open, err := m.store.OpenInterval(ctx, after.ID)
	if err != nil {
		return nil, err
	}
	return m.next(open, before, after, now), nil
}

func (m *meter) next(open *usage.Interval, before, after workload.Workload, now time.Time) *usage.Interval {
	var prices usage.PriceList
	if m.prices != nil {
		prices = m.prices()
	}
	var former usage.SKU
	if open != nil && open.Size != after.Size.Name && m.sku != nil {
		former = m.sku(open.Size)
	}
	return usage.Meter(open, usage.Allocation{PreviousSKU: former,
		Workload: string(after.ID), Tenant: after.Tenant, Size: after.Size.Name, PerHour: after.Size.PricePerHour,
		Prices: prices, SKU: after.Size.SKU(),
		Seats: m.seats(after), Placed: after.Metered() > 0, Replicas: replicas(after), SeenAt: before.Observed.At,
	}, now)
}

// replicas is how many hold a GPU, as the meter has it: 0 where it is one.
func replicas(w workload.Workload) int64 {
	if n := w.Metered(); n > 1 {
		return int64(n)
	}
	return 0
}

// openOf is the open interval of a workload as far as this controller knows, nil for none.
func (m *meter) openOf(ctx context.Context, id workload.ID) (*usage.Interval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		open, err := m.store.OpenIntervals(ctx)
		if err != nil {
			return nil, err
		}
		m.open, m.known = open, true
		if m.open == nil {
			m.open = map[workload.ID]usage.Interval{}
		}
	}
	if i, ok := m.open[id]; ok {
		return &i, nil
	}
	return nil, nil
}

func (m *meter) saved(w workload.Workload, change *usage.Interval, err error) {
	if change == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for err == nil && change.Then != nil {
		change = change.Then
	}
	switch {
	case err != nil:
		m.known = false
	case !m.known: // everything is read anyway
	case change.Until.IsZero():
		m.open[w.ID] = *change
	default:
		delete(m.open, w.ID)
	}
}
