package request

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// BudgetRule is the name under which a decision says that the budget, and no rule of the administrators', asks for an
// approver.
const BudgetRule = "budget"

// startClaim is what a spec would take of a budget: its size, its seats, and the storage that begins with it.
func startClaim(w Spec, f Facts) budget.Claim {
	c := budget.Start(w.Tenant, w.Size, f.Now, w.Lease.Std())
	c.Seats, c.Replicas = f.seatsOf(w), w.Replicas.Least()
	return c.WithStorage(w.newStorage())
}

// newStorage is how many GiB of storage a start makes; what is kept already is somebody's own claim.
func (w Spec) newStorage() int64 {
	if w.Volume != "" || w.Image.Home == "" {
		return 0
	}
	return int64(w.StorageGiB)
}

// seatsOf are the license seats that a start takes.
func (f Facts) seatsOf(w Spec) usage.Seats {
	if f.Seats == nil {
		return usage.Seats{}
	}
	return usage.Seats{Pool: f.Seats.Pool.Name, Count: int64(f.seatCount(w))}
}

// Extras is what a request costs beside its size: its seats for the lease, and for as long the storage that a start
// makes; what is kept already costs the same with it and without.
func (f Facts) Extras(kind Kind, w Spec) usage.ExtraCosts {
	gib := int64(0)
	if kind == StartKind {
		gib = w.newStorage()
	}
	return f.Prices.ExtraCosts(w.Tenant, gib, f.seatsOf(w), usage.Span{From: f.Now, Until: f.Now.Add(w.Lease.Std())},
		w.Size.PricePerHour.Currency)
}

// estimate is what a request costs for its lease, with all that is charged.
func (f Facts) estimate(kind Kind, w Spec) usage.Money {
	if kind.free() {
		return usage.Money{Currency: w.Size.PricePerHour.Currency}
	}
	beside := f.Extras(kind, w)
	return w.price().Add(beside.Storage).Add(beside.Seats)
}

// PricePerHour is that of all replicas that it starts with.
func (w Spec) PricePerHour() usage.Money {
	return usage.Money{Minor: int64(w.Replicas.Least()) * w.Size.PricePerHour.Minor,
		Currency: w.Size.PricePerHour.Currency}
}

// price is that of the size for the lease, for all replicas that it starts with.
func (w Spec) price() usage.Money {
	one := w.Size.PricePerHour.For(w.Lease.Std())
	return usage.Money{Minor: int64(w.Replicas.Least()) * one.Minor, Currency: one.Currency}
}

// estimateMost is what a start costs with all the replicas that may be set; zero where those are the ones that it
// starts with.
func (f Facts) estimateMost(w Spec) usage.Money {
	if w.Replicas.Most() == w.Replicas.Least() {
		return usage.Money{}
	}
	return f.estimate(StartKind, w.atMost())
}

// extendClaim is what a workload would take with a longer lease.
func extendClaim(w workload.Workload, more catalog.Duration, now time.Time) budget.Claim {
	w.Lease.Until = extendedUntil(w, more, now)
	return w.Claim(nil)
}

// grantedClaim is what a request takes as it would be granted.
func grantedClaim(kind Kind, w Spec, f Facts) budget.Claim {
	if kind == ResumeKind {
		return resumeClaim(*f.Extends)
	}
	if f.Extends != nil {
		return extendClaim(*f.Extends, w.Lease, f.Now)
	}
	return startClaim(w, f)
}

// holdBudget puts aside what a granted request takes, and what the storage that begins with it does. What no person
// agreed to must be within the budget.
func (c *core) holdBudget(ctx context.Context, tx Tx, out Outcome) error {
	if c.budgets == nil {
		return nil
	}
	ids := []string{string(out.Workload.ID)}
	if out.Workload.Version == 0 && out.Workload.Volume != "" {
		ids = append(ids, budget.VolumeID(out.Workload.Tenant, out.Workload.Volume))
	}
	for _, id := range ids {
		claim, err := tx.BudgetClaim(ctx, id)
		if err != nil {
			return err
		}
		if err := c.budgets.Hold(ctx, tx, claim, out.Request.Decision.By == ""); err != nil {
			return err
		}
	}
	return nil
}

// overBudget is the field that has to change when the budget stops a request: a shorter lease takes less.
func overBudget(b budget.Ask) []fault.Field {
	if !b.Stops() {
		return nil
	}
	return []fault.Field{{Name: "lease", Reason: b.Sentence("budget.over")}}
}

// grantObstacles is what stands in the way of a request at the moment of its last approval.
func grantObstacles(r Request, f Facts) []fault.Field {
	if r.Kind == ReachKind {
		return reachObstacles(r, f)
	}
	if r.Kind == QuotaKind { // it takes nothing of a budget, nor of what there is
		return nil
	}
	if !f.ImageGone.IsZero() && (r.Kind == StartKind || r.Kind == ResumeKind && r.Spec.Image.IsCustom()) {
		return []fault.Field{{Name: "image", Reason: f.ImageGone}}
	}
	if r.Kind == StartKind || r.Kind == ResumeKind && !f.Extends.Holds() {
		if fields := shortages(r.Spec, f); len(fields) > 0 {
			return fields
		}
	}
	if r.Kind == ResumeKind && len(r.Decision.Steps) == 0 { // nobody was asked
		return unaffordable(f.Budget)
	}
	return overBudget(f.Budget)
}

// budgeted lets an approver look at what a rule would allow, where the budget asks for that.
func budgeted(v policy.Verdict, b budget.Ask) policy.Verdict {
	if v.Outcome != policy.Allow || !b.NeedsApproval() {
		return v
	}
	return policy.Verdict{Outcome: policy.Approve, Rule: BudgetRule, Steps: policy.OneOf(identity.Approver),
		Sentence: b.Sentence("budget.needs_approval")}
}
