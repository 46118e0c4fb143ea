package request

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// RevisionDraft is a new version of an endpoint as typed or posted.
type RevisionDraft struct {
	Image string         // "" for the present one
	Model *catalog.Model // nil for the present one
	// StopFirst agrees that the present version stops before the new one starts, where no GPU is spare.
	StopFirst   bool
	ReadyWithin string // "30m"; "" for the usual time
	Percent     *int   // of the calls, for a canary; nil for a version that takes over when it is ready
}

// RevisionPlan is the effect of a new version: what changes, and how it would be rolled out.
type RevisionPlan struct {
	Number      int
	Image       catalog.Image
	Model       *catalog.Model
	Mounts      []workload.Mount
	Of          int // the older version that it is again; 0 for none
	ReadyWithin time.Duration
	Percent     *int
	// StopFirst: the present version stops before; Why says why it cannot answer meanwhile.
	StopFirst bool
	Why       i18n.Text
	Problem   error     // why it cannot be sent as it is; nil where it can
	Fit       *ModelFit // nil where nothing can be said
}

// Fields are what must be changed first.
func (p RevisionPlan) Fields() []fault.Field { return fieldsOf(p.Problem) }

// Revise begins to roll out another version of an endpoint. Invalid with each field, Forbidden where a rule says no to
// its model, Conflict where it makes no sense now or would stop the present version and nobody has agreed to that.
func (s *Service) Revise(ctx context.Context, a identity.Actor, id workload.ID,
	d RevisionDraft) (workload.Workload, error) {
	out, _, err := s.revise(ctx, s.exclusively, a, id, func(w workload.Workload, t tenant.Tenant) (revisionAsk, error) {
		return s.revised(w, t, d), nil
	})
	if err == nil || !isRefusal(err) {
		return out, err
	}
	w, unread := s.changeable(ctx, a, id)
	if unread != nil {
		return out, err
	}
	return out, s.recordRefusal(ctx, a, w.Tenant, "", err)
}

// PreviewRevision is Revise in a transaction that writes nothing. What it would refuse is told in Problem.
func (s *Service) PreviewRevision(ctx context.Context, a identity.Actor, id workload.ID,
	d RevisionDraft) (RevisionPlan, error) {
	w, err := s.changeable(ctx, a, id)
	if err != nil {
		return RevisionPlan{}, err
	}
	_, plan, err := s.revise(ctx, s.dryRun, a, id, func(w workload.Workload, t tenant.Tenant) (revisionAsk, error) {
		return s.revised(w, t, d), nil
	})
	if err != nil && !isRefusal(err) {
		return plan, err
	}
	plan.Problem = causeOf(err)
	spec := specOf(w, 0, "")
	spec.Image, spec.Model = plan.Image, plan.Model
	plan.Fit, err = s.offers.modelFit(ctx, a, spec)
	return plan, err
}

// RollBack brings an older version of an endpoint back, 0 for the previous one. It was granted once, so that no rule
// is asked again, and who rolls back agrees that the present version stops first where no GPU is spare. What is on its
// way is ended.
func (s *Service) RollBack(ctx context.Context, a identity.Actor, id workload.ID,
	number int) (out workload.Workload, err error) {
	out, _, err = s.revise(ctx, s.exclusively, a, id, func(w workload.Workload, _ tenant.Tenant) (revisionAsk, error) {
		return rolledBack(w, number)
	})
	return out, err
}

// PreviewRollBack says how an older version would come back.
func (s *Service) PreviewRollBack(ctx context.Context, a identity.Actor, id workload.ID,
	number int) (RevisionPlan, error) {
	_, plan, err := s.revise(ctx, s.dryRun, a, id, func(w workload.Workload, _ tenant.Tenant) (revisionAsk, error) {
		return rolledBack(w, number)
	})
	if err != nil && !isRefusal(err) {
		return plan, err
	}
	plan.Problem = causeOf(err)
	return plan, nil
}

// revisionAsk is a version that somebody wants, before facts were gathered.
type revisionAsk struct {
	RevisionPlan
	agreed bool // to stop the present one first
	back   bool // it served before
	abort  bool // what is on its way is to end
	fields []fault.Field
}

