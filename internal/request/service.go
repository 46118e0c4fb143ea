package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store is what the service needs. Faults: NotFound for what does not exist, Conflict for a lost race, Unavailable when
// the database is away.
type Store interface {
	Reader
	// DecideExclusively runs fn in one transaction that no other grant runs beside: what fn reads stays true until it is
	// written.
	DecideExclusively(ctx context.Context, fn func(Tx) error) error
	// ReadOnly runs fn in one transaction that sees everything as it is at one moment and can write nothing.
	ReadOnly(ctx context.Context, fn func(Reader) error) error
	Requests(ctx context.Context, f Filter) ([]Request, string, error)
	// Escalated says whether the record holds that a request has escalated since a time.
	Escalated(ctx context.Context, id ID, since time.Time) (bool, error)
	// Waiting counts what an inbox holds.
	Waiting(ctx context.Context, in Inbox) (int, error)
	// Queued lists the workloads that are granted and wait for a place, or have theirs since a time, of all tenants.
	Queued(ctx context.Context, placedSince time.Time) ([]Line, error)
	Append(ctx context.Context, events ...audit.Event) error
	// SaveRefusal keeps a request that was refused at once, with its event. It is no request: it has no state, and only
	// Refusals gives it back.
	SaveRefusal(ctx context.Context, r Request, events ...audit.Event) error
	// Refusals lists what was refused at once since a time, newest first; cursor is what the last page gave as next.
	Refusals(ctx context.Context, since time.Time, cursor string, limit int) ([]Request, string, error)
}

// Tx is one transaction. SaveRequest and SaveWorkload insert when Version is 0, else update that version or answer
// Conflict; SaveRequest gives the request with the version that is stored then.
type Tx interface {
	Reader
	Escalated(ctx context.Context, id ID, since time.Time) (bool, error)
	SaveRequest(ctx context.Context, r Request) (Request, error)
	SaveWorkload(ctx context.Context, w workload.Workload) error
	SaveVolume(ctx context.Context, v workload.Volume) error
	budget.Tx
	// RaiseQuota saves that a tenant may hold more of a size; never less than was saved before.
	RaiseQuota(ctx context.Context, r Raise) error
}

// Filter chooses requests. Lists are newest first; Cursor is what the last page gave as next.
type Filter struct {
	Asker   identity.PersonID // "" for anyone
	About   workload.ID       // that is to be extended or resumed, or came of it; "" for any
	Tenants []string          // nil for all; an empty list for none
	States  []State           // empty for all
	Inbox   *Inbox            // only what it holds; nil for all
	Oldest  bool              // oldest first
	Since   time.Time         // asked then or later; zero for all
	Holding bool              // only those whose workload holds something now
	Seat    bool              // only those that wait for nothing but a license seat
	Size    string            // name of the size; "" for all
	Cursor  string
	Limit   int
}

// Inbox is what waits for somebody's word: pending requests that ask one of the voices which has not spoken yet, and on
// which Self has not spoken either.
type Inbox struct {
	Self      identity.PersonID
	Approvers []ApproverID
	Now       time.Time
}

// ApproverID is a person whose word may be asked for: oneself, or one for whom one stands in.
type ApproverID struct {
	Person identity.PersonID
	Keys   []string
	// Granted are those for whose requests a key does not count, because they granted it; see identity.Actor.KeysFor.
	Granted map[string][]identity.PersonID
}

// ApproverOf is somebody with the keys that count for some requests at least.
func ApproverOf(a identity.Actor) ApproverID {
	v := ApproverID{Person: a.Person.ID, Keys: a.PrincipalsFor(""), Granted: map[string][]identity.PersonID{}}
	for _, k := range v.Keys {
		if chain := a.Granted[k]; len(chain) > 0 {
			v.Granted[k] = chain
		}
	}
	return v
}

// Holds reports whether a request is in the inbox; the store says the same in SQL.
func (in Inbox) Holds(r Request) bool {
	spoken := r.Deciders()
	if r.State != Pending || slices.Contains(spoken, in.Self) {
		return false
	}
	asked := r.asked(in.Now)
	return slices.ContainsFunc(in.Approvers, func(v ApproverID) bool {
		return !slices.Contains(spoken, v.Person) &&
			slices.ContainsFunc(v.Keys, func(k string) bool {
				return slices.Contains(asked, k) && !slices.Contains(v.Granted[k], r.Asker)
			})
	})
}

