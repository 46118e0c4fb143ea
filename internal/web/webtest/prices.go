package webtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Prices keeps a price list in memory.
type Prices struct {
	mu     sync.Mutex
	List   usage.PriceList
	Events []audit.Event // of what was changed
}

// Prices implements usage.PriceStore.
func (p *Prices) Prices(context.Context) (usage.PriceList, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.List), nil
}

// SavePrice implements usage.PriceStore.
func (p *Prices) SavePrice(_ context.Context, price usage.Price, events ...audit.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.List, p.Events = append(p.List, price), append(p.Events, events...)
	return nil
}

// EndPrice implements usage.PriceStore.
func (p *Prices) EndPrice(_ context.Context, id string, until time.Time, events ...audit.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.List, func(q usage.Price) bool {
		return q.ID == id &&
			(q.Until.IsZero() || q.Until.After(until))
	})
	if at < 0 {
		return fault.New(fault.NotFound, i18n.T("prices.not_found"))
	}
	if until.Before(p.List[at].From) {
		until = p.List[at].From
	}
	p.List[at].Until, p.Events = until, append(p.Events, events...)
	return nil
}

// priced is what the world has on offer, and to whom.
func (w *World) priced() usage.Known {
	known := usage.Known{Models: []string{"H100 80GB"}}
	for _, p := range w.Site.Pools {
		known.Pools = append(known.Pools, p.Name)
	}
	for _, s := range w.Site.Catalog.Sizes {
		known.Sizes = append(known.Sizes, s.Name)
	}
	for _, t := range w.Site.Directory.Tenants {
		known.Tenants = append(known.Tenants, t.Name)
	}
	return known
}

// UnmetRequests is who did not get what they asked for, whenever that was.
type UnmetRequests struct{ List []usage.UnmetRequest }

// UnmetRequests implements usage.UnmetStore.
func (m *UnmetRequests) UnmetRequests(_ context.Context, s usage.Span) (list []usage.UnmetRequest, _ error) {
	for _, miss := range m.List {
		if !miss.At.Before(s.From) && miss.At.Before(s.Until) {
			list = append(list, miss)
		}
	}
	return list, nil
}
