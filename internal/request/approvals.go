package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// Approvals is the service for approvers: answer, undo and reassign requests. Requests that nobody answers escalate and
// expire.
type Approvals struct {
	*core
	store  approvalStore
	people People
	actor  func(p identity.Person, via identity.Via) identity.Actor
	raised func(ctx context.Context) error
	due    chan struct{} // see Due
	holds  holders
}

type approvalStore interface {
	Requests(ctx context.Context, f Filter) ([]Request, string, error)
	// Waiting counts what an inbox holds.
	Waiting(ctx context.Context, in Inbox) (int, error)
	// AskerHistory is what somebody was granted since a time.
	AskerHistory(ctx context.Context, asker identity.PersonID, since time.Time) (AskerHistory, error)
	// Escalated says whether the record holds that a request has escalated since a time.
	Escalated(ctx context.Context, id ID, since time.Time) (bool, error)
}

// Approve grants a request in the version that the approver saw; it goes ahead when no more approvals are missing.
func (s *Approvals) Approve(ctx context.Context, a identity.Actor, seen Request, note string) (Request, error) {
	return s.Answer(ctx, a, seen.ID, DecisionInput{Verb: ApproveVerb, Note: note, Seen: seen.Version})
}

// Reject turns a request down in the version that the approver saw; the note says why.
func (s *Approvals) Reject(ctx context.Context, a identity.Actor, seen Request, note string) (Request, error) {
	return s.Answer(ctx, a, seen.ID, DecisionInput{Verb: RejectVerb, Note: note, Seen: seen.Version})
}

// DecisionInput is an approver's answer as typed. Size and Lease grant less than was asked; empty leaves them.
type DecisionInput struct {
	Verb  Verb
	Note  string
	Size  string
	Lease string
	Seen  int64 // version of the request that the person saw, 1 and up
	// Undoable defers the answer for the site's undo period, in which Undo takes it back; without it takes effect at
	// once.
	Undoable bool
}