// inbox is what waits for the actor.
func (s *Service) inbox(a identity.Actor) Inbox {
	in := Inbox{Self: a.Person.ID, Now: s.Now()}
	for _, v := range append([]identity.Actor{a}, a.Delegators...) {
		if !v.Person.Disabled {
			in.Approvers = append(in.Approvers, ApproverOf(v))
		}
	}
	return in
}

// Site is the configuration that the service decides by; it is replaced as a whole when the configuration changes.
type Site struct {
	Catalog   catalog.Catalog
	Directory tenant.Directory
	Policy    *policy.Policy
	Pools     []license.Pool
	Clusters  []string
	Limits    Limits
	// Unlicensed are the nodes of each cluster on which a vGPU has lost its license: new starts of vGPUs avoid them.
	Unlicensed map[string][]string
	Prices     usage.PriceList
}

// CatalogFor is what is on offer at the prices that a team pays now, with the team's own images.
func (s Site) CatalogFor(tenant string, now time.Time) catalog.Catalog {
	priced := s.Catalog
	priced.Images = s.ImagesFor(tenant)
	if len(s.Prices) == 0 {
		return priced
	}
	priced.Sizes = slices.Clone(priced.Sizes)
	for i := range priced.Sizes {
		priced.Sizes[i].PricePerHour = s.Prices.PerHour(priced.Sizes[i].Ware(), tenant, now)
	}
	return priced
}

// ImagesFor are the images of the catalog, and the team's own after them.
func (s Site) ImagesFor(tenant string) []catalog.Image {
	return slices.Concat(s.Catalog.Images, s.Directory.ImagesFor(tenant, s.Catalog))
}

// retired reports whether a team's own image is one that starts nothing new any more. What the catalog hides is not
// looked at: who asked for it in time may be granted it.
func (s Site) retired(tenant string, asked catalog.Image) bool {
	if !asked.OfTeam() {
		return false
	}
	c := catalog.Catalog{Images: s.Directory.ImagesFor(tenant, s.Catalog)}
	now, ok := c.Image(asked.Name)
	return !ok || now.Hidden
}

// avoid are the nodes that a start goes around where it can.
func (s Site) avoid(w Spec) []string {
	if w.Size.Technology != catalog.VGPU {
		return nil
	}
	return s.Unlicensed[w.Cluster]
}

// Snapshots gives the last known inventory of a cluster; ok is false while there is none.
type Snapshots interface {
	Snapshot(ctx context.Context, cluster string) (s inventory.Snapshot, ok bool)
}

// Renderer writes the Kubernetes objects of a workload as YAML, for people to read before they send.
type Renderer interface {
	Manifest(w workload.Workload, t tenant.Tenant) (string, error)
}

// Service is the shell around Submit and Decide.
type Service struct {
	Refusals  *audit.Fold // nil: each is written
	Store     Store
	Site      func() Site
	Snapshots Snapshots
	Budgets   *budget.Service // nil: no team has one
	Renderer  Renderer
	Now       func() time.Time
	NewID     func(prefix string) string                               // "r-" and twelve random characters
	People    People                                                   // who may be given a request
	Actor     func(p identity.Person, via identity.Via) identity.Actor // with the roles of now
	// Raised takes up a quota that was just raised; nil where the site is read anew anyway.
	Raised func(ctx context.Context) error
	fits   fits
	queue  queue
}

