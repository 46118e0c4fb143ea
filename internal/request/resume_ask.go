package request

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SubmitResume puts the request to resume before an approver. What the budget has enough for goes on at once: it may have
// got some between question and answer.
func SubmitResume(w workload.Workload, reason string, a identity.Actor, f Facts) (Outcome, error) {
	f.Extends = &w
	switch {
	case w.Desired == workload.WantRunning:
		return Outcome{}, fault.New(fault.Conflict, i18n.T("request.runs_already", "Name", w.Name))
	case !w.CanStart():
		return Outcome{}, fault.New(fault.Conflict, i18n.T("workload.gone"))
	case w.Lease.Over(f.Now):
		return Outcome{}, fault.New(fault.Conflict, i18n.T("workload.start_after_lease"))
	}
	left := catalog.Duration(w.Lease.Left(f.Now).Round(time.Second))
	spec := Spec{Kind: w.Kind, Tenant: w.Tenant, Name: w.Name, Size: w.Size, Image: w.Image, Cluster: w.Cluster,
		Lease: left, Reason: reason, Workload: w.ID}
	r := Request{
		ID: f.ID, Kind: ResumeKind, Asker: a.Person.ID, AskerName: a.Person.Name, Spec: spec, State: Pending, Workload: w.ID,
		Estimate: f.estimate(ResumeKind, spec), CreatedAt: f.Now, ExpiresAt: f.Now.Add(TTL),
		Decision: Decision{Rule: BudgetRule, Sentence: i18n.T("budget.enough")},
	}
	if w.Lease.Until.Before(r.ExpiresAt) {
		r.ExpiresAt = w.Lease.Until
	}
	ask := f.Budget.NeedsApproval()
	if ask {
		r.Decision.Sentence, r.Decision.Steps, r.Decision.Since = f.Budget.Sentence("budget.needs_approval"),
			policy.OneOf(identity.Approver), f.Now
		r.Decision.Needs = policy.FirstRole(r.Decision.Steps)
	}
	if fields := granting(r, f); len(fields) > 0 {
		return Outcome{}, &fault.Error{Kind: fault.Conflict, Sentence: fields[0].Reason, Fields: fields}
	}
	if ask && reason == "" {
		return Outcome{}, fault.InvalidFields([]fault.Field{{Name: "reason", Reason: i18n.T("request.reason_needed")}})
	}
	submitted := event(r, a, audit.RequestSubmitted, f.Now, r.Decision.Sentence)
	if ask {
		return Outcome{Request: r, Events: []audit.Event{submitted}}, nil
	}
	out, err := goOn(r, a, f)
	out.Events = append([]audit.Event{submitted}, out.Events...)
	return out, err
}

// goOn grants what nothing but a seat can keep waiting.
func goOn(r Request, a identity.Actor, f Facts) (Outcome, error) {
	if f.waitsForSeat(r) {
		return queued(r, a, f), nil
	}
	return grant(r, a, f)
}

// Resume asks that a stopped workload may run again where the budget wants an approver to agree. Who has asked already
// gets the request that waits.
func (s *Service) Resume(ctx context.Context, a identity.Actor, id workload.ID, reason string) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	seen, err := s.Store.Workload(ctx, id)
	if err != nil {
		return Request{}, err
	}
	if err := workload.Permit(a, identity.ChangeWorkload, seen); err != nil {
		return Request{}, err
	}
	if waiting, err := s.waitingResume(ctx, a, id); err != nil || waiting.ID != "" {
		return waiting, err
	}
	c := checker{offering: Offering{Limits: s.Site().Limits}}
	words := c.reason(reason)
	if len(c.fields) > 0 {
		return Request{}, fault.InvalidFields(c.fields)
	}
	t, err := s.working(seen.Tenant)
	if err != nil {
		return Request{}, s.refused(ctx, a, Draft{Tenant: seen.Tenant}, err)
	}
	q := subject{kind: ResumeKind, spec: specOf(seen, 0, words), tenant: t, target: id}
	before := s.before(ctx, t, q.spec)
	var r Request
	err = s.exclusively(ctx, t.Name, func(tx Tx) error {
		f, err := s.gather(ctx, tx, before, q)
		if err != nil {
			return err
		}
		out, err := SubmitResume(*f.Extends, words, a, f)
		if err != nil {
			return err
		}
		r, err = s.save(ctx, tx, out)
		return err
	})
	return s.idempotent(ctx, a, Draft{Tenant: seen.Tenant}, r, err)
}

// waitingResume is what somebody has asked for a workload and nobody has decided; the zero Request where there is none.
func (s *Service) waitingResume(ctx context.Context, a identity.Actor, id workload.ID) (Request, error) {
	return s.waitingFor(ctx, ResumeKind, Filter{Asker: a.Person.ID, About: id})
}

// PendingExtension is the extension of a workload that nobody has decided; the zero Request where there is none.
func (s *Service) PendingExtension(ctx context.Context, a identity.Actor, w workload.Workload) (Request, error) {
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return Request{}, err
	}
	return s.waitingFor(ctx, ExtendKind, Filter{About: w.ID})
}

// waitingFor is the newest pending request of a kind; a workload has few.
func (s *Service) waitingFor(ctx context.Context, kind Kind, f Filter) (Request, error) {
	f.States, f.Limit = []State{Pending}, 100
	list, _, err := s.Store.Requests(ctx, f)
	if i := slices.IndexFunc(list, func(r Request) bool { return r.Kind == kind }); i >= 0 {
		return list[i], err
	}
	return Request{}, err
}
