package request

import (
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// nobody stands where the rules are asked without a person.
var nobody identity.Actor

// Edited is a change of one's own pending request, as typed. Empty fields leave things as they are.
type Edited struct {
	Size   string
	Lease  string
	Reason string
	Seen   int64 // version of the request that the asker saw; 0 for any
}

// Edit puts another spec into an undecided request. It is decided anew: the rules are asked again, and what others said
// to the former spec counts no more.
func Edit(r Request, w Spec, a identity.Actor, f Facts) (Outcome, error) {
	if err := open(r, f.Now); err != nil {
		return Outcome{}, err
	}
	if r.Decision.Deferred != nil {
		return Outcome{}, r.deferredConflict()
	}
	if fields := obstacles(w, f); len(fields) > 0 {
		return Outcome{}, fault.InvalidFields(fields)
	}
	r.Decision.Seat = nil // a new spec stands at the end of the line
	r.Spec, r.Estimate, r.EstimateMost, r.ExpiresAt = w, f.estimate(StartKind, w), f.estimateMost(w), f.Now.Add(TTL)
	out, err := conclude(r, PolicyFacts(StartKind, w, a, f, w.Lease.Std()), a, f)
	if len(out.Events) > 0 {
		out.Events[0].Kind = audit.RequestEdited
	}
	return out, err
}

// unchanged is a Conflict when a request is not the one that somebody saw. Answers cannot leave the version out, see
// Service.Answer.
func unchanged(r Request, seen int64) error {
	if seen > 0 && seen != r.Version {
		return fault.New(fault.Conflict, i18n.T("request.changed"))
	}
	return nil
}