// Submit checks a draft and decides it. The same draft with the same idempotency key of the same person gives the
// request it gave before.
func (s *Service) Submit(ctx context.Context, a identity.Actor, d Draft) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	if len(d.Key) > maxKey {
		return Request{}, keyTooLong()
	}
	sent := sentDraft(d)
	if r, found, err := asked(ctx, s.Store, a, sent); found || err != nil {
		return r, s.refused(ctx, a, Draft{Tenant: d.Tenant}, err)
	}
	p := s.prepare(ctx, a, d)
	if len(p.fields) > 0 { // nothing can be granted, so nobody has to wait for it
		c, err := s.considerOnly(ctx, a, p)
		return s.idempotent(ctx, a, d, c.Request, cmp.Or(err, c.refusal))
	}
	var r Request
	err := s.exclusively(ctx, p.tenant.Name, func(tx Tx) error {
		seen, found, err := asked(ctx, tx, a, sent) // the same call may have come in beside this one
		if found || err != nil {
			r = seen
			return err
		}
		c, err := s.consider(ctx, tx, a, p)
		if r = c.Request; err != nil || c.refusal != nil {
			return cmp.Or(err, c.refusal)
		}
		sent.mark(&c.Request)
		r, err = s.save(ctx, tx, c.Outcome)
		return err
	})
	return s.idempotent(ctx, a, d, r, err)
}

// idempotent is a request, or the refusal of one that is on record with what was looked at.
func (s *Service) idempotent(ctx context.Context, a identity.Actor, d Draft, r Request, err error) (Request, error) {
	if err == nil {
		return r, nil
	}
	if r.Decision.Facts == nil || r.State != "" {
		return Request{}, s.refused(ctx, a, d, err)
	}
	e, is := s.refusal(a, d, err)
	if !is {
		return Request{}, err
	}
	audit.Tell(ctx)
	if !s.firstRefusal(a, d, e) {
		return Request{}, err
	}
	r.Decision.Sentence = e.Detail
	if saveErr := s.Store.SaveRefusal(ctx, r, e); saveErr != nil {
		return Request{}, saveErr
	}
	return Request{}, err
}

// check is everything that can be said of a draft without the store. Of a tenant in which the actor can start nothing
// it says only that it is unknown; known is false then.
func (s *Service) check(a identity.Actor, d Draft) (w Spec, t tenant.Tenant, fields []fault.Field, known bool) {
	site := s.Site()
	t, ok := site.Directory.ByName(d.Tenant)
	if !ok || !identity.Can(a, identity.SubmitRequest, identity.Resource{Tenant: d.Tenant}) {
		return Spec{}, t, []fault.Field{{Name: "tenant", Reason: i18n.T("request.tenant_unknown", "Tenant",
			clip(d.Tenant))}}, false
	}
	w, fields = Check(d, Offering{Catalog: site.CatalogFor(t.Name, s.Now()), Tenant: t, Clusters: site.Clusters,
		Limits: site.Limits})
	if t.Disabled {
		fields = append(fields, fault.Field{Name: "tenant", Reason: i18n.T("request.tenant_disabled", "Tenant", t.Display())})
	}
	return w, t, fields, true
}

// isolation is what rules and people are told of a spec's size, now and on its cluster. It is written down with the
// request: what was promised is what can be shown.
func (s *Service) isolation(ctx context.Context, w Spec) catalog.Isolation {
	snapshot, ok := s.Snapshots.Snapshot(ctx, w.Cluster)
	if !ok {
		return w.Size.Isolation
	}
	return capacity.Isolation(snapshot, w.Size)
}

func (s *Service) fit(ctx context.Context, cluster string, size catalog.Size) inventory.Fit {
	snapshot, ok := s.Snapshots.Snapshot(ctx, cluster)
	if rule, data := s.Site().Catalog.Rule(size.Technology); !ok || data && rule.Uncountable {
		return inventory.Fit{}
	}
	return capacity.Fit(snapshot, size)
}

// save writes an outcome (request, workload with its volume, audit) and gives the request as it is stored: callers
// answer with its version, which is what an approver sends back as seen.
func (s *Service) save(ctx context.Context, tx Tx, out Outcome) (Request, error) {
	if out.Workload != nil {
		if err := saveWorkload(ctx, tx, *out.Workload); err != nil {
			return Request{}, err
		}
		if err := s.hold(ctx, tx, out); err != nil {
			return Request{}, err
		}
	}
	stored, err := tx.SaveRequest(ctx, out.Request)
	if err != nil {
		return Request{}, err
	}
	if out.Raise != nil {
		if err := tx.RaiseQuota(ctx, *out.Raise); err != nil {
			return Request{}, err
		}
	}
	return stored, tx.Append(ctx, out.Events...)
}