// Answer approves, approves less, or rejects. It counts for the version that the person saw and no other: Invalid
// without one, Conflict when the request has changed since.
func (s *Approvals) Answer(ctx context.Context, a identity.Actor, id ID, said DecisionInput) (Request, error) {
	seen, err := s.get(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	answer, err := s.answerOf(ctx, a, seen, said)
	if err != nil {
		return Request{}, err
	}
	t, err := s.working(seen.Spec.Tenant)
	if err != nil && answer.Verb == ApproveVerb {
		return Request{}, err
	}
	q := func(r Request) subject { return r.subject(answer.Reduced, t) }
	base, period := s.before(ctx, t, q(seen).spec), s.site().Undo
	out, err := s.decide(ctx, s.exclusively, t.Name, func(tx Tx) (Outcome, error) {
		r, f, err := s.gatherAgain(ctx, tx, id, base, q)
		if err != nil {
			return Outcome{}, err
		}
		out, err := Decide(r, answer, a, f)
		if err != nil || !said.Undoable || period <= 0 {
			return out, err
		}
		// what would refuse it now refuses it now, not when the approver has gone
		if _, err := s.save(ctx, newDryRun(tx), out); err != nil {
			return Outcome{}, err
		}
		return Defer(r, answer, a, period, f.Now)
	})
	if err != nil {
		return Request{}, err
	}
	if out.Request.Decision.Deferred != nil {
		time.AfterFunc(period, s.soon)
	}
	return out.Request, s.tookEffect(ctx, out)
}

// tookEffect applies a quota that was just raised.
func (s *Approvals) tookEffect(ctx context.Context, out Outcome) error {
	if out.Raise == nil || s.raised == nil {
		return nil
	}
	return s.raised(ctx)
}

// Undo takes the actor's own answer to a request back, before it takes effect.
func (s *Approvals) Undo(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	if _, err := s.get(ctx, a, id); err != nil {
		return Request{}, err
	}
	return s.change(ctx, id, func(r Request) (Outcome, error) { return Undo(r, a, s.now()) })
}

// Undoable are the requests of which the actor can undo an answer, the newest first.
func (s *Approvals) Undoable(ctx context.Context, a identity.Actor) ([]Request, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	list, _, err := s.store.Requests(ctx, Filter{DeferredBy: a.Person.ID, States: []State{Pending}, Limit: mostUndoable})
	now := s.now()
	return slices.DeleteFunc(list, func(r Request) bool { return !now.Before(r.Decision.Deferred.Until) }), err
}

// mostUndoable is how many answers of the last seconds are shown.
const mostUndoable = 50

// Due is signaled when an answer that was given in this process is to take effect. Answers of other processes are found
// by the period of the job.
func (s *Approvals) Due() <-chan struct{} { return s.due }

func (s *Approvals) soon() {
	select {
	case s.due <- struct{}{}:
	default:
	}
}

// ApplyDue puts every answer into effect whose time to undo is over; the controller calls it on its tick. An answer
// that failed for want of the database, or because its cluster is held, is tried again.
func (s *Approvals) ApplyDue(ctx context.Context) error {
	var faults []error
	for cursor := ""; ; {
		due, next, err := s.store.Requests(ctx, Filter{DueAt: s.now(), Sort: Oldest, States: []State{Pending},
			Cursor: cursor, Limit: 500})
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		for _, r := range due {
			if err := s.apply(ctx, r); err != nil {
				faults = append(faults, fmt.Errorf("request %s: %w", r.ID, err))
			}
		}
		if cursor = next; next == "" || ctx.Err() != nil {
			return errors.Join(faults...)
		}
	}
}

// apply puts one answer into effect, in one transaction with a look at whether it is still there.
func (s *Approvals) apply(ctx context.Context, seen Request) error {
	d := seen.Decision.Deferred
	if d == nil {
		return nil
	}
	t, err := s.working(seen.Spec.Tenant)
	if err != nil && d.Verb == ApproveVerb {
		return s.giveBack(ctx, seen, err)
	}
	q := func(r Request) subject { return r.subject(d.Reduced, t) }
	base := s.before(ctx, t, q(seen).spec)
	out, err := s.decide(ctx, s.exclusively, t.Name, func(tx Tx) (Outcome, error) {
		r, f, err := s.gatherAgain(ctx, tx, seen.ID, base, q)
		if err != nil {
			return Outcome{}, err
		}
		return Apply(r, f)
	})
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return s.giveBack(ctx, seen, err)
	}
	if err != nil {
		return err
	}
	return s.tookEffect(ctx, out)
}

// giveBack returns a request to its approvers. One that has changed since the answer failed keeps what it has become.
func (s *Approvals) giveBack(ctx context.Context, seen Request, why error) error {
	_, err := s.change(ctx, seen.ID, func(r Request) (Outcome, error) {
		if r.Version != seen.Version {
			return Outcome{}, nil
		}
		return Return(r, why, s.now()), nil
	})
	return err
}

// answerOf checks an answer as far as that goes without a lock.
func (s *Approvals) answerOf(ctx context.Context, a identity.Actor, r Request, said DecisionInput) (Answer, error) {
	answer, c := Answer{Verb: said.Verb, Seen: said.Seen}, checker{}
	if answer.Note = c.reason(said.Note); len(c.fields) > 0 {
		return answer, fault.InvalidFields([]fault.Field{{Name: "note", Reason: c.fields[0].Reason}})
	}
	if err := mayAnswer(said.Verb, a, r, s.now()); err != nil {
		return answer, err
	}
	if said.Seen < 1 {
		return answer, fault.InvalidFields([]fault.Field{{Name: "seen", Reason: i18n.T("request.seen_missing")}})
	}
	if said.Verb != ApproveVerb {
		return answer, nil
	}
	var err error
	answer.Reduced, err = s.reduction(r, said.Size, said.Lease)
	if less := &answer.Reduced.Size; err == nil && less.Name != "" {
		w := r.Spec
		w.Size = *less
		less.Isolation = s.isolation(ctx, w)
	}
	return answer, err
}

