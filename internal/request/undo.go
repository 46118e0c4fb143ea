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

// UndoPeriod is how long an approver can undo a decision where the site says nothing else.
const UndoPeriod = 10 * time.Second

// Deferred is an answer to a pending request that takes effect at Until. Before that nothing has come of it: no
// workload, no reservation of quota, seats or budget, no message to anybody but the record; so that who gave it can
// undo it without a trace elsewhere. Meanwhile the request is in nobody's inbox and nobody else can answer or edit it.
type Deferred struct {
	Verb    Verb              `json:"verb"`
	By      identity.PersonID `json:"by"`
	ByName  string            `json:"byName"`
	For     identity.PersonID `json:"for,omitempty"` // in whose place
	ForName string            `json:"forName,omitempty"`
	// Approvers are those of the open step that the answer counts for, by the rights of when it was given.
	Approvers []identity.Approvers `json:"approvers,omitempty"`
	Note      string               `json:"note,omitempty"`
	Reduced   Reduction            `json:"reduced,omitzero"`
	At        time.Time            `json:"at"`
	Until     time.Time            `json:"until"`
	// Via, Session, Address and Credential are those of the call, for the audit; see identity.Actor.
	Via        identity.Via `json:"via,omitempty"`
	Session    string       `json:"session,omitempty"`
	Address    string       `json:"address,omitempty"`
	Credential string       `json:"credential,omitempty"`
}

// actor is who gave the answer, as far as the record tells of it; without any rights.
func (d Deferred) actor() identity.Actor {
	return identity.Actor{Person: identity.Person{ID: d.By, Name: d.ByName}, Via: d.Via, Session: d.Session,
		Address: d.Address, Credential: d.Credential}
}

// principal is who it counts for: the delegator where a delegate gave it.
func (d Deferred) principal() identity.Actor {
	if d.For == "" {
		return d.actor()
	}
	return identity.Actor{Person: identity.Person{ID: d.For, Name: d.ForName}}
}

// Sentence says whose answer it is, for people.
func (d Deferred) Sentence() i18n.Text {
	id := "request.approved_by"
	if d.Verb == RejectVerb {
		id = "request.rejected_by"
	}
	return decided(id, d.actor(), d.principal())
}

// Defer puts an answer on a pending request that takes effect after a period. Whether it could take effect now is asked
// before, see Decide.
func Defer(r Request, answer Answer, a identity.Actor, period time.Duration, now time.Time) (Outcome, error) {
	v, err := decidesAs(r, answer.Verb, a, now)
	if err == nil {
		err = open(r, now)
	}
	if err != nil {
		return Outcome{}, err
	}
	d := Deferred{Verb: answer.Verb, By: a.Person.ID, ByName: a.Person.Name, Note: answer.Note, Reduced: answer.Reduced,
		At: now, Until: now.Add(period), Via: a.Via, Session: a.Session, Address: a.Address, Credential: a.Credential}
	if v.Person.ID != a.Person.ID {
		d.For, d.ForName = v.Person.ID, v.Person.Name
	}
	if answer.Verb == ApproveVerb {
		d.Approvers = r.approversOf(v, now)
	}
	r.Decision.Deferred = &d
	e := event(r, a, audit.RequestDeferred, now, i18n.T("request.deferred_"+string(answer.Verb), "Seconds",
		int(period.Seconds()), "Note", answer.Note))
	return Outcome{Request: r, Events: []audit.Event{e}}.onBehalf(a, v), nil
}

// Undo takes an answer back that has not taken effect. Only who gave it can, and only until its time has come, also
// where nothing has come of it then yet: so an undo that is accepted is never overtaken. Of what waits for the actor's
// answer there is nothing to undo: the same form may come in twice.
func Undo(r Request, a identity.Actor, now time.Time) (Outcome, error) {
	d := r.Decision.Deferred
	switch {
	case d == nil && r.answeredBy(a.Person.ID):
		return Outcome{}, fault.New(fault.Conflict, i18n.T("request.undo_late"))
	case d == nil && r.State == Pending:
		return Outcome{Request: r}, mayAnswer(ApproveVerb, a, r, now)
	case d == nil:
		return Outcome{}, fault.New(fault.Forbidden, i18n.T("request.undo_other"))
	case d.By != a.Person.ID:
		return Outcome{}, fault.New(fault.Forbidden, i18n.T("request.undo_other"))
	case !now.Before(d.Until):
		return Outcome{}, fault.New(fault.Conflict, i18n.T("request.undo_due"))
	}
	r.Decision.Deferred = nil
	e := event(r, a, audit.RequestUndone, now, d.Sentence())
	return Outcome{Request: r, Events: []audit.Event{e}}, nil
}

// Apply puts a deferred answer into effect: what Decide would have done when it was given, with the facts of now. The
// outcome is empty before its time, and where it was undone or withdrawn. Where an approval cannot be granted any more,
// the request waits for an answer again, and the record says why.
func Apply(r Request, f Facts) (Outcome, error) {
	d := r.Decision.Deferred
	if d == nil || r.State != Pending || f.Now.Before(d.Until) {
		return Outcome{}, nil
	}
	r.Decision.Deferred = nil
	a, v := d.actor(), d.principal()
	answer := Answer{Verb: d.Verb, Note: d.Note, Reduced: d.Reduced}
	if d.Verb == RejectVerb {
		return reject(r, answer, a, v, f.Now).onBehalf(a, v), nil
	}
	out, err := consent(r, answer, a, v, d.Approvers, f)
	return out.onBehalf(a, v), err
}

// Return gives a request back to its approvers, because its deferred approval cannot take effect for a reason. It has
// the whole time to expire again.
func Return(r Request, why error, now time.Time) Outcome {
	d := r.Decision.Deferred
	if d == nil || r.State != Pending {
		return Outcome{}
	}
	r.Decision.Deferred, r.ExpiresAt = nil, now.Add(TTL)
	sentence := fault.As(why).Sentence
	r.Decision.Returned = &Returned{ByName: d.ByName, Why: sentence, At: now}
	return Outcome{Request: r, Events: []audit.Event{event(r, identity.System(), audit.RequestReturned, now, sentence)}}
}

// Returned says why a deferred approval could not take effect.
type Returned struct {
	ByName string    `json:"byName"`
	Why    i18n.Text `json:"why"`
	At     time.Time `json:"at"`
}

// deferredConflict says that somebody has answered already.
func (r Request) deferredConflict() error {
	return fault.New(fault.Conflict, i18n.T("request.deferred", "By", r.Decision.Deferred.Sentence()))
}

// answeredBy reports whether an answer of somebody has taken effect.
func (r Request) answeredBy(id identity.PersonID) bool {
	return r.Decision.By == id ||
		slices.ContainsFunc(r.Decision.Consents, func(c policy.Consent) bool { return c.By == id })
}
