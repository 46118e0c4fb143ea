package request

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// Reduction is what an approver grants where that is less than was asked: "yes, but for 24 hours". Zero values leave
// things as they are.
type Reduction struct {
	Size  catalog.Size
	Lease catalog.Duration
}

// reduce puts less into a pending request. More than was asked is nobody's to grant, and what the rules refuse to the
// asker stays refused.
func reduce(r Request, n Reduction, f Facts) (Request, *policy.Change, error) {
	change := &policy.Change{}
	if n.Size.Name != "" && n.Size.Name != r.Spec.Size.Name {
		if r.Kind != StartKind || !within(n.Size, r.Spec.Size) {
			return r, nil, fault.InvalidFields([]fault.Field{{Name: "size", Reason: i18n.T("request.size_larger", "Size",
				n.Size.Called(), "Asked", r.Spec.Size.Called())}})
		}
		change.Size, r.Spec.Size = r.Spec.Size.Name, n.Size
	}
	if n.Lease > 0 && n.Lease != r.Spec.Lease {
		if r.Kind == ResumeKind || r.Kind == ReachKind {
			return r, nil, fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("request.resume_whole")}})
		}
		if n.Lease > r.Spec.Lease {
			return r, nil, fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("request.lease_longer", "Most",
				r.Spec.Lease.String())}})
		}
		change.Lease, r.Spec.Lease = r.Spec.Lease, n.Lease
	}
	if *change == (policy.Change{}) {
		return r, nil, nil
	}
	if most := r.Spec.Size.MaxLease; r.Kind == StartKind && most > 0 && r.Spec.Lease > most {
		return r, nil, fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("request.lease_too_long", "Most",
			most.String(), "Size", r.Spec.Size.Called())}})
	}
	r.Estimate = f.estimate(r.Kind, r.Spec)
	if r.Kind == StartKind {
		r.EstimateMost = f.estimateMost(r.Spec)
	}
	if v, known := decideAgain(r, f); known && v.Outcome == policy.Refuse {
		return r, nil, fault.New(fault.Conflict, v.Sentence)
	}
	return r, change, nil
}

// within reports whether one size takes no more than another: not of money, memory, cards or share.
func within(less, more catalog.Size) bool {
	return less.PricePerHour.Currency == more.PricePerHour.Currency &&
		less.PricePerHour.Minor <= more.PricePerHour.Minor &&
		less.Accelerator.MemoryGiB <= more.Accelerator.MemoryGiB && less.Devices() <= max(1, more.Devices()) &&
		less.Accelerator.Share*float64(less.Devices()) <= more.Accelerator.Share*float64(more.Devices())
}

// Smaller lists the sizes of a catalog that an approver may grant instead, in its order.
func Smaller(c catalog.Catalog, r Request) []catalog.Size {
	var list []catalog.Size
	for _, s := range c.Sizes {
		if r.Kind == StartKind && s.Name != r.Spec.Size.Name && s.OfferedTo(r.Spec.Tenant) && s.OfferedOn(r.Spec.Cluster) &&
			within(s, r.Spec.Size) {
			list = append(list, s)
		}
	}
	return list
}

// decideAgain puts a changed request to the rules with what is still known of the asker; known is false where nothing
// is.
func decideAgain(r Request, f Facts) (v policy.Verdict, known bool) {
	was := r.Decision.Facts
	if was == nil || f.Policy == nil {
		return v, false
	}
	whole := r.Spec.Lease.Std()
	if r.Kind == ExtendKind && f.Extends != nil {
		whole = extendedUntil(*f.Extends, r.Spec.Lease, f.Now).Sub(f.Extends.Lease.From)
	}
	facts := PolicyFacts(r.Kind, r.Spec, nobody, f, whole.Round(time.Second))
	facts.Person, facts.Roles, facts.Groups, facts.PastRequests, facts.PastCost = was.Person, was.Roles, was.Groups,
		was.PastRequests, was.PastCost
	return f.Policy.Decide(facts), true
}
