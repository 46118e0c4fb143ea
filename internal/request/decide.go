package request

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// Verb is the kind of an approver's answer: approve or reject.
type Verb string

// The verbs.
const (
	ApproveVerb Verb = "approve"
	RejectVerb  Verb = "reject"
)

// Steps are whose approvals the request needs or needed; none where a rule decided.
func (r Request) Steps() []policy.Step { return r.Decision.Steps }

// OpenStep is the step that a pending request stands at, and the approvers whose approval is missing there.
func (r Request) OpenStep() (step int, missing []identity.Approvers) {
	return policy.Open(r.Steps(), r.Decision.Consents)
}

// since is when the open step began.
func (r Request) since() time.Time {
	if r.Decision.Since.IsZero() {
		return r.CreatedAt
	}
	return r.Decision.Since
}

// Escalates says from when on others may speak as well in the open step, and who; a zero time where nobody else ever
// may.
func (r Request) Escalates() (at time.Time, then []identity.Approvers) {
	step, _ := r.OpenStep()
	if r.State != Pending || step == len(r.Steps()) || len(r.Steps()[step].Then) == 0 {
		return time.Time{}, nil
	}
	s := r.Steps()[step]
	return r.since().Add(s.After.Std()), s.Then
}

// Ask is a principal whose holders may decide a request, and from when on.
type Ask struct {
	Key  string
	From time.Time
}

// Asks are all keys that the open step of a pending request waits for: of the approvers that are missing at once, of
// those to whom it escalates later.
func (r Request) Asks() []Ask {
	if r.State != Pending || r.Decision.Deferred != nil {
		return nil
	}
	step, missing := r.OpenStep()
	var asks []Ask
	for _, k := range identity.PrincipalsOf(missing, r.Spec.Tenant) {
		asks = append(asks, Ask{Key: k, From: r.CreatedAt})
	}
	if step == len(r.Steps()) {
		return asks
	}
	s := r.Steps()[step]
	for _, k := range identity.PrincipalsOf(s.Then, r.Spec.Tenant) {
		if !slices.ContainsFunc(asks, func(a Ask) bool { return a.Key == k }) {
			asks = append(asks, Ask{Key: k, From: r.since().Add(s.After.Std())})
		}
	}
	return asks
}

// Deciders are those who cannot speak on a request now: the asker, everybody who spoke, everybody for whom somebody
// spoke, and who gave their part in the open step away.
func (r Request) Deciders() []identity.PersonID {
	people := []identity.PersonID{r.Asker}
	for _, h := range r.Reassigned() {
		people = append(people, h.From)
	}
	if d := r.Decision.Deferred; d != nil {
		people = append(people, d.By)
		if d.For != "" {
			people = append(people, d.For)
		}
	}
	for _, c := range r.Decision.Consents {
		people = append(people, c.By)
		if c.For != "" {
			people = append(people, c.For)
		}
	}
	return people
}