func saveWorkload(ctx context.Context, tx Tx, w workload.Workload) error {
	if w.Version == 0 {
		for _, m := range w.Mounts { // it may have been deleted while somebody had to decide
			if v, err := tx.Volume(ctx, m.Claim); fault.Is(err, fault.NotFound) || err == nil && (v.Deleted || v.PendingDeletion()) {
				return fault.New(fault.Conflict, i18n.T("request.mount_gone", "Volume", m.Name))
			} else if err != nil {
				return err
			}
		}
	}
	if err := tx.SaveWorkload(ctx, w); err != nil || w.Version > 0 || w.Volume == "" {
		return err
	}
	v, err := tx.Volume(ctx, w.Volume)
	switch {
	case fault.Is(err, fault.NotFound):
		v = workload.Volume{Name: w.Volume, Tenant: w.Tenant, Owner: w.Owner, OwnerName: w.OwnerName, Cluster: w.Cluster,
			Namespace: w.Namespace, GiB: w.StorageGiB, CreatedAt: w.CreatedAt}
	case err != nil:
		return err
	case v.Workload != "" || v.Deleted || v.Owner != w.Owner || v.Tenant != w.Tenant:
		return fault.New(fault.Conflict, i18n.T("request.volume_in_use", "Volume", v.Name))
	}
	v.Workload, v.UpdatedAt = w.ID, w.CreatedAt
	return tx.SaveVolume(ctx, v)
}

func (s *Service) seats(size catalog.Size, takings []license.Taking) *license.Seats {
	if size.LicensePool == "" {
		return nil
	}
	seats, ok := license.Find(license.Count(s.Site().Pools, takings), size.LicensePool)
	if !ok {
		return nil
	}
	return &seats
}

// refused records that something was not granted; a failure to record is what the caller then hears.
func (s *Service) refused(ctx context.Context, a identity.Actor, d Draft, err error) error {
	e, is := s.refusal(a, d, err)
	if !is {
		return err
	}
	audit.Tell(ctx)
	if !s.firstRefusal(a, d, e) {
		return err
	}
	if appendErr := s.Store.Append(ctx, e); appendErr != nil {
		return appendErr
	}
	return err
}

// firstRefusal reports whether a refusal is to be written by itself: somebody who sends the same again within a minute
// is counted, and is one unmet demand.
func (s *Service) firstRefusal(a identity.Actor, d Draft, e audit.Event) bool {
	return s.Refusals.First("person "+string(e.Actor), strings.Join([]string{e.Tenant, d.Size, e.Detail.ID}, " "), e)
}

// refusal is the event of an error that says no to somebody; trouble is none.
func (s *Service) refusal(a identity.Actor, d Draft, err error) (audit.Event, bool) {
	if err == nil {
		return audit.Event{}, false
	}
	f := fault.As(err)
	if f.Kind != fault.Invalid && f.Kind != fault.Forbidden && f.Kind != fault.Conflict {
		return audit.Event{}, false
	}
	e := audit.By(a, audit.RequestRefused, s.Now())
	e.Detail = f.Sentence
	if len(f.Fields) > 0 {
		e.Detail = f.Fields[0].Reason
	}
	if a.Member(d.Tenant) {
		e.Tenant = d.Tenant
	}
	if _, known := s.Site().Catalog.Size(d.Size); known { // for what is counted of unmet demand
		e.Changes = []audit.Change{{Field: audit.AskedSize, New: d.Size}}
	}
	return e, true
}

