package traffic

import (
	"context"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store gives what was kept.
type Store interface {
	// Workload gives one. Fault: NotFound.
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	// TrafficSeries is what all consumers took since a time, by step and revision.
	TrafficSeries(ctx context.Context, id workload.ID, step time.Duration, since time.Time) ([]Row, error)
	// TrafficByConsumer is the same by key and person, the busiest first, as many as most.
	TrafficByConsumer(ctx context.Context, id workload.ID, step time.Duration, since time.Time,
		most int) ([]Consumer, error)
	// Samples are sums since a time, by step.
	Samples(ctx context.Context, id workload.ID, step time.Duration, since time.Time) ([]Sample, error)
}

// MostConsumers are told one by one.
const MostConsumers = 200

// mostCached bounds how many figures are kept for those who ask again.
const mostCached = 256

// Service is for those who may read an endpoint. Store, Meters and Now are needed.
type Service struct {
	Store Store
	// Meters prices workloads up to any moment.
	Meters func(ctx context.Context, items ...workload.Workload) (func(time.Time) map[workload.ID]usage.Money, error)
	Now    func() time.Time

	mu    sync.Mutex
	cache map[cacheKey]Figures
}

type cacheKey struct {
	id   workload.ID
	span string
}

// Of is what went through an endpoint in a span. Everybody who asks within FlushEvery is told the same. Faults:
// NotFound, Conflict for what is no endpoint.
func (s *Service) Of(ctx context.Context, a identity.Actor, id workload.ID, span Span) (Figures, error) {
	if err := identity.Known(a); err != nil {
		return Figures{}, err
	}
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return Figures{}, err
	}
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return Figures{}, err
	}
	if w.Kind != catalog.Endpoint {
		return Figures{}, fault.New(fault.Conflict, i18n.T("traffic.endpoints_only"))
	}
	now, key := s.Now(), cacheKey{w.ID, span.Name}
	s.mu.Lock()
	f, ok := s.cache[key]
	s.mu.Unlock()
	if age := now.Sub(f.Until); ok && age >= 0 && age < FlushEvery {
		return f, nil
	}
	if f, err = s.read(ctx, w, span, now); err != nil {
		return f, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil || len(s.cache) >= mostCached {
		s.cache = map[cacheKey]Figures{}
	}
	s.cache[key] = f
	return f, nil
}

func (s *Service) read(ctx context.Context, w workload.Workload, span Span, now time.Time) (Figures, error) {
	since := span.Since(now)
	rows, err := s.Store.TrafficSeries(ctx, w.ID, span.Kept.Long, since)
	if err != nil {
		return Figures{}, err
	}
	samples, err := s.Store.Samples(ctx, w.ID, span.Kept.Long, since)
	if err != nil {
		return Figures{}, err
	}
	f := newFigures(span, now, rows, samples)
	f.Consumers, err = s.Store.TrafficByConsumer(ctx, w.ID, span.Kept.Long, since, MostConsumers+1)
	if err != nil {
		return Figures{}, err
	}
	if f.More = len(f.Consumers) > MostConsumers; f.More {
		f.Consumers = f.Consumers[:MostConsumers]
	}
	cost, err := s.Meters(ctx, w)
	if err != nil {
		return Figures{}, err
	}
	f.Cost = cost(now)[w.ID]
	f.Cost.Minor -= cost(since)[w.ID].Minor
	return f, nil
}
