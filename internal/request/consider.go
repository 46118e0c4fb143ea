package request

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// prepared is a draft with everything that is known of it before a transaction begins.
type prepared struct {
	draft  Draft
	spec   Spec
	tenant tenant.Tenant
	known  bool          // the actor can start something in the tenant
	fields []fault.Field // what must be changed first
	facts  Facts
}

func (s *Service) prepare(ctx context.Context, a identity.Actor, d Draft) prepared {
	p := prepared{draft: d}
	if p.spec, p.tenant, p.fields, p.known = s.check(a, d); !p.known {
		return p
	}
	p.spec.Size.Isolation = s.isolation(ctx, p.spec)
	p.facts = s.before(ctx, p.tenant, p.spec)
	return p
}

// considered is what becomes of a draft: Submit writes the outcome, Preview shows it.
type considered struct {
	Outcome
	spec    Spec
	facts   Facts
	fields  []fault.Field // everything that must be changed first
	refusal error         // why nothing comes of it; nil where a request does
}

// consider goes the whole way of a draft but for the writing. Error is trouble; that the draft comes to nothing is
// considered.refusal.
func (s *Service) consider(ctx context.Context, in Reader, a identity.Actor, p prepared) (considered, error) {
	c := considered{spec: p.spec, fields: slices.Clone(p.fields)}
	if !p.known {
		c.refusal = fault.InvalidFields(c.fields)
		return c, nil
	}
	found, err := s.complete(ctx, in, a, &c.spec, p)
	if err != nil {
		return c, err
	}
	c.fields = append(c.fields, found...)
	c.facts, err = s.gather(ctx, in, p.facts, subject{kind: StartKind, spec: c.spec, tenant: p.tenant, asker: a.Person.ID,
		name: true})
	if err != nil {
		return c, err
	}
	if c.spec.Size.Name == "" || c.spec.Image.Name == "" {
		c.refusal = fault.InvalidFields(c.fields)
		return c, nil
	}
	out, refusal := Submit(c.spec, a, c.facts)
	if len(c.fields) == 0 {
		c.Outcome, c.fields, c.refusal = out, fieldsOf(refusal), refusal
		return c, nil
	}
	c.fields = append(c.fields, fieldsOf(refusal)...)
	c.refusal = fault.InvalidFields(c.fields)
	return c, nil
}

// considerOnly is consider in a transaction that writes nothing.
func (s *Service) considerOnly(ctx context.Context, a identity.Actor, p prepared) (c considered, err error) {
	err = s.Store.ReadOnly(ctx, func(in Reader) error {
		c, err = s.consider(ctx, in, a, p)
		return err
	})
	return c, err
}

// complete looks up what a draft names: the workload in whose place it is wanted, kept storage, the team's volumes. It
// makes up the name that was not given.
func (s *Service) complete(ctx context.Context, in Reader, a identity.Actor, w *Spec,
	p prepared) (fields []fault.Field, err error) {
	var wrong *fault.Field
	if w.Replaces, wrong, err = replaced(ctx, in, a, p.draft); err != nil {
		return nil, err
	}
	if wrong != nil {
		fields = append(fields, *wrong)
	}
	if w.Name == "" {
		w.Name = defaultName(w.Kind, a.Person, p.facts.Suffix)
	}
	if w.Volume != "" {
		if wrong, err = keptVolume(ctx, in, w, a); err != nil {
			return nil, err
		}
		if wrong != nil {
			fields = append(fields, *wrong)
		}
	}
	found, err := mounted(ctx, in, w)
	return append(fields, found...), err
}

// keptVolume checks that kept storage may be used: of this person, in this tenant, and not in use.
func keptVolume(ctx context.Context, in Reader, w *Spec, a identity.Actor) (*fault.Field, error) {
	v, err := in.Volume(ctx, w.Volume)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	switch {
	case err != nil || v.Deleted || v.OfTeam() || v.Tenant != w.Tenant || v.Owner != a.Person.ID || v.Cluster != w.Cluster:
		return &fault.Field{Name: "volume", Reason: i18n.T("request.volume_unknown", "Volume", clip(w.Volume))}, nil
	case v.Workload != "":
		return &fault.Field{Name: "volume", Reason: i18n.T("request.volume_in_use", "Volume", v.Name)}, nil
	}
	w.StorageGiB = v.GiB
	return nil, nil
}

// planned is the workload that a draft would become, for its manifest: the one that would be created, or what it would
// be once somebody approved. ok is false while too much of it is missing.
func (c considered) planned(a identity.Actor, complete bool) (w workload.Workload, ok bool) {
	if c.Workload != nil {
		return *c.Workload, true
	}
	ok = complete && c.spec.Cluster != "" && c.spec.Size.Name != "" && c.spec.Image.Name != ""
	return newWorkload(Request{Asker: a.Person.ID, AskerName: a.Person.Name, Spec: c.spec}, c.facts), ok
}