// asked are the principals that may decide now.
func (r Request) asked(now time.Time) []string {
	var keys []string
	for _, a := range r.Asks() {
		if !now.Before(a.From) {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

// Resource is what rights are asked about: everybody in any step may read the request.
func (r Request) Resource() identity.Resource {
	resource := identity.Resource{Tenant: r.Spec.Tenant, Owner: r.Asker}
	for _, s := range r.Steps() {
		resource.Asked = append(resource.Asked, identity.PrincipalsOf(slices.Concat(s.From, s.Then), r.Spec.Tenant)...)
	}
	return resource
}

// mayDecideAs is the person for whom somebody decides: themselves, or one who has delegated to them. The error says why
// there is none.
func mayDecideAs(r Request, a identity.Actor, now time.Time) (identity.Actor, error) {
	deciders := r.Deciders()
	given, away := r.ReassignedBy(a.Person.ID)
	switch {
	case r.Decision.Deferred != nil:
		return a, r.deferredConflict()
	case r.Decision.Seat != nil:
		return a, fault.New(fault.Conflict, i18n.T("request.waits_for_seat", "Pool", r.Decision.Seat.Title))
	case a.Person.ID == r.Asker:
		return a, fault.New(fault.Forbidden, i18n.T("request.own"))
	case away:
		return a, fault.New(fault.Conflict, i18n.T("request.reassigned_away", "Name", given.ToName))
	case slices.Contains(deciders, a.Person.ID):
		return a, fault.New(fault.Conflict, i18n.T("request.decided_by_you"))
	}
	resource := identity.Resource{Tenant: r.Spec.Tenant, Owner: r.Asker, Asked: r.asked(now)}
	for _, v := range append([]identity.Actor{a}, a.Delegators...) {
		v.Delegators = nil
		if !slices.Contains(deciders, v.Person.ID) && identity.Can(v, identity.DecideRequest, resource) {
			return v, nil
		}
	}
	// Of a request that is decided no step is open any more.
	if step, _ := r.OpenStep(); step < len(r.Steps()) && includes(r.Steps()[step], a, r.Spec.Tenant) &&
		!includesFor(r.Steps()[step], a, r) {
		return a, fault.New(fault.Forbidden, i18n.T("request.granted_by_asker", "Asker", r.AskerName))
	}
	if slices.ContainsFunc(r.Steps(), func(s policy.Step) bool { return includes(s, a, r.Spec.Tenant) }) {
		return a, fault.New(fault.Forbidden, i18n.T("request.not_now", "By", r.Waits()))
	}
	return a, fault.New(fault.Forbidden, i18n.T("request.not_approver"))
}

// decidesAs is mayDecideAs for an answer. While nothing but a seat is missing, nobody is asked any more; everybody
// who may decide may still reject, also who approved before.
func decidesAs(r Request, verb Verb, a identity.Actor, now time.Time) (identity.Actor, error) {
	if !r.WaitsForSeat() || verb != RejectVerb || r.Decision.Deferred != nil {
		return mayDecideAs(r, a, now)
	}
	if a.Person.ID == r.Asker {
		return a, fault.New(fault.Forbidden, i18n.T("request.own"))
	}
	for _, v := range append([]identity.Actor{a}, a.Delegators...) {
		v.Delegators = nil
		if identity.Can(v, identity.DecideRequest, r.Resource()) {
			return v, nil
		}
	}
	return a, fault.New(fault.Forbidden, i18n.T("request.not_approver"))
}

func includes(s policy.Step, a identity.Actor, tenant string) bool {
	return slices.ContainsFunc(slices.Concat(s.From, s.Then),
		func(p identity.Approvers) bool { return p.Includes(a, tenant) })
}

// includesFor is includes by what counts for this request, see identity.Actor.PrincipalsFor.
func includesFor(s policy.Step, a identity.Actor, r Request) bool {
	return slices.ContainsFunc(slices.Concat(s.From, s.Then), func(p identity.Approvers) bool {
		return p.IncludesFor(a, r.Spec.Tenant, r.Asker)
	})
}

// Waits says for whom a pending request waits, for people.
func (r Request) Waits() i18n.Text {
	step, missing := r.OpenStep()
	return policy.WhoOf(missing, step < len(r.Steps()) && r.Steps()[step].All)
}

// approversOf are those of the open step that a person counts for: their own, or all of them for one to whom it has
// escalated by now. Before that time one who may speak for a party of their own, such as an administrator for
// approvers, counts for that alone.
func (r Request) approversOf(v identity.Actor, now time.Time) []identity.Approvers {
	step, _ := r.OpenStep()
	s, tenant := r.Steps()[step], r.Spec.Tenant
	var own []identity.Approvers
	for _, p := range s.From {
		if p.IncludesFor(v, tenant, r.Asker) {
			own = append(own, p)
		}
	}
	at, then := r.Escalates()
	if !now.Before(at) && slices.ContainsFunc(then, func(p identity.Approvers) bool {
		return p.IncludesFor(v, tenant, r.Asker)
	}) {
		return s.From
	}
	return own
}

// Answer is one approver's decision of one request, with note and reduction.
type Answer struct {
	Verb    Verb
	Note    string
	Reduced Reduction // grants less than was asked
	Seen    int64     // version of the request that the person saw
}

// Decide records a person's answer to a pending request. One rejection ends it; an approval brings it a step further,
// and the last one grants it. Quota and seats are checked then: they may have gone since it was asked.
func Decide(r Request, answer Answer, a identity.Actor, f Facts) (Outcome, error) {
	if err := open(r, f.Now); err != nil {
		return Outcome{}, err
	}
	v, err := decidesAs(r, answer.Verb, a, f.Now)
	if err == nil {
		err = unchanged(r, answer.Seen)
	}
	if err != nil {
		return Outcome{}, err
	}
	if answer.Verb == RejectVerb {
		return reject(r, answer, a, v, f.Now).onBehalf(a, v), nil
	}
	out, err := consent(r, answer, a, v, r.approversOf(v, f.Now), f)
	return out.onBehalf(a, v), err
}

// onBehalf writes into what an approver did in whose place it was; what the portal did after that is its own.
func (o Outcome) onBehalf(a, v identity.Actor) Outcome {
	for i, e := range o.Events {
		if e.Actor == a.Person.ID {
			o.Events[i] = e.For(v.Person)
		}
	}
	return o
}

func reject(r Request, answer Answer, a, v identity.Actor, now time.Time) Outcome {
	r.Decision.By, r.Decision.ByName, r.Decision.Note = a.Person.ID, a.Person.Name, answer.Note
	r.State, r.DecidedAt, r.Decision.Seat, r.Decision.Returned = Rejected, now, nil, nil
	r.Decision.Sentence = decided("request.rejected_by", a, v)
	return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestRejected, now, i18n.Literal(answer.Note))}}
}

