package gateway

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Visits records who used which workload last.
type Visits interface {
	SaveVisits(ctx context.Context, visits []workload.Visit) error
}

// visitEvery is how often the same visit is written down.
const visitEvery = workload.Inside / 3

// visits is when each visit was written down last.
type visits struct {
	mu      sync.Mutex
	written map[holder]time.Time
}

// ReportVisits writes down who has a connection open, or made a call since the last report; the app calls it all the
// time. What cannot be written is told with the next report while the visit goes on.
func (g *Gateway) ReportVisits(ctx context.Context) error {
	now := g.opts.Now()
	var list []workload.Visit
	var whose []holder
	g.visits.mu.Lock()
	defer g.visits.mu.Unlock()
	for h := range g.passes.inside() {
		if last, ok := g.visits.written[h]; ok && now.Sub(last) < visitEvery {
			continue
		}
		list = append(list, workload.Visit{Workload: h.workload, Person: h.person, At: now})
		whose = append(whose, h)
	}
	maps.DeleteFunc(g.visits.written, func(_ holder, at time.Time) bool { return now.Sub(at) >= visitEvery })
	if len(list) == 0 {
		return nil
	}
	if err := g.opts.Visits.SaveVisits(ctx, list); err != nil {
		return err
	}
	if g.visits.written == nil {
		g.visits.written = map[holder]time.Time{}
	}
	for _, h := range whose {
		g.visits.written[h] = now
	}
	return nil
}

// inside gives the people with open connections and those who came since it was asked last.
func (ps *passes) inside() map[holder]struct{} {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	all := ps.came
	ps.came = map[holder]struct{}{}
	for h := range ps.holding {
		if h.person != "" {
			all[h] = struct{}{}
		}
	}
	return all
}
