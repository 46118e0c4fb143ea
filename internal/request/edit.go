package request

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// nobody stands where the rules are asked without a person.
var nobody identity.Actor

// Edited is what an asker changes about their own undecided request, as it was typed. Empty fields leave things as they
// are.
type Edited struct {
	Size   string
	Lease  string
	Reason string
	Seen   int64 // version of the request that the asker saw; 0 for any
}

// Edit puts another spec into an undecided request. It is decided anew: the rules are asked again, and what others said
// to the spec of before counts no more.
func Edit(r Request, w Spec, a identity.Actor, f Facts) (Outcome, error) {
	if err := open(r, f.Now); err != nil {
		return Outcome{}, err
	}
	if fields := obstacles(w, f); len(fields) > 0 {
		return Outcome{}, fault.InvalidFields(fields)
	}
	r.Decision.Seat = nil // a new spec stands at the end of the line
	r.Spec, r.Estimate, r.ExpiresAt = w, f.estimate(StartKind, w), f.Now.Add(TTL)
	out, err := conclude(r, PolicyFacts(StartKind, w, a, f, w.Lease.Std()), a, f)
	if len(out.Events) > 0 {
		out.Events[0].Kind = audit.RequestEdited
	}
	return out, err
}

// Edit changes one's own request while nobody has decided it.
func (s *Service) Edit(ctx context.Context, a identity.Actor, id ID, e Edited) (Request, error) {
	seen, err := s.Get(ctx, a, id)
	if err == nil {
		err = s.MayEdit(a, seen)
	}
	if err != nil {
		return Request{}, err
	}
	t, err := s.working(seen.Spec.Tenant)
	if err != nil {
		return Request{}, err
	}
	w, err := s.edited(seen.Spec, e, Offering{Catalog: s.Site().CatalogFor(t.Name, s.Now()), Tenant: t,
		Clusters: s.Site().Clusters, Limits: s.Site().Limits})
	if err != nil {
		return Request{}, err
	}
	w.Size.Isolation = s.isolation(ctx, w)
	q := subject{kind: StartKind, spec: w, tenant: t, asker: a.Person.ID, own: id}
	before := s.before(ctx, t, w)
	var r Request
	err = s.exclusively(ctx, t.Name, func(tx Tx) error {
		now, err := tx.Request(ctx, id)
		if err != nil {
			return err
		}
		if err := unchanged(now, e.Seen); err != nil {
			return err
		}
		f, err := s.gather(ctx, tx, before, q)
		if err != nil {
			return err
		}
		out, err := Edit(now, w, a, f)
		if err != nil {
			return err
		}
		r, err = s.save(ctx, tx, out)
		return err
	})
	return r, s.refused(ctx, a, Draft{Tenant: seen.Spec.Tenant}, err)
}

// edited is the spec with what was typed.
func (s *Service) edited(w Spec, e Edited, o Offering) (Spec, error) {
	c := checker{offering: o}
	if e.Size != "" {
		w.Size = c.size(e.Size)
		if w.Size.Name != "" && !w.Size.OfferedOn(w.Cluster) {
			w.Cluster = c.cluster("", w.Size)
		}
	}
	if e.Lease != "" {
		w.Lease = c.lease(e.Lease, w.Size)
	} else if most := w.Size.MaxLease; most > 0 && w.Lease > most {
		c.problem("lease", i18n.T("request.lease_too_long", "Most", most.String(), "Size", w.Size.Title))
	}
	if e.Reason != "" {
		w.Reason = c.reason(e.Reason)
	}
	return w, fault.InvalidFields(c.fields)
}

// Choices are the sizes that an asker may change a request to, with its own.
func (s *Service) Choices(a identity.Actor, r Request) []catalog.Size {
	if identity.Known(a) != nil {
		return nil
	}
	var list []catalog.Size
	for _, size := range s.Site().Catalog.Sizes {
		if size.Name == r.Spec.Size.Name || size.OfferedTo(r.Spec.Tenant) &&
			slices.ContainsFunc(s.Site().Clusters, size.OfferedOn) {
			list = append(list, size)
		}
	}
	return list
}

// MayEdit says whether the actor can change a request now, and else why not.
func (s *Service) MayEdit(a identity.Actor, r Request) error {
	switch {
	case !identity.Can(a, identity.EditRequest, r.Resource()):
		return fault.New(fault.Forbidden, i18n.T("request.edit_own"))
	case r.Kind != StartKind:
		return fault.New(fault.Conflict, i18n.T("request.edit_extension"))
	}
	return open(r, s.Now())
}

// unchanged is a Conflict when a request is not the one that somebody saw. Answers cannot leave the version out, see
// Service.Answer.
func unchanged(r Request, seen int64) error {
	if seen > 0 && seen != r.Version {
		return fault.New(fault.Conflict, i18n.T("request.changed"))
	}
	return nil
}

// reduction reads what an approver typed.
func (s *Service) reduction(r Request, size, lease string) (Reduction, error) {
	var n Reduction
	c := checker{offering: Offering{Catalog: s.Site().CatalogFor(r.Spec.Tenant, s.Now()), Clusters: s.Site().Clusters,
		Limits: s.Site().Limits}}
	c.offering.Tenant.Name = r.Spec.Tenant
	if size != "" && size != r.Spec.Size.Name {
		if n.Size = c.size(size); n.Size.Name != "" && !n.Size.OfferedOn(r.Spec.Cluster) {
			c.problem("size", i18n.T("request.size_nowhere", "Size", n.Size.Title))
		}
	}
	if lease != "" {
		n.Lease = c.lease(lease, catalog.Size{})
	}
	return n, fault.InvalidFields(c.fields)
}
