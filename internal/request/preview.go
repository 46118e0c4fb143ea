package request

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Preview is the outcome that a draft would have if it were sent now. Nothing is written.
type Preview struct {
	Spec       Spec
	Fields     []fault.Field    // what must be changed first
	Note       i18n.Text        // of a custom image: what should be looked at, and hinders nothing; zero for none
	Verdict    policy.Verdict   // meaningful without Fields
	Price      usage.Money      // of the size, for the whole lease, with the replicas that it starts with
	PriceMost  usage.Money      // with as many as may be set
	Extras     usage.ExtraCosts // what is charged beside it
	Until      time.Time
	Fit        inventory.Fit
	Why        i18n.Text // why none could start now; zero when some could
	QueueDepth int       // workloads of this size that are granted and wait for a place
	Quota      Quota
	Seats      *license.Seats
	// AdditionalSeats are those of the pool that it takes beside those that are taken.
	AdditionalSeats int
	Place           int         // in the line for seats, where it would have to wait for one; 0 where it need not
	Budget          budget.Ask  // what it takes of the team's budget
	Refused         i18n.Text   // the rule's sentence when it refuses
	Alternatives    Alternative // a size that would start now, when this one would not; zero for none
	// Planned is the workload that it would become; nil while too much of it is missing.
	Planned *workload.Workload
	Model   *ModelFit // of an endpoint whose model tells by its name how large it is
}

// StartsNow reports whether sending would start it at once.
func (p Preview) StartsNow() bool {
	return len(p.Fields) == 0 && p.Place == 0 && p.Refused.IsZero() && p.Verdict.Outcome == policy.Allow && p.Fit.Known &&
		p.Fit.Free >= p.QueueDepth+p.Spec.Replicas.Least()
}

// NeedsReason reports whether nothing is missing but what the approver will read.
func (p Preview) NeedsReason() bool {
	return onlyReasonMissing(p.Fields)
}

// preview tells what submit came to, with what is told beside it.
func (s *Service) preview(ctx context.Context, a identity.Actor, p prepared, c completed, out Outcome,
	refusal error) (v Preview, err error) {
	f, w := c.facts, c.spec
	v = Preview{Spec: w, Fields: fieldsOf(refusal), Note: p.note, Fit: f.Fit, Quota: f.Quota, Seats: f.Seats,
		AdditionalSeats: f.additionalSeats(w),
		Place:           f.seatPlace(w), Budget: f.Budget, Price: w.price(), PriceMost: w.atMost().price(),
		Extras: f.Extras(StartKind, w), Until: f.Now.Add(w.Lease.Std())}
	if v.Why, v.QueueDepth, err = s.offers.waiting(ctx, w); err != nil || !w.named() {
		return v, err
	}
	v.Verdict = f.verdict(PolicyFacts(StartKind, w, a, f, w.Lease.Std()))
	if v.Verdict.Outcome == policy.Refuse {
		v.Refused = v.Verdict.Sentence
	} else if refusal != nil && len(v.Fields) == 0 {
		v.Refused = fault.As(refusal).Sentence
	}
	if !v.StartsNow() {
		v.Alternatives, _ = s.offers.AlternativeTo(ctx, a, w)
	}
	if v.Model, err = s.offers.modelFit(ctx, a, w); err != nil {
		return v, err
	}
	v.Planned = p.planned(a, c, out, v.Fields)
	return v, nil
}

// planned is the workload that a draft would become, for its manifest: the one that would be created, or what it would
// be once somebody approved; nil while too much of it is missing.
func (p prepared) planned(a identity.Actor, c completed, out Outcome, wrong []fault.Field) *workload.Workload {
	if out.Workload != nil {
		return out.Workload
	}
	missing := slices.ContainsFunc(wrong, func(f fault.Field) bool {
		return slices.Contains([]string{"cluster", "volume", "mounts", "volumes", "replaces"}, f.Name)
	})
	if missing || len(p.fields) > 0 || c.spec.Cluster == "" || !c.spec.named() {
		return nil
	}
	w := newWorkload(Request{Asker: a.Person.ID, AskerName: a.Person.Name, Spec: c.spec}, c.facts)
	return &w
}

func onlyReasonMissing(fields []fault.Field) bool {
	return len(fields) == 1 && fields[0].Name == "reason" && fields[0].Reason.ID == "request.reason_needed"
}
