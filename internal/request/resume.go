package request

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ResumeKind asks that a stopped workload may run again: it waits for a license seat, which needs nobody's word, or for
// an approver where the team's budget has not enough left.
const ResumeKind Kind = "resume"

// resumed is the place in the line of a workload that is to run again. It is its owner's, whoever pressed the button,
// and ends with the lease.
func resumed(w workload.Workload, a identity.Actor, f Facts) Outcome {
	r := Request{
		ID: f.ID, Kind: ResumeKind, Asker: w.Owner, AskerName: w.OwnerName, State: Pending, Workload: w.ID, CreatedAt: f.Now,
		Spec:     specOf(w, catalog.Duration(w.Lease.Left(f.Now).Truncate(time.Minute)), ""),
		Decision: Decision{Rule: string(ResumeKind)},
	}
	r.Estimate.Currency = w.Size.PricePerHour.Currency // the lease was paid for with its own request
	out := queued(r, a, f)
	if until := w.Lease.Until; until.Before(out.Request.ExpiresAt) {
		out.Request.ExpiresAt = until
	}
	return out
}

// grantResume lets the workload run again.
func grantResume(r Request, f Facts, approved audit.Event) (Outcome, error) {
	if r.Decision.Rule == string(ResumeKind) {
		r.Decision.Sentence = i18n.T("request.resumed")
	}
	w := *f.Extends
	if !w.Holds() {
		w.AvoidNodes = f.Avoid
	}
	w, events, err := workload.Start(w, identity.System(), f.Now)
	return Outcome{Request: r, Workload: &w, Events: carriedOut(r, approved, events...)}, err
}

// resumeClaim is what a stopped workload would take of a budget if it ran.
func resumeClaim(w workload.Workload) budget.Claim {
	w.Desired = workload.WantRunning
	return w.Claim(nil)
}

// unaffordable is what stands against a resume for want of budget: it asks nobody, so that what would need an approver
// waits as well.
func unaffordable(b budget.Ask) []fault.Field {
	if b.Fits() {
		return nil
	}
	return []fault.Field{{Name: "lease", Reason: b.Sentence("budget.over")}}
}