func (p RevisionPlan) update() workload.Update {
	return workload.Update{Image: p.Image, Model: p.Model, Mounts: p.Mounts, Of: p.Of, StopFirst: p.StopFirst,
		ReadyWithin: p.ReadyWithin, Percent: p.Percent}
}

func rolledBack(w workload.Workload, number int) (revisionAsk, error) {
	if number == 0 {
		number = w.RollbackTo()
	}
	r, ok := w.RevisionAt(number)
	if !ok || !w.CanRollBack(number) {
		return revisionAsk{}, fault.New(fault.Conflict, i18n.T("versions.no_rollback"))
	}
	return revisionAsk{agreed: true, back: true, abort: w.Revisions.Rollout != nil, RevisionPlan: RevisionPlan{
		Image: r.Image, Model: r.Model, Mounts: r.Mounts, Of: r.Number, ReadyWithin: workload.UsualReadyWithin}}, nil
}

// revised checks a draft against what the team may have.
func (s *Service) revised(w workload.Workload, t tenant.Tenant, d RevisionDraft) revisionAsk {
	site := s.site()
	c := checker{offering: Offering{Catalog: site.CatalogFor(t.Name, s.now()), Tenant: t, Clusters: site.Clusters,
		Proxied: site.Proxied, Limits: site.Limits}}
	spec := specOf(w, 0, "")
	spec.Volume = w.Volume
	if d.Image != "" && !(w.Image.IsCustom() && d.Image == w.Image.Name) {
		spec.Image = c.image("image", d.Image, catalog.Endpoint)
		c.proxied(spec)
	}
	if gone := site.CustomGone(t.Name, spec.Image); !gone.IsZero() {
		c.problem("image", gone)
	}
	said := d.Model
	if said == nil && spec.Image.Runtime != nil {
		said = w.Model
	}
	if spec.Model = c.model(Draft{Kind: catalog.Endpoint, Model: said}, spec); d.Model == nil && said != nil {
		c.fields = renamed(c.fields, d.Image != "")
	}
	if w.Replicas.Most() > 1 && spec.Image.Home != "" && w.Volume != "" {
		c.problem("image", i18n.T("replicas.storage"))
	}
	_, problems := autoscale.Parse(w.Replicas.Scaling.Typed(), w.Replicas.ToZero(), spec.Image, w.Size)
	for _, p := range problems {
		c.problem("image", p.Reason)
	}
	ask := revisionAsk{agreed: d.StopFirst, RevisionPlan: RevisionPlan{Image: spec.Image, Model: spec.Model,
		Mounts: w.Mounts, ReadyWithin: c.readyWithin(d.ReadyWithin), Percent: d.Percent}}
	c.revisedBackend(w, spec, d)
	if p := d.Percent; p != nil && (*p < 0 || *p > workload.MostPercent) {
		c.problem("percent", i18n.T("versions.percent_range", "Most", workload.MostPercent))
	}
	ask.fields = c.fields
	return ask
}

// revisedBackend refuses what the backend of an endpoint cannot do with another version.
func (c *checker) revisedBackend(w workload.Workload, spec Spec, d RevisionDraft) {
	switch image := spec.Image; {
	case image.Name == "":
	case image.PodsBackend() != w.Image.PodsBackend():
		c.problem("image", i18n.T("versions.backend", "Image", image.Title))
	case image.ScalesByKEDA() && !slices.Contains(c.offering.KEDA, w.Cluster):
		c.problem("image", i18n.T("request.no_keda", "Image", image.Title, "Cluster", w.Cluster))
	case image.NeedsLeaderWorkerSet() && w.Replicas.Most() > image.Runtime.MaxNodes:
		c.problem("image", i18n.T("request.nodes_range", "Most", image.Runtime.MaxNodes))
	}
	switch {
	case d.Percent == nil:
	case w.Image.NeedsKServe():
		c.problem("percent", i18n.T("versions.kserve_whole"))
	case w.Image.NeedsLeaderWorkerSet():
		c.problem("percent", i18n.T("versions.group_whole"))
	}
}

// renamed says of the image what is wrong with a model that was not named anew: it is the image that was chosen.
func renamed(fields []fault.Field, chosen bool) []fault.Field {
	if chosen {
		for i := range fields {
			fields[i].Name = "image"
		}
	}
	return fields
}

