package request

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Extended is what a granted extension changed of the workload, so that it can be taken back: when the lease ended
// before and ends after it, and when its end had been announced.
type Extended struct {
	Before time.Time `json:"before"`
	After  time.Time `json:"after"`
	Warned time.Time `json:"warned,omitzero"`
}

// UndoExtension takes back an extension that a rule granted at once, within a period: the lease ends as before, and the
// budget holds what it held. What an approver has agreed to stays, and so does a lease that was changed since. An
// extension that was taken back already is none to complain about: the same form may come in twice.
func UndoExtension(r Request, w workload.Workload, a identity.Actor, period time.Duration,
	now time.Time) (Outcome, error) {
	e := r.Decision.Extended
	switch {
	case e != nil && r.State == Withdrawn:
		return Outcome{Request: r}, nil
	case e == nil || r.State != Approved || r.Decider() != DeciderRule:
		return Outcome{}, fault.New(fault.Conflict, i18n.T("request.undo_extension_none"))
	case !now.Before(r.DecidedAt.Add(period)):
		return Outcome{}, fault.New(fault.Conflict, i18n.T("request.undo_extension_late"))
	case !w.Lease.Until.Equal(e.After):
		return Outcome{}, fault.New(fault.Conflict, i18n.T("request.undo_extension_changed"))
	}
	w, moved, err := workload.UndoExtend(w, e.Before, e.Warned, a, now)
	if err != nil {
		return Outcome{}, err
	}
	r.State, r.DecidedAt = Withdrawn, now
	r.Decision.Sentence = i18n.T("request.withdrawn_by", "Name", a.Person.Name)
	events := []audit.Event{event(r, a, audit.RequestUndone, now, r.Decision.Sentence)}
	for _, m := range moved {
		m.Request = string(r.ID)
		events = append(events, m)
	}
	return Outcome{Request: r, Workload: &w, Events: events}, nil
}

// UndoExtension takes an extension back that was granted at once. Who may withdraw a request may do this.
func (s *Service) UndoExtension(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	seen, err := s.get(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	if !identity.Can(a, identity.WithdrawRequest, seen.Resource()) {
		return Request{}, fault.New(fault.Forbidden, i18n.T("request.not_yours"))
	}
	out, err := s.decide(ctx, s.exclusively, seen.Spec.Tenant, func(tx Tx) (Outcome, error) {
		r, err := tx.Request(ctx, id)
		if err != nil {
			return Outcome{}, err
		}
		var w workload.Workload
		if r.Decision.Extended != nil {
			if w, err = tx.Workload(ctx, r.Workload); err != nil {
				return Outcome{}, err
			}
		}
		return UndoExtension(r, w, a, s.site().Undo, s.now())
	})
	return out.Request, err
}
