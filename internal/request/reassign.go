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

// Reassignment is one approver's part in a step, given to another one of the same step. It gives no right and takes
// none from third persons: only who gave it away has no word in that step until they take it back. So it leads into no
// dead end when the other one is away.
type Reassignment struct {
	Step     int               `json:"step"`
	From     identity.PersonID `json:"from"`
	FromName string            `json:"fromName"`
	To       identity.PersonID `json:"to"`
	ToName   string            `json:"toName"`
	Reason   string            `json:"reason"`
	At       time.Time         `json:"at"`
}

// Reassigned are the reassignments of the open step, oldest first.
func (r Request) Reassigned() []Reassignment {
	if len(r.Decision.Reassigned) == 0 || r.State != Pending {
		return nil
	}
	step, _ := r.OpenStep()
	return slices.DeleteFunc(slices.Clone(r.Decision.Reassigned), func(h Reassignment) bool { return h.Step != step })
}

// ReassignedBy is what somebody gave away in the open step.
func (r Request) ReassignedBy(id identity.PersonID) (Reassignment, bool) {
	return findReassignment(r.Reassigned(), func(h Reassignment) bool { return h.From == id })
}

// ReassignedTo is what somebody was given in the open step, the newest of several.
func (r Request) ReassignedTo(id identity.PersonID) (Reassignment, bool) {
	list := r.Reassigned()
	slices.Reverse(list)
	return findReassignment(list, func(h Reassignment) bool { return h.To == id })
}

func findReassignment(list []Reassignment, is func(Reassignment) bool) (Reassignment, bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return Reassignment{}, false
}

// without is the request as if somebody had given nothing away.
func (r Request) without(id identity.PersonID) Request {
	r.Decision.Reassigned = slices.DeleteFunc(slices.Clone(r.Decision.Reassigned),
		func(h Reassignment) bool { return h.From == id })
	return r
}

// Reassign gives an approver's part in the open step to another one. Each decides by their own rights: a delegate
// cannot pass on what they have from the delegator.
func Reassign(r Request, to identity.Actor, reason string, seen int64, a identity.Actor,
	now time.Time) (Outcome, error) {
	if err := mayReassign(r, a, now); err != nil {
		return Outcome{}, err
	}
	if err := unchanged(r, seen); err != nil {
		return Outcome{}, err
	}
	if why := cannotTake(r, to, a, now); !why.IsZero() {
		return Outcome{}, fault.InvalidFields([]fault.Field{{Name: "person", Reason: why}})
	}
	step, _ := r.OpenStep()
	r = r.without(to.Person.ID) // what they gave away comes back to them
	r.Decision.Reassigned = append(r.Decision.Reassigned, Reassignment{Step: step, From: a.Person.ID,
		FromName: a.Person.Name,
		To:       to.Person.ID, ToName: to.Person.Name, Reason: reason, At: now})
	e := event(r, a, audit.RequestReassigned, now, i18n.T("request.reassigned_to", "Name", to.Person.Name, "Reason",
		reason))
	e.Changes = audit.Changed(audit.ReassignedTo, "", to.Person.ID)
	return Outcome{Request: r, Events: []audit.Event{e}}, nil
}

func mayReassign(r Request, a identity.Actor, now time.Time) error {
	if err := open(r, now); err != nil {
		return err
	}
	a.Delegators = nil
	_, err := mayDecideAs(r, a, now)
	return err
}

// cannotTake says why somebody cannot be given it; zero for one who can: their word must count in this step, and where
// all approvers are needed for the same one.
func cannotTake(r Request, to, a identity.Actor, now time.Time) i18n.Text {
	to.Delegators, a.Delegators = nil, nil
	switch {
	case to.Person.ID == a.Person.ID:
		return i18n.T("request.reassign_self")
	case to.Person.ID == r.Asker:
		return i18n.T("request.reassign_asker")
	}
	r = r.without(to.Person.ID)
	step, _ := r.OpenStep()
	own := r.approversOf(a, now)
	same := slices.ContainsFunc(r.approversOf(to, now), func(p identity.Approvers) bool { return slices.Contains(own, p) })
	if !Awaits(r, to, now) || r.Steps()[step].All && !same {
		return i18n.T("request.reassign_not_approver", "By", policy.WhoOf(own, false))
	}
	return i18n.Text{}
}

// Reclaim ends one's own reassignment. Without one it changes nothing for somebody who may decide anyway, so that a
// form can be sent twice.
func Reclaim(r Request, a identity.Actor, now time.Time) (Outcome, error) {
	if err := open(r, now); err != nil {
		return Outcome{}, err
	}
	h, ok := r.ReassignedBy(a.Person.ID)
	if !ok {
		return Outcome{Request: r}, mayAnswer(ApproveVerb, a, r, now)
	}
	r = r.without(a.Person.ID)
	if err := mayAnswer(ApproveVerb, a, r, now); err != nil {
		return Outcome{}, err
	}
	e := event(r, a, audit.RequestTakenBack, now, i18n.T("request.taken_back_from", "Name", h.ToName))
	e.Changes = audit.Changed(audit.ReassignedTo, h.To, "")
	return Outcome{Request: r, Events: []audit.Event{e}}, nil
}