// Extend asks for a longer lease of a workload: "4h" more.
func (s *Service) Extend(ctx context.Context, a identity.Actor, id workload.ID, more, reason,
	key string) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	if len(key) > maxKey {
		return Request{}, keyTooLong()
	}
	sent := sentExtension(id, more, reason, key)
	if r, found, err := asked(ctx, s.Store, a, sent); found || err != nil {
		return r, s.refused(ctx, a, Draft{Tenant: r.Spec.Tenant}, err)
	}
	seen, err := s.Store.Workload(ctx, id)
	if err != nil {
		return Request{}, err
	}
	if err := workload.Permit(a, identity.ChangeWorkload, seen); err != nil {
		return Request{}, err
	}
	c := checker{offering: Offering{Limits: s.Site().Limits}}
	lease, words := c.lease(more, catalog.Size{}), c.reason(reason)
	if len(c.fields) > 0 {
		return Request{}, fault.InvalidFields(c.fields)
	}
	t, err := s.working(seen.Tenant)
	if err != nil {
		return Request{}, s.refused(ctx, a, Draft{Tenant: seen.Tenant}, err)
	}
	q := subject{kind: ExtendKind, spec: specOf(seen, lease, words), tenant: t, asker: a.Person.ID, target: id}
	before := s.before(ctx, t, q.spec)
	var r Request
	err = s.exclusively(ctx, t.Name, func(tx Tx) error {
		again, found, err := asked(ctx, tx, a, sent)
		if found || err != nil {
			r = again
			return err
		}
		f, err := s.gather(ctx, tx, before, q)
		if err != nil {
			return err
		}
		out, err := SubmitExtension(*f.Extends, lease, words, a, f)
		if err != nil {
			r = out.Request
			return err
		}
		sent.mark(&out.Request)
		r, err = s.save(ctx, tx, out)
		return err
	})
	return s.idempotent(ctx, a, Draft{Tenant: seen.Tenant}, r, err)
}

// Approve grants a request in the version that the approver saw; it goes ahead when no more approvals are missing.
func (s *Service) Approve(ctx context.Context, a identity.Actor, seen Request, note string) (Request, error) {
	return s.Answer(ctx, a, seen.ID, DecisionInput{Verb: ApproveVerb, Note: note, Seen: seen.Version})
}

// Reject turns a request down in the version that the approver saw; the note says why.
func (s *Service) Reject(ctx context.Context, a identity.Actor, seen Request, note string) (Request, error) {
	return s.Answer(ctx, a, seen.ID, DecisionInput{Verb: RejectVerb, Note: note, Seen: seen.Version})
}

// DecisionInput is an answer as it was typed. Size and Lease grant less than was asked; empty leaves them.
type DecisionInput struct {
	Verb  Verb
	Note  string
	Size  string
	Lease string
	Seen  int64 // version of the request that the person saw, 1 and up
}

