package request

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/sizing"
)

// Advise proposes sizes of those that the team may see, for what somebody said of their work. Without a team everything
// on offer is proposed, and nothing said of what is free. Answers that make no sense are Invalid, with their fields.
func (s *Offers) Advise(ctx context.Context, a identity.Actor, tenantName string,
	said sizing.Answers) (sizing.Advice, error) {
	answers, problems := sizing.Check(said)
	if err := fault.InvalidFields(problems); err != nil {
		return sizing.Advice{}, err
	}
	var offered []sizing.Offer
	if tenantName == "" {
		for _, size := range s.site().Catalog.Sizes {
			if !size.Hidden && len(size.Tenants) == 0 {
				offered = append(offered, sizing.Offer{Size: size})
			}
		}
		return sizing.Propose(answers, offered), nil
	}
	offers, err := s.List(ctx, a, tenantName)
	if err != nil {
		return sizing.Advice{}, err
	}
	return sizing.Propose(answers, sizingOffers(offers)), nil
}

func sizingOffers(offers []Offer) (list []sizing.Offer) {
	for _, o := range offers {
		problem := o.Problem
		if problem.IsZero() && o.Verdict.Outcome == policy.Refuse {
			problem = o.Verdict.Sentence
		}
		list = append(list, sizing.Offer{Size: o.Size, Fit: o.Fit, Now: o.StartsNow(),
			Ahead: o.QueueDepth, Approve: o.Verdict.Outcome == policy.Approve, Problem: problem})
	}
	return list
}

// ModelFit says whether the size of a start has room for its model. It is an estimate, and refuses nothing.
type ModelFit struct {
	sizing.Served
	RoomGiB float64 // of one replica
	// Smallest is the size with the least memory that has room; the zero value where none of the team's has.
	Smallest catalog.Size
}

// Fits reports whether there is room.
func (f ModelFit) Fits() bool { return f.RoomGiB >= f.Estimate.GiB }

// modelFit is nil where nothing can be said.
func (s *Offers) modelFit(ctx context.Context, a identity.Actor, w Spec) (*ModelFit, error) {
	fit, ok := fitOf(w)
	if !ok {
		return nil, nil
	}
	offers, err := s.List(ctx, a, w.Tenant)
	if err != nil {
		return nil, err
	}
	share := fit.Served
	share.Estimate.GiB /= podsOf(w)
	smallest, _ := share.Smallest(w.Image.Runtime.Engine, sizingOffers(offers))
	fit.Smallest = smallest.Size
	return &fit, nil
}

// fitOf is the fit without the smallest size; not ok where nothing can be said.
func fitOf(w Spec) (ModelFit, bool) {
	if w.Model == nil || w.Image.Runtime == nil {
		return ModelFit{}, false
	}
	served, ok := sizing.Serve(*w.Model)
	return ModelFit{Served: served, RoomGiB: podsOf(w) * sizing.RoomFor(w.Size, w.Image.Runtime.Engine)}, ok
}

// podsOf is over how many pods one copy of the model is spread.
func podsOf(w Spec) float64 {
	if w.Image.NeedsLeaderWorkerSet() {
		return float64(w.Replicas.Least())
	}
	return 1
}