// decided names who said it, and for whom.
func decided(id string, a, v identity.Actor) i18n.Text {
	if v.Person.ID == a.Person.ID {
		return i18n.T(id, "Name", a.Person.Name)
	}
	return i18n.T(id, "Name", i18n.T("request.for", "Name", a.Person.Name, "For", v.Person.Name))
}

// consent records a yes for approvers of the open step, and grants what lacks no other.
func consent(r Request, answer Answer, a, v identity.Actor, approvers []identity.Approvers, f Facts) (Outcome, error) {
	asked := r.Spec
	r, change, err := reduce(r, answer.Reduced, f)
	if err != nil {
		return Outcome{}, err
	}
	step, _ := r.OpenStep()
	given := policy.Consent{Step: step, By: a.Person.ID, ByName: a.Person.Name, Approvers: approvers, Note: answer.Note,
		Change: change, At: f.Now}
	if v.Person.ID != a.Person.ID {
		given.For, given.ForName = v.Person.ID, v.Person.Name
	}
	r.Decision.Consents, r.Decision.Returned = append(slices.Clone(r.Decision.Consents), given), nil
	detail := granted(asked, r.Spec, change, answer.Note)
	next, left := r.OpenStep()
	if len(left) > 0 {
		if next != step {
			r.Decision.Since = f.Now
		}
		r.Decision.Sentence = i18n.T("policy.approve", "By", r.Waits())
		return Outcome{Request: r, Events: []audit.Event{event(r, a, audit.RequestConsented, f.Now, detail)}}, nil
	}
	if fields := grantObstacles(r, f); len(fields) > 0 {
		return Outcome{}, &fault.Error{Kind: fault.Conflict, Sentence: fields[0].Reason, Fields: fields}
	}
	r.Decision.By, r.Decision.ByName, r.Decision.Note = a.Person.ID, a.Person.Name, answer.Note
	r.Decision.Sentence = decided("request.approved_by", a, v)
	if f.waitsForSeat(r) {
		return approvedInLine(r, a, f, detail), nil
	}
	out, err := grant(r, a, f)
	if err == nil {
		out.Events[0].Detail = detail
	}
	return out, err
}

// approvedInLine is a yes that has to wait for seats. The record gets both, in two events; people are told once, with
// the one that says both.
func approvedInLine(r Request, a identity.Actor, f Facts, detail i18n.Text) Outcome {
	out := queued(r, a, f)
	out.Events[0].Detail = i18n.T("request.approved_waits", "By", r.Decision.Sentence, "Pool", f.Seats.Pool.Title, "Note",
		detail)
	approved := event(r, a, audit.RequestApproved, f.Now, detail)
	approved.Changes = audit.Changed(audit.SeatPool, "", f.Seats.Pool.Name)
	out.Events = append([]audit.Event{approved}, out.Events...)
	return out
}

// granted is what the record says of a yes: the note, and what was changed.
func granted(asked, now Spec, change *policy.Change, note string) i18n.Text {
	if change == nil {
		return i18n.Literal(note)
	}
	return i18n.T("request.granted_less", "Asked", asked.Size.Called(), "For", asked.Lease.String(), "Size",
		now.Size.Called(), "Lease", now.Lease.String(), "Note", note)
}
