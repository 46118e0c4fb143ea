package request

import (
	"context"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ReachKind asks that an endpoint is reached from outside the company network. It always needs an approval: of
// administrators, or of whom a rule names that speaks of "external-reach".
const ReachKind Kind = "external-reach"

// The reach of an endpoint, as a Draft asks for it.
const (
	Internal = "internal"
	External = "external"
)

// ReachDraft is a request for access from outside as typed, unchecked.
type ReachDraft struct {
	Reason string
	// a day such as 2026-12-31, to its end in UTC, or a time (RFC 3339); "" for as long as the endpoint is there
	Until string
	Key   string // idempotency key
}

// Reach asks that an endpoint is reached from outside the company network. While a request for that waits, it is the
// answer.
func (s *Service) Reach(ctx context.Context, a identity.Actor, id workload.ID, d ReachDraft) (Request, error) {
	sent := reachKey(id, d)
	if r, found, err := s.earlier(ctx, a, "", sent); found || err != nil {
		return r, err
	}
	w, err := s.changeable(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	if !s.site().External {
		return Request{}, fault.New(fault.Conflict, ReachOff())
	}
	if r, err := s.pending(ctx, ReachKind, Filter{About: id}); err != nil || r.ID != "" {
		return r, err
	}
	c := checker{offering: Offering{Limits: s.site().Limits}}
	words, until := c.reason(d.Reason), c.until(d.Until, s.now())
	if words == "" {
		c.problem("reason", i18n.T("request.reason_needed"))
	}
	if len(c.fields) > 0 {
		return Request{}, fault.InvalidFields(c.fields)
	}
	t, err := s.working(w.Tenant)
	if err != nil {
		return Request{}, s.recordRefusal(ctx, a, w.Tenant, "", err)
	}
	spec := specOf(w, 0, words)
	spec.Outside, spec.OutsideUntil = true, until
	q := subject{kind: ReachKind, spec: spec, tenant: t, asker: a.Person.ID, target: id}
	return s.ask(ctx, a, sent, q, func(f Facts) (Outcome, error) { return SubmitReach(*f.Extends, spec, a, f) })
}

// PendingReach is the request for access from outside that nobody has decided; the zero Request where there is none.
func (s *Service) PendingReach(ctx context.Context, a identity.Actor, w workload.Workload) (Request, error) {
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return Request{}, err
	}
	return s.pending(ctx, ReachKind, Filter{About: w.ID})
}

// MayCloseReach reports whether an endpoint is reached from outside by a request, and the actor may take that away:
// also who approved it and may not see the endpoint itself.
func (s *Service) MayCloseReach(ctx context.Context, a identity.Actor, r Request) bool {
	if r.Kind != ReachKind || r.State != Approved {
		return false
	}
	w, err := s.store.Workload(ctx, r.Workload)
	return err == nil && w.Reach.Request == string(r.ID) && w.ReachedFromOutside(s.now()) &&
		identity.Can(a, identity.CloseReach, w.Resource())
}

// outside reports whether a start asks for access from outside as well.
func (c *checker) outside(d Draft, w Spec) bool {
	switch d.Reach {
	case "", Internal:
		return false
	case External:
	default:
		c.problem("reach", i18n.T("request.reach_unknown"))
		return false
	}
	switch {
	case !c.offering.External:
		c.problem("reach", ReachOff())
	case w.Kind != catalog.Endpoint:
		c.problem("reach", EndpointsOnly())
	case w.Reason == "":
		c.problem("reason", i18n.T("request.reason_needed"))
	}
	return true
}

// ReachOff says that the site has no address for callers outside.
func ReachOff() i18n.Text { return i18n.T("request.reach_off") }

// EndpointsOnly says that nothing but an endpoint is called by programs.
func EndpointsOnly() i18n.Text { return i18n.T("request.reach_endpoints") }

// until reads a day, which counts to its end, or a time.
func (c *checker) until(text string, now time.Time) time.Time {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, text); err == nil {
			at = at.AddDate(0, 0, 1)
		}
	}
	if err != nil || !at.After(now) || at.After(now.AddDate(10, 0, 0)) {
		c.problem("until", i18n.T("request.reach_until"))
		return time.Time{}
	}
	return at.UTC()
}

