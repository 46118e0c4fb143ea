package request

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Service is the service for askers: submit, preview, edit and withdraw requests; extend and resume workloads.
type Service struct {
	*core
	store    requestStore
	offers   *Offers
	renderer Renderer
	pin      func(ctx context.Context, team, reference string, runAs *int64) (tenant.Pinned, error)
	pins     pins
}

type requestStore interface {
	Requests(ctx context.Context, f Filter) ([]Request, string, error)
	// RequestPage is Requests with the way back and what is counted.
	RequestPage(ctx context.Context, f Filter) (Page, error)
	// CountRequests counts no further than MostCounted+1.
	CountRequests(ctx context.Context, f Filter) (int, error)
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
}

// Renderer renders the Kubernetes objects of a workload as YAML, to read before it is requested.
type Renderer interface {
	Manifest(w workload.Workload, t tenant.Tenant) (string, error)
}

// Manifest is a workload's objects as YAML.
func (s *Service) Manifest(w workload.Workload) (string, error) {
	t, _ := s.site().Directory.ByName(w.Tenant)
	return s.renderer.Manifest(w, t)
}

// NewKey makes an idempotency key for a form.
func (s *Service) NewKey() string { return s.newID("k-") }

// Submit checks a draft and decides it. The same draft with the same idempotency key of the same person gives the
// request it gave before.
func (s *Service) Submit(ctx context.Context, a identity.Actor, d Draft) (Request, error) {
	sent := draftKey(d)
	if r, found, err := s.earlier(ctx, a, d.Tenant, sent); found || err != nil {
		return r, err
	}
	p, err := s.prepare(ctx, a, d, sent, pinNow)
	if err != nil {
		return Request{}, err
	}
	run := s.exclusively
	if len(p.fields) > 0 { // nothing can be granted, so nobody has to wait for it
		run = s.dryRun
	}
	out, _, err := s.submit(ctx, run, a, p)
	return out.Request, s.recordRefusal(ctx, a, d.Tenant, d.Size, err)
}

// Preview is Submit in a transaction that writes nothing: the same facts, problems and verdict, with the workload whose
// Manifest has the exact objects. Only trouble with the store is an error.
func (s *Service) Preview(ctx context.Context, a identity.Actor, d Draft) (Preview, error) {
	if err := identity.Known(a); err != nil {
		return Preview{}, err
	}
	p, err := s.prepare(ctx, a, d, idempotencyKey{}, pinLately)
	if err != nil {
		return Preview{}, err
	}
	p.facts.Suffix = "xxxx" // drawn when it is sent
	out, c, err := s.submit(ctx, s.dryRun, a, p)
	if err != nil && !isRefusal(err) {
		return Preview{}, err
	}
	if !p.known {
		return Preview{Spec: c.spec, Fields: fieldsOf(err)}, nil
	}
	return s.preview(ctx, a, p, c, out, err)
}

// Edit changes one's own request while nobody has decided it.
func (s *Service) Edit(ctx context.Context, a identity.Actor, id ID, e Edited) (Request, error) {
	seen, err := s.get(ctx, a, id)
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
	site := s.site()
	w, err := seen.Spec.edited(e, Offering{Catalog: site.CatalogFor(t.Name, s.now()), Tenant: t, Clusters: site.Clusters,
		KServe: site.KServe, JobSet: site.JobSet, LeaderWorkerSet: site.LeaderWorkerSet, KEDA: site.KEDA,
		Proxied: site.Proxied, Limits: site.Limits})
	if err != nil {
		return Request{}, err
	}
	w.Size.Isolation = s.isolation(ctx, w)
	base := s.before(ctx, t, w)
	out, err := s.decide(ctx, s.exclusively, t.Name, func(tx Tx) (Outcome, error) {
		now, f, err := s.gatherAgain(ctx, tx, id, base, func(Request) subject {
			return subject{kind: StartKind, spec: w, tenant: t, asker: a.Person.ID, own: id}
		})
		if err == nil {
			err = unchanged(now, e.Seen)
		}
		if err != nil {
			return Outcome{}, err
		}
		return Edit(now, w, a, f)
	})
	return out.Request, s.recordRefusal(ctx, a, t.Name, "", err)
}

