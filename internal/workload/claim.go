package workload

import (
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Claim is what the workload takes of its team's budget, with its meter: nothing for the time to come while it sleeps.
// Who shares its seats is added by who knows.
func (w Workload) Claim(meter []usage.Interval) budget.Claim {
	return budget.Claim{Workload: string(w.ID), Tenant: w.Tenant, Size: w.Size, Holds: w.Holds() && w.Replicas.Hold() > 0,
		Wanted: w.Desired == WantRunning && !w.Replicas.Asleep, Placed: !w.PlacedAt.IsZero(),
		From: w.Lease.From, Until: w.Lease.Until, Intervals: meter, Seats: w.Seats(), Replicas: w.lasting()}
}
