package request

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ExtensionOffer is a longer lease that somebody may ask for now, and what asking would do.
type ExtensionOffer struct {
	By    catalog.Duration
	Price usage.Money // of the size, for the added time
	// NeedsApproval is set where it would wait for an approver, who wants a reason.
	NeedsApproval bool
}

// usualExtensions are those that one click asks for.
var usualExtensions = []catalog.Duration{catalog.Duration(time.Hour), catalog.Duration(4 * time.Hour),
	catalog.Duration(24 * time.Hour)}

// ExtensionOffers are the usual extensions that would not be refused, by a dry run of each. A workload that is gone
// has none.
func (s *Service) ExtensionOffers(ctx context.Context, a identity.Actor,
	w workload.Workload) ([]ExtensionOffer, error) {
	if err := workload.Permit(a, identity.ChangeWorkload, w); err != nil || !w.CanExtend() {
		return nil, err
	}
	t, err := s.working(w.Tenant)
	if isRefusal(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var offers []ExtensionOffer
	base := s.before(ctx, t, specOf(w, 0, ""))
	err = s.dryRun(ctx, t.Name, func(tx Tx) error {
		q := subject{kind: ExtendKind, spec: specOf(w, 0, ""), tenant: t, asker: a.Person.ID, target: w.ID}
		known, err := s.read(ctx, tx, base.Now, q) // the same for each
		if err != nil {
			return err
		}
		for _, by := range usualExtensions {
			q.spec = specOf(w, by, "")
			f := s.facts(base, q, known)
			offer := ExtensionOffer{By: by, Price: f.estimate(ExtendKind, q.spec)}
			out, err := SubmitExtension(*f.Extends, by, "", a, f)
			offer.NeedsApproval = onlyReasonMissing(fieldsOf(err)) || out.Request.State == Pending
			switch {
			case err == nil || offer.NeedsApproval:
				offers = append(offers, offer)
			case !isRefusal(err):
				return err
			}
		}
		return nil
	})
	return offers, err
}