func (c *checker) readyWithin(text string) time.Duration {
	if text == "" {
		return workload.UsualReadyWithin
	}
	d, err := catalog.ParseDuration(text)
	if err != nil || d.Std() < workload.LeastReadyWithin || d.Std() > workload.MostReadyWithin {
		c.problem("readyWithin", i18n.T("versions.ready_range", "Least",
			catalog.Duration(workload.LeastReadyWithin).String(), "Most", catalog.Duration(workload.MostReadyWithin).String()))
		return workload.UsualReadyWithin
	}
	return d.Std()
}

// revise goes the whole way of a version, writing included.
func (s *Service) revise(ctx context.Context, run transaction, a identity.Actor, id workload.ID,
	want func(workload.Workload, tenant.Tenant) (revisionAsk, error)) (out workload.Workload, plan RevisionPlan,
	err error) {
	if err := identity.Known(a); err != nil {
		return out, plan, err
	}
	w, err := s.changeable(ctx, a, id)
	if err != nil {
		return out, plan, err
	}
	t, err := s.working(w.Tenant)
	if err != nil {
		return out, plan, err
	}
	base := s.before(ctx, t, specOf(w, 0, ""))
	err = run(ctx, t.Name, func(tx Tx) error {
		w, err := tx.Workload(ctx, id)
		if err != nil {
			return err
		}
		if err := workload.Permit(a, identity.ChangeWorkload, w); err != nil {
			return err
		}
		ask, err := want(w, t)
		plan = ask.RevisionPlan
		if err != nil {
			return err
		}
		if ask.abort {
			if out, err = carryOut(ctx, tx, w, workload.Abort, a, s.now()); err != nil {
				return err
			}
			return s.holdCanary(ctx, tx, w, out)
		}
		ask, err = s.planned(ctx, tx, a, w, t, base, ask)
		plan = ask.RevisionPlan
		if err != nil {
			return err
		}
		if out, err = carryOut(ctx, tx, w, workload.Revise(ask.update()), a, s.now()); err != nil {
			return err
		}
		return s.holdCanary(ctx, tx, w, out)
	})
	return out, plan, err
}

// holdCanary puts aside what a canary takes of the budget, or gives it back. One that comes up for some minutes to take
// over is charged, and nothing is put aside for it.
func (s *Service) holdCanary(ctx context.Context, tx Tx, before, after workload.Workload) error {
	more := after.HasCanary()
	if s.budgets == nil || before.HasCanary() == more {
		return nil
	}
	claim, err := tx.BudgetClaim(ctx, string(after.ID))
	if err != nil {
		return err
	}
	if more {
		ask, err := s.budgets.Ask(ctx, tx, claim)
		if err != nil {
			return err
		}
		if !ask.Fits() {
			reason := ask.Sentence("budget.over")
			return &fault.Error{Kind: fault.Conflict, Sentence: reason,
				Fields: []fault.Field{{Name: "percent", Reason: reason}}}
		}
	}
	return s.budgets.Hold(ctx, tx, claim, more)
}

func carryOut(ctx context.Context, tx Tx, w workload.Workload, change workload.Change, a identity.Actor,
	now time.Time) (workload.Workload, error) {
	next, events, err := change(w, a, now)
	if err != nil || len(events) == 0 {
		return next, err
	}
	if err := tx.SaveWorkload(ctx, next); err != nil {
		return next, err
	}
	next.Version++
	return next, tx.Append(ctx, events...)
}