// edited is the spec with what was typed.
func (w Spec) edited(e Edited, o Offering) (Spec, error) {
	c := checker{offering: o}
	if e.Size != "" {
		w.Size = c.size(e.Size)
		if w.Size.Name != "" && !w.Size.OfferedOn(w.Cluster) {
			w.Cluster = c.cluster("", w.Size, w.Image)
			c.kserve(w)
			c.leaderWorkerSet(w)
			c.keda(w)
			c.proxied(w)
		}
	}
	if e.Lease != "" {
		w.Lease = c.lease(e.Lease, w.Size)
	} else if most := w.Size.MaxLease; most > 0 && w.Lease > most {
		c.problem("lease", i18n.T("request.lease_too_long", "Most", most.String(), "Size", w.Size.Called()))
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
	for _, size := range s.site().Catalog.Sizes {
		if size.Name == r.Spec.Size.Name || size.OfferedTo(r.Spec.Tenant) &&
			slices.ContainsFunc(s.site().Clusters, size.OfferedOn) {
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
	case r.Decision.Deferred != nil:
		return r.deferredConflict()
	}
	return open(r, s.now())
}

// Withdraw takes one's own undecided request back.
func (s *Service) Withdraw(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	seen, err := s.get(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	if !identity.Can(a, identity.WithdrawRequest, seen.Resource()) {
		return Request{}, fault.New(fault.Forbidden, i18n.T("request.not_yours"))
	}
	return s.change(ctx, id, func(r Request) (Outcome, error) { return Withdraw(r, a, s.now()) })
}

// Extend asks for a longer lease of a workload: "4h" more.
func (s *Service) Extend(ctx context.Context, a identity.Actor, id workload.ID, more, reason,
	key string) (Request, error) {
	sent := extensionKey(id, more, reason, key)
	if r, found, err := s.earlier(ctx, a, "", sent); found || err != nil {
		return r, err
	}
	w, err := s.changeable(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	c := checker{offering: Offering{Limits: s.site().Limits}}
	lease, words := c.lease(more, catalog.Size{}), c.reason(reason)
	if len(c.fields) > 0 {
		return Request{}, fault.InvalidFields(c.fields)
	}
	t, err := s.working(w.Tenant)
	if err != nil {
		return Request{}, s.recordRefusal(ctx, a, w.Tenant, "", err)
	}
	q := subject{kind: ExtendKind, spec: specOf(w, lease, words), tenant: t, asker: a.Person.ID, target: id}
	return s.ask(ctx, a, sent, q, func(f Facts) (Outcome, error) {
		return SubmitExtension(*f.Extends, lease, words, a, f)
	})
}

// Resume asks that a stopped workload may run again where the budget wants an approver to agree. Who has asked already
// gets the request that waits.
func (s *Service) Resume(ctx context.Context, a identity.Actor, id workload.ID, reason string) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	w, err := s.changeable(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	if r, err := s.pending(ctx, ResumeKind, Filter{Asker: a.Person.ID, About: id}); err != nil || r.ID != "" {
		return r, err
	}
	c := checker{offering: Offering{Limits: s.site().Limits}}
	words := c.reason(reason)
	if len(c.fields) > 0 {
		return Request{}, fault.InvalidFields(c.fields)
	}
	t, err := s.working(w.Tenant)
	if err != nil {
		return Request{}, s.recordRefusal(ctx, a, w.Tenant, "", err)
	}
	q := subject{kind: ResumeKind, spec: specOf(w, 0, words), tenant: t, target: id}
	return s.ask(ctx, a, idempotencyKey{}, q, func(f Facts) (Outcome, error) {
		return SubmitResume(*f.Extends, words, a, f)
	})
}

// changeable is a workload that the actor may extend or resume.
func (s *Service) changeable(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	w, err := s.store.Workload(ctx, id)
	if err != nil {
		return w, err
	}
	return w, workload.Permit(a, identity.ChangeWorkload, w)
}

// ResumeTakes is what it would take of the budget if a stopped workload ran again.
func (s *Service) ResumeTakes(ctx context.Context, a identity.Actor, w workload.Workload) (budget.Ask, error) {
	if err := identity.Known(a); err != nil || !identity.Can(a, identity.ReadBudget, identity.Resource{Tenant: w.Tenant}) {
		return budget.Ask{}, err
	}
	return s.takes(ctx, subject{kind: ResumeKind, spec: specOf(w, 0, ""), tenant: tenant.Tenant{Name: w.Tenant},
		target: w.ID})
}

// Get gives one request; what the actor may not read does not exist.
func (s *Service) Get(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	return s.get(ctx, a, id)
}

// List gives a page of requests, newest first where the filter has no order.
func (s *Service) List(ctx context.Context, a identity.Actor, scope Scope, f Filter) ([]Request, string, error) {
	f, err := s.scoped(a, scope, f)
	if err != nil {
		return nil, "", err
	}
	return s.store.Requests(ctx, f)
}

// Page is List with the way back and what is counted.
func (s *Service) Page(ctx context.Context, a identity.Actor, scope Scope, f Filter) (Page, error) {
	f, err := s.scoped(a, scope, f)
	if err != nil {
		return Page{}, err
	}
	return s.store.RequestPage(ctx, f)
}

// Count counts a list, no further than MostCounted+1.
func (s *Service) Count(ctx context.Context, a identity.Actor, scope Scope, f Filter) (int, error) {
	f, err := s.scoped(a, scope, f)
	if err != nil {
		return 0, err
	}
	return s.store.CountRequests(ctx, f)
}

// scoped narrows a filter to what the actor may see of a scope.
func (s *Service) scoped(a identity.Actor, scope Scope, f Filter) (Filter, error) {
	if err := identity.Known(a); err != nil {
		return f, err
	}
	switch scope {
	case ScopeMine:
		f.Asker = a.Person.ID
	case ScopeInbox:
		in := inboxOf(a, s.now())
		f.Inbox = &in
	default:
		f.Seat = scope == ScopeSeat
		if !a.SeesAll() && !a.Is(identity.Approver) {
			f.Tenants = visible(f.Tenants, a.TenantNames())
		}
	}
	return f, nil
}

// ReplacedBy is the workload in whose place another one was asked for, as the actor may see it; NotFound for none.
func (s *Service) ReplacedBy(ctx context.Context, a identity.Actor, w workload.Workload) (workload.Workload, error) {
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return workload.Workload{}, err
	}
	r, err := s.db.Request(ctx, ID(w.Request))
	if err == nil && r.Spec.Replaces == "" {
		err = fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	if err != nil {
		return workload.Workload{}, err
	}
	old, err := s.store.Workload(ctx, r.Spec.Replaces)
	if err != nil {
		return workload.Workload{}, err
	}
	return old, workload.Permit(a, identity.ReadWorkload, old)
}

// PendingExtension is the extension of a workload that nobody has decided; the zero Request where there is none.
func (s *Service) PendingExtension(ctx context.Context, a identity.Actor, w workload.Workload) (Request, error) {
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return Request{}, err
	}
	return s.pending(ctx, ExtendKind, Filter{About: w.ID})
}

// pending is the newest pending request of a kind; a workload has few.
func (s *Service) pending(ctx context.Context, kind Kind, f Filter) (Request, error) {
	f.States, f.Limit = []State{Pending}, 100
	list, _, err := s.store.Requests(ctx, f)
	if i := slices.IndexFunc(list, func(r Request) bool { return r.Kind == kind }); i >= 0 {
		return list[i], err
	}
	return Request{}, err
}