// reduction reads what an approver typed.
func (s *Approvals) reduction(r Request, size, lease string) (Reduction, error) {
	var n Reduction
	site := s.site()
	c := checker{offering: Offering{Catalog: site.CatalogFor(r.Spec.Tenant, s.now()), Clusters: site.Clusters,
		Limits: site.Limits}}
	c.offering.Tenant.Name = r.Spec.Tenant
	if size != "" && size != r.Spec.Size.Name {
		if n.Size = c.size(size); n.Size.Name != "" && !n.Size.OfferedOn(r.Spec.Cluster) {
			c.problem("size", i18n.T("request.size_nowhere", "Size", n.Size.Called()))
		}
	}
	if lease != "" {
		n.Lease = c.lease(lease, catalog.Size{})
	}
	return n, fault.InvalidFields(c.fields)
}

// MayDecide says whether the actor's word counts on a request now, and else why not: it is decided, their own, they
// decided already, or it asks others.
func (s *Approvals) MayDecide(a identity.Actor, r Request) error {
	return mayAnswer(ApproveVerb, a, r, s.now())
}

// MayReject is MayDecide for a rejection, which is possible for longer: also while nothing but a license seat is
// missing.
func (s *Approvals) MayReject(a identity.Actor, r Request) error {
	return mayAnswer(RejectVerb, a, r, s.now())
}

func mayAnswer(verb Verb, a identity.Actor, r Request, now time.Time) error {
	if r.State == Pending {
		_, err := decidesAs(r, verb, a, now)
		return err
	}
	switch {
	case a.Person.ID == r.Asker:
		return fault.New(fault.Forbidden, i18n.T("request.own"))
	case !identity.Can(a, identity.DecideRequest, r.Resource()):
		return fault.New(fault.Forbidden, i18n.T("request.not_approver"))
	}
	return open(r, now)
}

// Takes is what the approval of a request would take of its team's budget; the zero Ask where there is none, or the
// actor may not know of it.
func (s *Approvals) Takes(ctx context.Context, a identity.Actor, r Request) (budget.Ask, error) {
	if err := identity.Known(a); err != nil {
		return budget.Ask{}, err
	}
	if r.State != Pending || !identity.Can(a, identity.ReadBudget, identity.Resource{Tenant: r.Spec.Tenant}) {
		return budget.Ask{}, nil
	}
	ask, err := s.takes(ctx, r.subject(Reduction{}, tenant.Tenant{Name: r.Spec.Tenant}))
	if fault.Is(err, fault.NotFound) { // its workload is gone
		return budget.Ask{}, nil
	}
	return ask, err
}

// HistoryOf is what the asker of a request was granted in the last days, for those who may read it.
func (s *Approvals) HistoryOf(ctx context.Context, a identity.Actor, r Request) (AskerHistory, error) {
	if err := identity.Known(a); err != nil {
		return AskerHistory{}, err
	}
	if !identity.Can(a, identity.ReadRequest, r.Resource()) {
		return AskerHistory{}, fault.New(fault.NotFound, i18n.T("request.not_found"))
	}
	return s.store.AskerHistory(ctx, r.Asker, s.now().Add(-HistoryDays*24*time.Hour))
}

// Waiting is how many requests wait for the actor's decision.
func (s *Approvals) Waiting(ctx context.Context, a identity.Actor) (int, error) {
	if err := identity.Known(a); err != nil {
		return 0, err
	}
	return s.store.Waiting(ctx, inboxOf(a, s.now()))
}

// Decides reports whether the actor's word may be asked for at all: as an approver, or by a rule that names a party of
// theirs.
func (s *Approvals) Decides(a identity.Actor) bool {
	if identity.Known(a) != nil {
		return false
	}
	own := a.Principals()
	for _, stood := range a.Delegators {
		own = append(own, stood.Principals()...)
	}
	approvers := append([]identity.Approvers{{Role: identity.Approver}}, s.site().Policy.Approvers()...)
	for _, t := range append(a.TenantNames(), "") {
		for _, k := range identity.PrincipalsOf(approvers, t) {
			if slices.Contains(own, k) {
				return true
			}
		}
	}
	return false
}

// ExpireDue ends every request that nobody decided in time, and puts on record which have escalated; the controller
// calls it on its tick.
func (s *Approvals) ExpireDue(ctx context.Context) error {
	var faults []error
	for cursor := ""; ; {
		pending, next, err := s.store.Requests(ctx, Filter{States: []State{Pending}, Sort: Oldest, Cursor: cursor,
			Limit: 500})
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		for _, p := range pending {
			if err := s.expireOrEscalate(ctx, p); err != nil {
				faults = append(faults, fmt.Errorf("request %s: %w", p.ID, err))
			}
		}
		if cursor = next; next == "" || ctx.Err() != nil {
			return errors.Join(faults...)
		}
	}
}