// planned decides a version on the facts of the transaction, and how it comes up.
func (s *Service) planned(ctx context.Context, tx Tx, a identity.Actor, w workload.Workload, t tenant.Tenant,
	base Facts, ask revisionAsk) (revisionAsk, error) {
	list := w.RevisionList()
	ask.Number = list[len(list)-1].Number + 1
	if !w.CanRevise() {
		_, _, err := workload.Revise(ask.update())(w, a, s.now()) // says why
		return ask, err
	}
	held, err := tx.ClusterHeld(ctx, w.Cluster)
	if err != nil {
		return ask, err
	}
	if held {
		return ask, fault.New(fault.Unavailable, i18n.T("drift.held", "Cluster", w.Cluster))
	}
	spec := specOf(w, 0, "")
	spec.Lease = catalog.Duration(w.Lease.Until.Sub(w.Lease.From))
	spec.Image, spec.Model, spec.Replicas = ask.Image, ask.Model, workload.Range{}
	if !ask.back {
		wrong, err := s.mounting(ctx, tx, w, &ask, spec)
		if err != nil {
			return ask, err
		}
		ask.fields = append(ask.fields, wrong...)
	}
	if len(ask.fields) > 0 {
		return ask, fault.InvalidFields(ask.fields)
	}
	f, err := s.gather(ctx, tx, base, subject{kind: StartKind, spec: spec, tenant: t, asker: a.Person.ID, owner: w.Owner})
	if err != nil {
		return ask, err
	}
	if !ask.back {
		if err := allowed(spec, w.Replicas.Range, a, f); err != nil {
			return ask, err
		}
	}
	if ask.Why = notSpare(w, spec, f); w.Image.NeedsLeaderWorkerSet() {
		ask.Why = i18n.T("versions.group_stops")
	}
	ask.StopFirst = !ask.Why.IsZero() || w.State != workload.Running
	if w.State != workload.Running {
		ask.Why = i18n.Text{}
	}
	if ask.Percent != nil && ask.StopFirst {
		reason := i18n.T("versions.canary_down")
		if !ask.Why.IsZero() {
			reason = ask.Why
		}
		return ask, &fault.Error{Kind: fault.Conflict, Sentence: reason,
			Fields: []fault.Field{{Name: "percent", Reason: reason}}}
	}
	if !ask.Why.IsZero() && !ask.agreed {
		reason := i18n.T("versions.must_stop", "Why", ask.Why)
		return ask, &fault.Error{Kind: fault.Conflict, Sentence: reason,
			Fields: []fault.Field{{Name: "stopFirst", Reason: reason}}}
	}
	return ask, nil
}

// mounting adds the team's volume that the model lies in to those that the endpoint has.
func (s *Service) mounting(ctx context.Context, tx Tx, w workload.Workload, ask *revisionAsk,
	spec Spec) ([]fault.Field, error) {
	name := volumeOf(ask.Model)
	has := slices.ContainsFunc(w.Mounts, func(m workload.Mount) bool { return m.OfTeam() && m.Name == name })
	if name == "" || has {
		return nil, nil
	}
	spec.Mounts = []workload.Mount{{TeamShare: workload.TeamShare{Name: name}}}
	wrong, err := mounted(ctx, tx, w.Owner, &spec)
	ask.Mounts = append(slices.Clone(w.Mounts), spec.Mounts...)
	return wrong, err
}

// allowed asks the rules about the model of a version. What they would say of a start of that size with any model was
// decided when the endpoint started: only what they say of this one counts.
func allowed(spec Spec, replicas workload.Range, a identity.Actor, f Facts) error {
	spec.Replicas = replicas
	anyModel := spec
	anyModel.Model = nil
	seen := PolicyFacts(StartKind, spec, a, f, spec.Lease.Std())
	v := f.Policy.Decide(seen)
	if v.Outcome == policy.Allow {
		return nil
	}
	b := f.Policy.Decide(PolicyFacts(StartKind, anyModel, a, f, spec.Lease.Std()))
	if b.Rule == v.Rule && b.Outcome == v.Outcome {
		return nil
	}
	if v.Outcome == policy.Approve {
		return fault.New(fault.Forbidden, i18n.T("versions.needs_approval", "Rule", v.Sentence))
	}
	return fault.New(fault.Forbidden, v.Sentence)
}

// notSpare says why the new version cannot come up while the previous one still answers; zero where it can. What the
// cluster does not tell is tried: the previous version goes on until the other one is ready.
func notSpare(w workload.Workload, spec Spec, f Facts) i18n.Text {
	switch {
	case w.Volume != "" && (w.Image.Home != "" || spec.Image.Home != ""), workload.HasPersonal(w.Mounts):
		return i18n.T("versions.stop_storage")
	case f.Quota.Lacks(1):
		return i18n.T("versions.stop_quota", "Size", f.Quota.Names(w.Size), "Used", f.Quota.Used, "Limit", f.Quota.Limit)
	case w.Size.LicensePool != "" && w.Size.LicenseKind() == license.SharedVGPU, f.seatsMissing(spec):
		return i18n.T("versions.stop_seat")
	case f.Fit.Known && f.Fit.Free < 1:
		return i18n.T("versions.stop_room", "Size", w.Size.Called())
	}
	return i18n.Text{}
}
