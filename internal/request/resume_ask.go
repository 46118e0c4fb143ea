package request

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SubmitResume puts the request to resume before an approver. What the budget has enough for goes on at once: it may
// have got some between question and answer.
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
	spec := specOf(w, left, reason)
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
	}
	if fields := grantObstacles(r, f); len(fields) > 0 {
		return Outcome{}, &fault.Error{Kind: fault.Conflict, Sentence: fields[0].Reason, Fields: fields}
	}
	if ask && reason == "" {
		return Outcome{}, fault.InvalidFields([]fault.Field{{Name: "reason", Reason: i18n.T("request.reason_needed")}})
	}
	submitted := event(r, a, audit.RequestSubmitted, f.Now, r.Decision.Sentence)
	if ask {
		return Outcome{Request: r, Events: []audit.Event{submitted}}, nil
	}
	out, err := grantOrQueue(r, a, f)
	out.Events = append([]audit.Event{submitted}, out.Events...)
	return out, err
}

// grantOrQueue grants what nothing but a seat can keep waiting.
func grantOrQueue(r Request, a identity.Actor, f Facts) (Outcome, error) {
	if f.waitsForSeat(r) {
		return queued(r, a, f), nil
	}
	return grant(r, a, f)
}
