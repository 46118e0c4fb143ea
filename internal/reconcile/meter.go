package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// meter knows which intervals are open. The database is right: after a write whose outcome is unknown everything is read again.
type meter struct {
	store Store

	mu    sync.Mutex
	known bool
	open  map[workload.ID]usage.Interval
}

func newMeter(store Store) *meter { return &meter{store: store} }

func (m *meter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = false
}

func (m *meter) change(ctx context.Context, before, after workload.Workload, now time.Time) (*usage.Interval, error) {
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
	var open *usage.Interval
	if i, ok := m.open[after.ID]; ok {
		open = &i
	}
	return usage.Meter(open, usage.Held{
		Workload: string(after.ID), Tenant: after.Tenant, Size: after.Size.Name, PerHour: after.Size.PricePerHour,
		Placed: after.Observed.PodPresent && after.Observed.Node != "", SeenAt: before.Observed.At,
	}, now), nil
}

func (m *meter) saved(w workload.Workload, change *usage.Interval, err error) {
	if change == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
		m.known = false
	case change.Until.IsZero():
		m.open[w.ID] = *change
	default:
		delete(m.open, w.ID)
	}
}
