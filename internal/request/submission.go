package request

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// prepared is a draft with everything that is known of it before a transaction begins.
type prepared struct {
	draft   Draft
	key     idempotencyKey
	spec    Spec
	tenant  tenant.Tenant
	known   bool          // the actor can start something in the tenant
	fields  []fault.Field // what must be changed first
	facts   Facts
	secrets []string  // names of those that the draft asks for
	note    i18n.Text // what should be looked at and hinders nothing
}

// prepare asks the registry of a custom image, which is why it stands before the transaction.
func (s *Service) prepare(ctx context.Context, a identity.Actor, d Draft, key idempotencyKey,
	pin pinning) (prepared, error) {
	p := prepared{draft: d, key: key}
	if p.spec, p.tenant, p.fields, p.known = s.check(a, d); !p.known {
		return p, nil
	}
	if p.spec.Image.IsCustom() {
		found, wrong, err := s.pinned(ctx, &p.spec, pin)
		if err != nil {
			return p, err
		}
		p.fields = append(p.fields, wrong...)
		p.note = portNote(p.spec, found.Ports)
	}
	c := checker{}
	p.secrets = c.secretNames(d)
	p.fields = append(p.fields, c.fields...)
	p.spec.Size.Isolation = s.isolation(ctx, p.spec)
	p.facts = s.before(ctx, p.tenant, p.spec)
	return p, nil
}

// check is everything that can be said of a draft without the store. Of a tenant in which the actor can start nothing
// it says only that it is unknown; known is false then.
func (s *Service) check(a identity.Actor, d Draft) (w Spec, t tenant.Tenant, fields []fault.Field, known bool) {
	site := s.site()
	t, ok := site.Directory.ByName(d.Tenant)
	if !ok || !identity.Can(a, identity.SubmitRequest, identity.Resource{Tenant: d.Tenant}) {
		return Spec{}, t, []fault.Field{{Name: "tenant", Reason: i18n.T("request.tenant_unknown", "Tenant",
			clip(d.Tenant))}}, false
	}
	w, fields = Check(d, Offering{Catalog: site.CatalogFor(t.Name, s.now()), Tenant: t, Clusters: site.Clusters,
		KServe: site.KServe, JobSet: site.JobSet, LeaderWorkerSet: site.LeaderWorkerSet, KEDA: site.KEDA,
		Proxied: site.Proxied, Limits: site.Limits,
		GitImage: site.GitImage, BucketImage: site.BucketImage,
		External: site.External, CustomRefused: site.customRefused(t.Name)})
	if t.Disabled {
		fields = append(fields, fault.Field{Name: "tenant", Reason: i18n.T("request.tenant_disabled", "Tenant", t.Display())})
	}
	return w, t, fields, true
}

// completed is a draft with everything that was looked up for it in the transaction.
type completed struct {
	spec  Spec
	facts Facts
}

// submit goes the whole way of a draft, writing included: Submit in the transaction of a decision, Preview in a dry
// run.
// That nothing comes of the draft is an error that refuses, see refuses.
func (s *Service) submit(ctx context.Context, run transaction, a identity.Actor,
	p prepared) (Outcome, completed, error) {
	if !p.known {
		return Outcome{}, completed{spec: p.spec}, fault.InvalidFields(p.fields)
	}
	var c completed
	out, err := s.decide(ctx, run, p.tenant.Name, func(tx Tx) (Outcome, error) {
		return p.key.once(ctx, tx, a, func() (out Outcome, err error) {
			out, c, err = s.consider(ctx, tx, a, p)
			return out, err
		})
	})
	return out, c, err
}

// consider decides a draft on the facts of the transaction. The error lists everything that must be changed first.
func (s *Service) consider(ctx context.Context, in Reader, a identity.Actor, p prepared) (Outcome, completed, error) {
	c := completed{spec: p.spec, facts: p.facts}
	found, err := complete(ctx, in, a, p, &c.spec)
	if err != nil {
		return Outcome{}, c, err
	}
	fields := slices.Concat(p.fields, found)
	c.facts, err = s.gather(ctx, in, p.facts, subject{kind: StartKind, spec: c.spec, tenant: p.tenant, asker: a.Person.ID,
		name: true})
	if err != nil {
		return Outcome{}, c, err
	}
	if !c.spec.named() {
		return Outcome{}, c, fault.InvalidFields(fields)
	}
	out, err := Submit(c.spec, a, c.facts)
	if len(fields) > 0 {
		return Outcome{}, c, fault.InvalidFields(append(fields, fieldsOf(err)...))
	}
	return out, c, err
}

// named reports whether size and image are known, without which nothing can be decided.
func (w Spec) named() bool { return w.Size.Name != "" && w.Image.Name != "" }

// complete looks up what a draft names: the workload in whose place it is wanted, kept storage, the team's volumes. It
// makes up the name that was not given.
func complete(ctx context.Context, in Reader, a identity.Actor, p prepared,
	w *Spec) (fields []fault.Field, err error) {
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
	found, err := mounted(ctx, in, a.Person.ID, w)
	if err != nil {
		return nil, err
	}
	fields = append(fields, found...)
	found, err = withSecrets(ctx, in, a, p, w)
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