func (s *Approvals) expireOrEscalate(ctx context.Context, p Request) error {
	switch {
	case Expire(p, s.now()).Events != nil:
		_, err := s.change(ctx, p.ID, func(r Request) (Outcome, error) { return Expire(r, s.now()), nil })
		return err
	case Escalate(p, s.now()).Events != nil:
		return s.escalate(ctx, p)
	}
	return nil
}

// escalate writes once for each step that has escalated that it has. What the record holds already is looked for
// without a lock first: most have been told of.
func (s *Approvals) escalate(ctx context.Context, p Request) error {
	if told, err := s.store.Escalated(ctx, p.ID, p.since()); told || err != nil {
		return err
	}
	return s.db.DecideExclusively(ctx, func(tx Tx) error {
		r, err := tx.Request(ctx, p.ID)
		if err != nil {
			return err
		}
		told, err := tx.Escalated(ctx, r.ID, r.since())
		if told || err != nil {
			return err
		}
		return tx.Append(ctx, Escalate(r, s.now()).Events...)
	})
}

// MayReassign says whether the actor can give a request to somebody else now, and else why not.
func (s *Approvals) MayReassign(a identity.Actor, r Request) error { return mayReassign(r, a, s.now()) }

// Assignees are the people to whom the actor can give a request.
func (s *Approvals) Assignees(ctx context.Context, a identity.Actor, id ID) ([]identity.Person, error) {
	r, err := s.get(ctx, a, id)
	if err == nil {
		err = s.MayReassign(a, r)
	}
	if err != nil {
		return nil, err
	}
	everybody, err := s.people.Everybody(ctx)
	if err != nil {
		return nil, err
	}
	fit := slices.DeleteFunc(everybody, func(p identity.Person) bool {
		why := cannotTake(r, s.actor(p, identity.ViaSession), a, s.now())
		return !why.IsZero()
	})
	return fit[:min(len(fit), mostAssignees)], nil
}

// ReassignInput is a reassignment as typed.
type ReassignInput struct {
	To     identity.PersonID
	Reason string
	Seen   int64 // version of the request that the person saw; 0 for any
}

// Reassign gives a request that waits for the actor to another approver, who is told why.
func (s *Approvals) Reassign(ctx context.Context, a identity.Actor, id ID, g ReassignInput) (Request, error) {
	seen, err := s.get(ctx, a, id)
	if err == nil {
		err = s.MayReassign(a, seen)
	}
	if err != nil {
		return Request{}, err
	}
	c := checker{}
	g.Reason = c.reason(g.Reason)
	if g.Reason == "" {
		c.problem("reason", i18n.T("request.reassign_reason"))
	}
	to, err := s.people.Person(ctx, g.To)
	if fault.Is(err, fault.NotFound) || err == nil && to.Disabled {
		c.problem("person", i18n.T("request.reassign_unknown"))
	} else if err != nil {
		return Request{}, err
	}
	if len(c.fields) > 0 {
		return Request{}, fault.InvalidFields(c.fields)
	}
	return s.change(ctx, id, func(r Request) (Outcome, error) {
		return Reassign(r, s.actor(to, identity.ViaSession), g.Reason, g.Seen, a, s.now())
	})
}

// Reclaim undoes the actor's reassignment.
func (s *Approvals) Reclaim(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	if _, err := s.get(ctx, a, id); err != nil {
		return Request{}, err
	}
	return s.change(ctx, id, func(r Request) (Outcome, error) { return Reclaim(r, a, s.now()) })
}

// People lists the persons to whom a request can be reassigned.
type People interface {
	// Everybody has ever signed in and is not shut out.
	Everybody(ctx context.Context) ([]identity.Person, error)
	// Person is NotFound for somebody unknown.
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
}

// mostAssignees is how many people are offered; who looks for another one types a part of the name.
const mostAssignees = 50
