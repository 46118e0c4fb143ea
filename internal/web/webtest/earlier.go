package webtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Earlier is what estimates rest on.
type Earlier struct {
	*Store
	Starts  map[string][]forecast.Took // by size
	Decided []time.Duration            // how long requests waited for people
	Early   []time.Duration            // how long before the end of the lease GPUs were given back
}

// Usual adds starts of a size that found a place at once.
func (p *Earlier) Usual(size string, took ...time.Duration) {
	if p.Starts == nil {
		p.Starts = map[string][]forecast.Took{}
	}
	for _, d := range took {
		p.Starts[size] = append(p.Starts[size], forecast.Took{Whole: d, Placed: d / 2})
	}
}

// Took implements forecast.Store, as the methods below.
func (p *Earlier) Took(_ context.Context, size string, _ catalog.WorkloadKind, _ time.Time) ([]forecast.Took, error) {
	return p.Starts[size], nil
}

// DecidedIn is the same for every team.
func (p *Earlier) DecidedIn(context.Context, string, time.Time) ([]time.Duration, error) {
	return p.Decided, nil
}

// GivenBack is the same for every size.
func (p *Earlier) GivenBack(context.Context, string, time.Time) ([]time.Duration, error) {
	return p.Early, nil
}

// Holders are the workloads of the world.
func (p *Earlier) Holders(context.Context) ([]forecast.Held, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []forecast.Held
	for _, w := range p.Works {
		if w.Holds() && w.State != workload.Ended {
			list = append(list, forecast.Held{Workload: w.ID, Tenant: w.Tenant, Cluster: w.Cluster, Size: w.Size,
				Pool: w.Size.LicensePool, Seats: w.LicenseSeats,
				Until: w.Lease.Until, Queued: w.State == workload.Queued, Told: w.CreatedAt})
		}
	}
	slices.SortFunc(list, func(a, b forecast.Held) int { return strings.Compare(string(a.Workload), string(b.Workload)) })
	return list, nil
}
