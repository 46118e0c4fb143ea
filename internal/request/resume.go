package request

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
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
		Spec: Spec{Kind: w.Kind, Tenant: w.Tenant, Name: w.Name, Size: w.Size, Image: w.Image, Cluster: w.Cluster,
			Workload: w.ID,
			Lease:    catalog.Duration(w.Lease.Left(f.Now).Truncate(time.Minute))},
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

// needless takes back what waits for a workload that runs already, or is gone.
func (s *Service) needless(ctx context.Context, tx Tx, r Request, now time.Time) error {
	out, err := Withdraw(r, identity.System(), now)
	if err != nil {
		return err
	}
	_, err = s.save(ctx, tx, out)
	return err
}

// QueueAhead counts who waits for seats of a pool, besides a workload's own resume.
func (s *Service) Ahead(ctx context.Context, tx Tx, pool string, but workload.ID) (n int, err error) {
	line, err := tx.SeatLine(ctx)
	for _, w := range line {
		if w.Pool == pool && w.Workload != but {
			n++
		}
	}
	return n, err
}

// Join puts a resume at the end of the line for seats of a pool. One that stands there keeps its place.
func (s *Service) Join(ctx context.Context, tx Tx, a identity.Actor, w workload.Workload, pool license.Pool) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	line, err := tx.SeatLine(ctx)
	if err != nil || slices.ContainsFunc(line, func(x Waiting) bool { return x.Workload == w.ID }) {
		return err
	}
	_, err = s.save(ctx, tx, resumed(w, a, Facts{Now: s.Now(), ID: ID(s.NewID("r-")), Seats: &license.Seats{Pool: pool}}))
	return err
}

// ResumeOf is the request by which a stopped workload waits for a seat, with its place in the line; "" where it does
// not wait.
func (s *Service) ResumeOf(ctx context.Context, w workload.Workload) (id ID, place int, err error) {
	if !w.CanStart() || w.Size.LicensePool == "" {
		return "", 0, nil
	}
	line, err := s.Store.SeatLine(ctx)
	ahead := map[string]int{}
	for _, x := range line {
		ahead[x.Pool]++
		if x.Workload == w.ID {
			return x.ID, ahead[x.Pool], err
		}
	}
	return "", 0, err
}