// Answer says yes, "yes, but", or no. It counts for the version that the person saw and no other: Invalid without one,
// Conflict when the request has changed since.
func (s *Service) Answer(ctx context.Context, a identity.Actor, id ID, said DecisionInput) (Request, error) {
	answer := Answer{Verb: said.Verb, Note: said.Note, Seen: said.Seen}
	c := checker{}
	if answer.Note = c.reason(answer.Note); len(c.fields) > 0 {
		return Request{}, fault.InvalidFields([]fault.Field{{Name: "note", Reason: c.fields[0].Reason}})
	}
	seen, err := s.Get(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	if err := mayAnswer(answer.Verb, a, seen, s.Now()); err != nil {
		return Request{}, err
	}
	if answer.Seen < 1 {
		return Request{}, fault.InvalidFields([]fault.Field{{Name: "seen", Reason: i18n.T("request.seen_missing")}})
	}
	t, err := s.working(seen.Spec.Tenant)
	if err != nil && answer.Verb == ApproveVerb {
		return Request{}, err
	}
	if answer.Verb == ApproveVerb {
		if answer.Reduced, err = s.reduction(seen, said.Size, said.Lease); err != nil {
			return Request{}, err
		}
	}
	granted := seen.Spec
	if answer.Reduced.Size.Name != "" {
		granted.Size = answer.Reduced.Size
		granted.Size.Isolation = s.isolation(ctx, granted)
		answer.Reduced.Size = granted.Size
	}
	before := s.before(ctx, t, granted)
	var r Request
	raised := false
	err = s.exclusively(ctx, t.Name, func(tx Tx) error {
		out, err := s.decideIn(ctx, tx, id, answer, a, before, t)
		r, raised = out.Request, out.Raise != nil
		return err
	})
	if err == nil && raised && s.Raised != nil {
		err = s.Raised(ctx)
	}
	return r, err
}

// MayDecide says whether the actor's word counts on a request now, and else why not: it is decided, their own, they
// decided already, or it asks others.
func (s *Service) MayDecide(a identity.Actor, r Request) error {
	return mayAnswer(ApproveVerb, a, r, s.Now())
}

// MayReject is MayDecide for a no, which can be said for longer: also while nothing but a license seat is missing.
func (s *Service) MayReject(a identity.Actor, r Request) error {
	return mayAnswer(RejectVerb, a, r, s.Now())
}

func mayAnswer(verb Verb, a identity.Actor, r Request, now time.Time) error {
	if r.State == Pending {
		_, err := decidesAs(r, verb, a, now)
		return err
	}
	switch {
	case a.Person.ID == r.Asker:
		return fault.New(fault.Forbidden, i18n.T("request.own"))
	case !identity.Can(a, identity.DecideRequest, r.Resource()):
		return fault.New(fault.Forbidden, i18n.T("request.not_approver"))
	}
	return open(r, now)
}

// working gives a tenant that may be granted something: it may have been switched off, or taken out of the settings,
// after it asked.
func (s *Service) working(name string) (tenant.Tenant, error) {
	t, ok := s.Site().Directory.ByName(name)
	if !ok || t.Disabled {
		if t.Name == "" {
			t.Name = name
		}
		return t, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", t.Display()))
	}
	return t, nil
}

func (s *Service) decideIn(ctx context.Context, tx Tx, id ID, answer Answer, a identity.Actor, before Facts,
	t tenant.Tenant) (Outcome, error) {
	r, err := tx.Request(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	f, err := s.gather(ctx, tx, before, r.subject(answer.Reduced, t))
	if err != nil {
		return Outcome{}, err
	}
	out, err := Decide(r, answer, a, f)
	if err == nil {
		out.Request, err = s.save(ctx, tx, out)
	}
	return out, err
}

// subject is what a request is about as it would be granted, perhaps with less than was asked.
func (r Request) subject(less Reduction, t tenant.Tenant) subject {
	q := subject{kind: r.Kind, spec: r.Spec, tenant: t, owner: r.Asker}
	if less.Size.Name != "" {
		q.spec.Size = less.Size
	}
	if less.Lease > 0 {
		q.spec.Lease = less.Lease
	}
	if r.Kind == ExtendKind || r.Kind == ResumeKind {
		q.target = r.Workload
	}
	return q
}

// Withdraw takes one's own undecided request back.
func (s *Service) Withdraw(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	seen, err := s.Get(ctx, a, id)
	if err != nil {
		return Request{}, err
	}
	if !identity.Can(a, identity.WithdrawRequest, seen.Resource()) {
		return Request{}, fault.New(fault.Forbidden, i18n.T("request.not_yours"))
	}
	var r Request
	err = s.Store.DecideExclusively(ctx, func(tx Tx) error {
		seen, err := tx.Request(ctx, id)
		if err != nil {
			return err
		}
		out, err := Withdraw(seen, a, s.Now())
		if err != nil {
			return err
		}
		if r = out.Request; len(out.Events) == 0 {
			return nil
		}
		r, err = s.save(ctx, tx, out)
		return err
	})
	return r, err
}

// ExpireDue ends every request that nobody decided in time, and puts on record which have escalated; the controller
// calls it on its tick.
func (s *Service) ExpireDue(ctx context.Context) error {
	var faults []error
	for cursor := ""; ; {
		pending, next, err := s.Store.Requests(ctx, Filter{States: []State{Pending}, Oldest: true, Cursor: cursor,
			Limit: 500})
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		for _, p := range pending {
			if err := s.expireOrEscalate(ctx, p); err != nil {
				faults = append(faults, fmt.Errorf("request %s: %w", p.ID, err))
			}
		}
		if cursor = next; next == "" || ctx.Err() != nil {
			return errors.Join(faults...)
		}
	}
}

func (s *Service) expireOrEscalate(ctx context.Context, p Request) error {
	switch {
	case Expire(p, s.Now()).Events != nil:
		return s.expire(ctx, p.ID)
	case Escalate(p, s.Now()).Events != nil:
		return s.escalate(ctx, p)
	}
	return nil
}

func (s *Service) expire(ctx context.Context, id ID) error {
	return s.Store.DecideExclusively(ctx, func(tx Tx) error {
		r, err := tx.Request(ctx, id)
		if err != nil {
			return err
		}
		if out := Expire(r, s.Now()); out.Events != nil {
			_, err = s.save(ctx, tx, out)
		}
		return err
	})
}

// escalate writes once for each step that has escalated that it has. What the record holds already is looked for
// without a lock first: most have been told of.
func (s *Service) escalate(ctx context.Context, p Request) error {
	if told, err := s.Store.Escalated(ctx, p.ID, p.since()); told || err != nil {
		return err
	}
	return s.Store.DecideExclusively(ctx, func(tx Tx) error {
		r, err := tx.Request(ctx, p.ID)
		if err != nil {
			return err
		}
		told, err := tx.Escalated(ctx, r.ID, r.since())
		if told || err != nil {
			return err
		}
		return tx.Append(ctx, Escalate(r, s.Now()).Events...)
	})
}

// Get gives one request; what the actor may not read does not exist.
func (s *Service) Get(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	r, err := s.Store.Request(ctx, id)
	if err != nil {
		return Request{}, err
	}
	if !identity.Can(a, identity.ReadRequest, r.Resource()) {
		return Request{}, fault.New(fault.NotFound, i18n.T("request.not_found"))
	}
	return r, nil
}

// HistoryOf is what the asker of a request was granted in the last days, for those who may read it.
func (s *Service) HistoryOf(ctx context.Context, a identity.Actor, id ID) (AskerHistory, error) {
	r, err := s.Get(ctx, a, id)
	if err != nil {
		return AskerHistory{}, err
	}
	return s.Store.AskerHistory(ctx, r.Asker, s.Now().Add(-HistoryDays*24*time.Hour))
}

// Scope says whose requests a list shows.
type Scope string

// The scopes: one's own, those waiting for one's decision, those that one may read and that wait for nothing but a
// license seat, all that one may read.
const (
	ScopeMine    Scope = "mine"
	ScopeInbox   Scope = "inbox"
	ScopeSeat    Scope = "seat"
	ScopeVisible Scope = "all"
)

// List gives a page of requests, newest first.
func (s *Service) List(ctx context.Context, a identity.Actor, scope Scope, f Filter) ([]Request, string, error) {
	if err := identity.Known(a); err != nil {
		return nil, "", err
	}
	switch scope {
	case ScopeMine:
		f.Asker = a.Person.ID
	case ScopeInbox:
		in := s.inbox(a)
		f.Inbox = &in
	default:
		f.Seat = scope == ScopeSeat
		if !a.SeesAll() && !a.Is(identity.Approver) {
			f.Tenants = visible(f.Tenants, a.TenantNames())
		}
	}
	return s.Store.Requests(ctx, f)
}

// Waiting is how many requests wait for the actor's decision.
func (s *Service) Waiting(ctx context.Context, a identity.Actor) (int, error) {
	if err := identity.Known(a); err != nil {
		return 0, err
	}
	return s.Store.Waiting(ctx, s.inbox(a))
}

// Decides reports whether the actor's word may be asked for at all: as an approver, or by a rule that names a party of
// theirs.
func (s *Service) Decides(a identity.Actor) bool {
	if identity.Known(a) != nil {
		return false
	}
	own := a.Principals()
	for _, stood := range a.Delegators {
		own = append(own, stood.Principals()...)
	}
	parties := append([]identity.Approvers{{Role: identity.Approver}}, s.Site().Policy.Parties()...)
	for _, t := range append(a.TenantNames(), "") {
		for _, k := range identity.PrincipalsOf(parties, t) {
			if slices.Contains(own, k) {
				return true
			}
		}
	}
	return false
}

// visible narrows a filter to what the actor may see.
func visible(wanted, allowed []string) []string {
	if wanted == nil {
		return allowed
	}
	both := []string{}
	for _, w := range wanted {
		for _, t := range allowed {
			if w == t {
				both = append(both, w)
			}
		}
	}
	return both
}
