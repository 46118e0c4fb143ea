package request

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// BudgetRule is the name under which a decision says that the budget, and no rule of the administrators', asks for an approver.
const BudgetRule = "budget"

// startClaim is what a wish would take of a budget.
func startClaim(w Wish, now time.Time) budget.Claim {
	return budget.Start(w.Tenant, w.Size, now, w.Lease.Std())
}

// extendClaim is what a workload would take with a longer lease.
func extendClaim(w workload.Workload, more catalog.Duration, now time.Time) budget.Claim {
	w.Lease.Until = extendedUntil(w, more, now)
	return w.Claim(nil)
}

// grantedClaim is what a request takes as an approver grants it, perhaps for a shorter time.
func grantedClaim(kind Kind, w Wish, lease catalog.Duration, f Facts) budget.Claim {
	if lease > 0 {
		w.Lease = lease
	}
	if kind == ResumeKind {
		return resumeClaim(*f.Extends)
	}
	if f.Extends != nil {
		return extendClaim(*f.Extends, w.Lease, f.Now)
	}
	return startClaim(w, f.Now)
}

// budgetOf says in a decision's transaction what a claim takes of the team's budget.
func (s *Service) budgetOf(ctx context.Context, tx Tx, c budget.Claim) (budget.Ask, error) {
	if s.Budgets == nil {
		return budget.Ask{}, nil
	}
	if c.Workload != "" {
		metered, err := tx.BudgetClaim(ctx, c.Workload)
		if err != nil {
			return budget.Ask{}, err
		}
		c.Intervals = metered.Intervals
	}
	return s.Budgets.Ask(ctx, tx, c)
}

// budgetBefore is budgetOf for a start that nobody has sent yet.
func (s *Service) budgetBefore(ctx context.Context, c budget.Claim) (budget.Ask, error) {
	st, err := s.standing(ctx, c.Tenant)
	return st.Ask(c, budget.Share{}), err
}

func (s *Service) standing(ctx context.Context, tenant string) (budget.Standing, error) {
	if s.Budgets == nil {
		return budget.Standing{}, nil
	}
	return s.Budgets.Standing(ctx, s.Store, tenant)
}

// hold puts aside what a granted request takes. What no person agreed to must be within the budget.
func (s *Service) hold(ctx context.Context, tx Tx, out Outcome) error {
	if s.Budgets == nil {
		return nil
	}
	c, err := tx.BudgetClaim(ctx, string(out.Workload.ID))
	if err != nil {
		return err
	}
	return s.Budgets.Hold(ctx, tx, c, out.Request.Decision.By == "")
}

// overBudget is the field that has to change when the budget stops a request: a shorter lease takes less.
func overBudget(b budget.Ask) []fault.Field {
	if !b.Stops() {
		return nil
	}
	return []fault.Field{{Name: "lease", Reason: b.Sentence("budget.over")}}
}

// granting is what stands in the way of a request at the moment of its last approval.
func granting(r Request, f Facts) []fault.Field {
	if r.Kind == QuotaKind { // it takes nothing of a budget, nor of what there is
		return nil
	}
	if r.Kind == StartKind && f.ImageRetired {
		return []fault.Field{{Name: "image", Reason: i18n.T("request.image_retired", "Name", r.Wish.Image.Title)}}
	}
	if r.Kind == StartKind || r.Kind == ResumeKind && !f.Extends.Holds() {
		if fields := shortages(r.Wish, f); len(fields) > 0 {
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
	return policy.Verdict{Outcome: policy.Approve, Rule: BudgetRule, Steps: policy.OneOf(identity.Approver), Sentence: b.Sentence("budget.needs_approval")}
}
