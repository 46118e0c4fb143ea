package workload

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Reach is from where programs call an endpoint with its keys: from inside alone, which is the zero value, or also from
// outside the company network.
type Reach struct {
	External bool      `json:"external,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"` // zero: for as long as the endpoint is there
	By       string    `json:"by,omitempty"`   // name of who approved it
	Request  string    `json:"request,omitempty"`
}

// ReachedFromOutside reports whether calls from outside the company network may pass now.
func (w Workload) ReachedFromOutside(now time.Time) bool {
	return w.Kind == catalog.Endpoint && w.Reach.External && w.Answers() && w.Desired != WantDeleted &&
		(w.Reach.Until.IsZero() || now.Before(w.Reach.Until))
}

// CanReachOutside reports whether access from outside can be asked for.
func (w Workload) CanReachOutside() bool {
	return w.Kind == catalog.Endpoint && w.State != Ended && w.Desired != WantDeleted
}

// OpenToOutside lets calls from outside the company network pass, until a time or for good.
func OpenToOutside(r Reach) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		if !w.CanReachOutside() {
			return w, nil, gone()
		}
		r.External, r.Since = true, now.UTC()
		before := w.Reach.terms()
		w.Reach, w.UpdatedAt = r, now
		return w, []audit.Event{changed(w, a, audit.ReachOpened, now, i18n.Text{},
			audit.Changed("reach", before, r.terms()))}, nil
	}
}

// CloseToOutside lets no call from outside the company network pass any more. Where none does, nothing changes.
func CloseToOutside(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	if !w.Reach.External {
		return w, nil, nil
	}
	before := w.Reach.terms()
	w.Reach, w.UpdatedAt = Reach{}, now
	return w, []audit.Event{changed(w, a, audit.ReachClosed, now, i18n.Text{},
		audit.Changed("reach", before, w.Reach.terms()))}, nil
}

// terms is how the record has it.
func (r Reach) terms() string {
	switch {
	case !r.External:
		return "internal"
	case r.Until.IsZero():
		return "external"
	}
	return "external until " + stamp(r.Until)
}

// CloseToOutside takes the access from outside away, at once: for its owner, owners of the team, and those who approve.
func (s *Service) CloseToOutside(ctx context.Context, a identity.Actor, id ID) (Workload, error) {
	var out Workload
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		if err := Permit(a, identity.CloseReach, w); err != nil {
			return err
		}
		if w.Kind != catalog.Endpoint {
			return fault.New(fault.Conflict, i18n.T("request.reach_endpoints"))
		}
		out, err = s.apply(ctx, tx, a, w, CloseToOutside)
		return err
	})
	return out, err
}