// SubmitReach makes a request for access from outside.
func SubmitReach(w workload.Workload, spec Spec, a identity.Actor, f Facts) (Outcome, error) {
	if w.Kind != catalog.Endpoint {
		return Outcome{}, fault.New(fault.Conflict, EndpointsOnly())
	}
	r := newReach(f.ID, w, spec, a.Person, f.Now)
	if fields := reachObstacles(r, f); len(fields) > 0 {
		return Outcome{}, fault.New(fault.Conflict, fields[0].Reason)
	}
	name, steps, err := ownSteps(ReachKind, spec, a, f)
	if err != nil {
		return Outcome{}, err
	}
	r.Decision = reachDecision(name, steps, f.Now)
	return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestSubmitted, f.Now, r.Decision.Sentence)}}, nil
}

func newReach(id ID, w workload.Workload, spec Spec, asker identity.Person, now time.Time) Request {
	r := Request{ID: id, Kind: ReachKind, Asker: asker.ID, AskerName: asker.Name, Spec: spec, State: Pending,
		Workload: w.ID, CreatedAt: now, ExpiresAt: now.Add(TTL)}
	r.Estimate.Currency = w.Size.PricePerHour.Currency
	if until := spec.OutsideUntil; !until.IsZero() && until.Before(r.ExpiresAt) {
		r.ExpiresAt = until
	}
	return r
}

func reachDecision(rule string, steps []policy.Step, now time.Time) Decision {
	return Decision{Rule: rule, Sentence: i18n.T("policy.approve", "By", policy.Who(steps)), Steps: steps, Since: now}
}

// withReach asks for access from outside beside a start that wanted it. The endpoint goes on meanwhile, and by whom it
// is decided does not depend on who approved the start. Where a rule refuses it, nothing is asked.
func (o Outcome) withReach(f Facts) Outcome {
	start, w := o.Request, *o.Workload
	if !start.Spec.Outside || w.Kind != catalog.Endpoint {
		return o
	}
	spec := specOf(w, 0, start.Spec.Reason)
	spec.Outside, spec.OutsideUntil = true, start.Spec.OutsideUntil
	asker := identity.Actor{Person: start.asker()}
	name, steps, err := ownSteps(ReachKind, spec, asker, f)
	if err != nil {
		return o
	}
	r := newReach(f.Beside, w, spec, asker.Person, f.Now)
	r.Decision = reachDecision(name, steps, f.Now)
	o.Beside = &r
	asked := event(r, identity.System(), audit.RequestSubmitted, f.Now, r.Decision.Sentence)
	o.Events = append(o.Events, asked.For(start.asker()))
	return o
}

// reachObstacles is what stands against access from outside now.
func reachObstacles(r Request, f Facts) []fault.Field {
	w := f.Extends
	switch {
	case w == nil || !w.CanReachOutside():
		return []fault.Field{{Name: "reach", Reason: i18n.T("workload.gone")}}
	case !r.Spec.OutsideUntil.IsZero() && !f.Now.Before(r.Spec.OutsideUntil):
		return []fault.Field{{Name: "until", Reason: i18n.T("request.reach_until")}}
	}
	return nil
}

// grantReach opens the endpoint to calls from outside.
func grantReach(r Request, f Facts, approved audit.Event) (Outcome, error) {
	w, events, err := workload.OpenToOutside(workload.Reach{Until: r.Spec.OutsideUntil, By: r.Decision.ByName,
		Request: string(r.ID)})(*f.Extends, identity.System(), f.Now)
	return Outcome{Request: r, Workload: &w, Events: carriedOut(r, approved, events...)}, err
}
