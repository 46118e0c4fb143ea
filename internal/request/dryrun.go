package request

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// dryRun is a Tx over what a Reader sees. What is saved counts for what is read after it and is gone with the value; it
// is refused for the same reasons as in the store.
type dryRun struct {
	records
	budget.Tx
	claims map[string]budget.Claim // of workloads and storage that were saved
}

func newDryRun(in Reader) *dryRun {
	return &dryRun{records: in, Tx: budget.DryRun(in), claims: map[string]budget.Claim{}}
}

// SaveRequest refuses what would be new or approved in a cluster that is held.
func (d *dryRun) SaveRequest(ctx context.Context, r Request) (Request, error) {
	if r.Version == 0 || r.State == Approved {
		held, err := d.ClusterHeld(ctx, r.Spec.Cluster)
		if err != nil {
			return Request{}, err
		}
		if held {
			why := i18n.T("drift.held", "Cluster", r.Spec.Cluster)
			return Request{}, &Refusal{Cause: &fault.Error{Kind: fault.Unavailable, Sentence: why,
				Fields: []fault.Field{{Name: "cluster", Reason: why}}}}
		}
	}
	r.Version++
	return r, nil
}

// SaveWorkload keeps what it claims of the budget.
func (d *dryRun) SaveWorkload(_ context.Context, w workload.Workload) error {
	d.claims[string(w.ID)] = w.Claim(nil)
	return nil
}

// SaveVolume keeps what new storage claims of the budget, from when it was made.
func (d *dryRun) SaveVolume(_ context.Context, v workload.Volume) error {
	id := budget.VolumeID(v.Tenant, v.Name)
	if v.Version == 0 {
		d.claims[id] = budget.Claim{Workload: id, Tenant: v.Tenant, Holds: true, Wanted: true,
			StorageIntervals: []usage.StorageInterval{{Volume: v.Name, Tenant: v.Tenant, Owner: string(v.Owner),
				OwnerName: v.OwnerName,
				GiB:       int64(v.GiB), From: v.CreatedAt}}}
	}
	return nil
}

// BudgetClaim gives that of what was saved before what is stored.
func (d *dryRun) BudgetClaim(ctx context.Context, id string) (budget.Claim, error) {
	if c, saved := d.claims[id]; saved {
		return c, nil
	}
	return d.Tx.BudgetClaim(ctx, id)
}

// RaiseQuota writes nothing.
func (d *dryRun) RaiseQuota(context.Context, Raise) error { return nil }
