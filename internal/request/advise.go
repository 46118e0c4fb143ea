package request

import (
	"context"

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
	for _, o := range offers {
		problem := o.Problem
		if problem.IsZero() && o.Verdict.Outcome == policy.Refuse {
			problem = o.Verdict.Sentence
		}
		offered = append(offered, sizing.Offer{Size: o.Size, Fit: o.Fit, Now: o.StartsNow(), Problem: problem})
	}
	return sizing.Propose(answers, offered), nil
}
