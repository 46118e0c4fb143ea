package workload

import (
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Claim is what the workload takes of its team's budget, with its meter. Who shares its seats is added by who knows.
func (w Workload) Claim(meter []usage.Interval) budget.Claim {
	return budget.Claim{Workload: string(w.ID), Tenant: w.Tenant, Size: w.Size, Holds: w.Holds(),
		Wanted: w.Desired == WantRunning, Placed: !w.PlacedAt.IsZero(),
		From: w.Lease.From, Until: w.Lease.Until, Intervals: meter, Seats: w.Seats(), Replicas: w.Replicas.Want()}
}
