package offer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/revision"
)

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store     Store
	Snapshots Snapshots
	Clusters  []string
	Initial   Initial
	Now       func() time.Time
	Logger    *slog.Logger // nil: nothing is logged
}

// Initial is version 0, active until somebody saves another; see NewInitial.
type Initial struct {
	text    string
	pools   []license.Pool
	catalog catalog.Catalog
}

// Currency is the one of its prices.
func (f Initial) Currency() string { return f.catalog.Currency() }

// Registries are the hosts that its images come from.
func (f Initial) Registries() []string {
	var hosts []string
	for _, image := range f.catalog.Images {
		if image.Reference == "" {
			continue
		}
		host, _, path := strings.Cut(image.Reference, "/")
		if !path || !strings.ContainsAny(host, ".:") && host != "localhost" {
			host = "docker.io" // as container runtimes read a name without a host
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// NewInitial reads version 0. Pools are those that sizes may name, in every version.
func NewInitial(text string, pools ...license.Pool) (Initial, []catalog.Problem) {
	c, problems := catalog.Parse([]byte(text), pools...)
	return Initial{text: normal(text), pools: pools, catalog: c}, problems
}

// Service reads, checks and saves the catalog, and knows which one counts. It is safe for use by many goroutines.
type Service struct {
	o       Options
	refresh sync.Mutex
	status  atomic.Pointer[Status]
	// found is where the active catalog and a site's only cluster do not agree.
	found inventory.Once[[]capacity.Finding]
	fits  capacity.Memo
}

// Status is what this process uses.
type Status struct {
	Active  Revision        // the one that is used
	Catalog catalog.Catalog // of Active
	// InUse is Catalog with what is hidden, and with what living workloads hold and Active has not.
	InUse  catalog.Catalog
	Newest Revision // the one that was saved last
	// Problems are what is wrong with Newest; then Active is an older one.
	Problems []catalog.Problem
}

// New begins with version 0; Refresh loads what was saved since.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	first := Revision{Text: o.Initial.text}
	s.status.Store(&Status{Active: first, Newest: first, Catalog: o.Initial.catalog, InUse: withInUse(o.Initial.catalog,
		nil)})
	return s
}

// Version of the active catalog.
func (s *Service) Version() int64 { return s.status.Load().Active.Version }

// Catalog is what is on offer now.
func (s *Service) Catalog() catalog.Catalog { return s.status.Load().Catalog }

// InUse is the active catalog with what living workloads hold of former versions, for those who reconcile clusters.
func (s *Service) InUse() catalog.Catalog { return s.status.Load().InUse }

// Refresh loads the newest revision, if it is another one than before.
func (s *Service) Refresh(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	newest, err := s.newest(ctx)
	if err != nil {
		return err
	}
	was := s.status.Load()
	uses, err := s.o.Store.UseOfCatalog(ctx)
	if err != nil {
		return err
	}
	now := *was
	if newest.Version != was.Newest.Version {
		if now, err = s.read(ctx, newest, *was); err != nil {
			return err
		}
	}
	now.InUse = withInUse(now.Catalog, uses)
	s.status.Store(&now)
	return nil
}

// read loads a revision, or says why not: then the one that runs goes on, and after a start the newest that can be
// read.
func (s *Service) read(ctx context.Context, newest Revision, was Status) (Status, error) {
	now := Status{Active: newest, Newest: newest}
	if now.Catalog, now.Problems = catalog.Parse([]byte(newest.Text), s.o.Initial.pools...); len(now.Problems) == 0 {
		return now, nil
	}
	s.o.Logger.WarnContext(ctx, "the newest catalog cannot be used, an older one goes on", "version", newest.Version,
		"problem", now.Problems[0].Error())
	now.Active, now.Catalog = was.Active, was.Catalog
	if was.Active.Version > 0 {
		return now, nil
	}
	r, c, found, err := revision.Readable(ctx, newest.Version, s.o.Store.Catalog,
		func(r Revision) (catalog.Catalog, bool) {
			c, problems := catalog.Parse([]byte(r.Text), s.o.Initial.pools...)
			return c, len(problems) == 0
		})
	if found {
		now.Active, now.Catalog = r, c
	}
	return now, err
}

// newest is the revision that was saved last, or version 0.
func (s *Service) newest(ctx context.Context) (Revision, error) {
	r, err := s.o.Store.LatestCatalog(ctx)
	if fault.Is(err, fault.NotFound) {
		return Revision{Text: s.o.Initial.text}, nil
	}
	return r, err
}

// permit: what somebody may not read does not exist for them.
func permit(a identity.Actor, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadOffer, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("offer.admins_only"))
	}
	return nil
}

// Status is what counts, what was saved last, and what is wrong with that.
func (s *Service) Status(a identity.Actor) (Status, error) {
	if err := permit(a, identity.ReadOffer); err != nil {
		return Status{}, err
	}
	return *s.status.Load(), nil
}

// MayChange is why the actor may not change the catalog; nil for those who may.
func (s *Service) MayChange(a identity.Actor) error { return permit(a, identity.ChangeOffer) }

// Differ tells what differs between two versions, entry by entry; readable is false where one of them cannot be read.
func (s *Service) Differ(before, after Revision) (changes []EntryChange, readable bool) {
	old, wrong := catalog.Parse([]byte(before.Text), s.o.Initial.pools...)
	new, bad := catalog.Parse([]byte(after.Text), s.o.Initial.pools...)
	if len(wrong)+len(bad) > 0 {
		return nil, false
	}
	return Compare(old, new), true
}

// Revision gives one version; 0 is the configuration's.
func (s *Service) Revision(ctx context.Context, a identity.Actor, version int64) (Revision, error) {
	if err := permit(a, identity.ReadOffer); err != nil {
		return Revision{}, err
	}
	return s.revision(ctx, version)
}

func (s *Service) revision(ctx context.Context, version int64) (Revision, error) {
	if version == 0 {
		return Revision{Text: s.o.Initial.text}, nil
	}
	return s.o.Store.Catalog(ctx, version)
}

// Revisions lists versions without their texts, newest first, down to version 0. More says that there are older ones;
// ask for them with before.
func (s *Service) Revisions(ctx context.Context, a identity.Actor, before int64,
	limit int) (list []Revision, more bool, err error) {
	if err := permit(a, identity.ReadOffer); err != nil {
		return nil, false, err
	}
	list, err = s.o.Store.Catalogs(ctx, before, limit+1)
	if len(list) > limit {
		return list[:limit], true, err
	}
	return append(list, Revision{}), false, err
}

// Check says what can be said of a text without keeping it.
func (s *Service) Check(ctx context.Context, a identity.Actor, text string) (Checked, error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return Checked{}, err
	}
	return s.check(ctx, text)
}

func (s *Service) check(ctx context.Context, text string) (Checked, error) {
	uses, err := s.o.Store.UseOfCatalog(ctx)
	if err != nil {
		return Checked{}, err
	}
	c := checkText(text, s.o.Initial.pools, s.Catalog(), uses)
	return c, ctx.Err()
}

// Draft is a text that shall become the next version.
type Draft struct {
	Text    string
	Base    int64  // the version that it was written from
	Note    string // why
	Confirm bool   // it may take away what somebody holds
}

// Save keeps a text as the next version and puts it into effect. Invalid with every problem, or with what it would take
// away from whom; Conflict, saying who was faster.
func (s *Service) Save(ctx context.Context, a identity.Actor, d Draft) (Revision, error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return Revision{}, err
	}
	note, err := noteOf(d.Note)
	if err != nil {
		return Revision{}, err
	}
	return s.save(ctx, a, d, note)
}

func (s *Service) save(ctx context.Context, a identity.Actor, d Draft, note i18n.Text) (Revision, error) {
	newest, err := s.newest(ctx)
	if err != nil {
		return Revision{}, err
	}
	if newest.Version != d.Base {
		return Revision{}, conflict(newest)
	}
	c, err := s.check(ctx, d.Text)
	switch {
	case err != nil:
		return Revision{}, err
	case len(c.Problems) > 0:
		return Revision{}, refused(c.Problems)
	case c.Text == newest.Text:
		return Revision{}, fault.New(fault.Invalid, i18n.T("offer.unchanged"))
	case len(c.Removals) > 0 && !d.Confirm:
		return Revision{}, removes(c.Removals)
	}
	now := s.o.Now()
	r := Revision{Version: newest.Version + 1, Text: c.Text, Author: a.Person.ID, AuthorName: a.Person.Name, Note: note,
		At: now}
	event := audit.By(a, audit.CatalogSaved, now)
	event.Detail = i18n.T("offer.audit", "Version", r.Version, "Note", note)
	event.Changes = changesOf(c.Changes)
	err = s.o.Store.SaveCatalog(ctx, r, event)
	if fault.Is(err, fault.Conflict) {
		if newest, again := s.newest(ctx); again == nil {
			return Revision{}, conflict(newest)
		}
	}
	if err != nil {
		return Revision{}, err
	}
	return r, s.Refresh(ctx)
}

// changesOf is what the audit keeps of a change: entries that came and went by their title, and of the others each
// value.
func changesOf(entries []EntryChange) []audit.Change {
	var changes []audit.Change
	for _, e := range entries {
		at := e.List + "." + e.Name
		switch e.Kind {
		case Added:
			changes = append(changes, audit.Changed(at, "", e.Title)...)
		case Removed:
			changes = append(changes, audit.Changed(at, e.Title, "")...)
		default:
			for _, f := range e.Fields {
				changes = append(changes, audit.Changed(at+"."+f.Path, f.Old, f.New)...)
			}
		}
	}
	return audit.Bounded(changes)
}

func conflict(newest Revision) error {
	return fault.New(fault.Conflict, i18n.T("offer.conflict", "Version", newest.Version, "Name", newest.AuthorName, "At",
		newest.At.UTC().Format(time.RFC3339)))
}

// Revert makes an older version the next one.
func (s *Service) Revert(ctx context.Context, a identity.Actor, version, base int64, confirm bool) (Revision, error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return Revision{}, err
	}
	old, err := s.revision(ctx, version)
	if err != nil {
		return Revision{}, err
	}
	return s.save(ctx, a, Draft{Text: old.Text, Base: base, Confirm: confirm}, i18n.T("offer.note.revert", "Version",
		version))
}

// Change makes one quick change to what was saved last.
func (s *Service) Change(ctx context.Context, a identity.Actor, c Change, base int64) (Revision, error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return Revision{}, err
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return Revision{}, err
	}
	if newest.Version != base {
		return Revision{}, conflict(newest)
	}
	text, note, err := c.apply(newest.Text, s.o.Initial.pools)
	if err != nil {
		return Revision{}, err
	}
	return s.save(ctx, a, Draft{Text: text, Base: base}, note)
}

// Findings says where the catalog and the nodes do not agree.
func (s *Service) Findings(ctx context.Context, a identity.Actor) ([]Finding, error) {
	if err := permit(a, identity.ReadOffer); err != nil {
		return nil, err
	}
	return s.findings(ctx), nil
}

func (s *Service) findings(ctx context.Context) []Finding {
	var list []Finding
	for _, f := range s.compared(s.snapshots(ctx)) {
		list = append(list, Finding{Key: keyOf(f), Finding: f})
	}
	return list
}

// compared is capacity.Compare with the active catalog: for one cluster what was found before, while neither changes.
func (s *Service) compared(list []inventory.Snapshot) []capacity.Finding {
	status := s.status.Load()
	compare := func() []capacity.Finding { return capacity.Compare(status.Catalog, list) }
	if len(list) != 1 {
		return compare()
	}
	return s.found.Of(list[0], status, compare)
}

func (s *Service) snapshots(ctx context.Context) []inventory.Snapshot {
	var list []inventory.Snapshot
	for _, name := range s.o.Clusters {
		if taken, ok := s.o.Snapshots.Snapshot(ctx, name); ok {
			list = append(list, taken)
		}
	}
	return list
}

// Finding is one place where the catalog and the nodes do not agree, by a key that stays while it is the same.
type Finding struct {
	Key string
	capacity.Finding
}

// Proposed is what was saved last with the proposal of a finding added, for an administrator to go on from. NotFound
// when the finding is gone.
func (s *Service) Proposed(ctx context.Context, a identity.Actor, key string) (text string, base int64, err error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return "", 0, err
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return "", 0, err
	}
	f, err := s.finding(ctx, key)
	if err != nil {
		return "", 0, err
	}
	text, err = addProposal(newest.Text, f)
	return text, newest.Version, err
}

func (s *Service) finding(ctx context.Context, key string) (Finding, error) {
	list := s.findings(ctx)
	i := slices.IndexFunc(list, func(f Finding) bool { return f.Key == key })
	if i < 0 {
		return Finding{}, fault.New(fault.NotFound, i18n.T("offer.no_finding"))
	}
	return list[i], nil
}

func addProposal(text string, f Finding) (string, error) {
	if f.Proposal == nil {
		return "", fault.New(fault.Invalid, i18n.T("offer.no_proposal"))
	}
	text, err := appendSize(text, *f.Proposal)
	if err != nil {
		return "", unreadable(err)
	}
	return text, nil
}

// Accept does what a finding proposes: it offers the size, or hides the one that can never run.
func (s *Service) Accept(ctx context.Context, a identity.Actor, key string, base int64) (Revision, error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return Revision{}, err
	}
	f, err := s.finding(ctx, key)
	if err != nil {
		return Revision{}, err
	}
	if f.Kind == capacity.NeverRuns {
		return s.Change(ctx, a, Change{Action: Hide, List: Sizes, Name: f.Size}, base)
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return Revision{}, err
	}
	text, err := addProposal(newest.Text, f)
	if err != nil {
		return Revision{}, err
	}
	return s.save(ctx, a, Draft{Text: text, Base: base}, i18n.T("offer.note.offer", "Title", f.Proposal.Title))
}

// Mismatches are the sizes on offer whose license pool does not license their vGPU.
func (s *Service) Mismatches() []catalog.Mismatch { return s.Catalog().Mismatches(s.o.Initial.pools) }

// Follow loads what other replicas save, until the context ends. changed tells that there may be something new;
// every so often it is looked at anyway.
func (s *Service) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	return revision.Follow(ctx, changed, every, s.Refresh, func(err error) {
		s.o.Logger.WarnContext(ctx, "the catalog could not be read, the last known one goes on", "error", err)
	})
}

func unreadable(err error) error {
	return fault.Wrap(fault.Invalid, fmt.Errorf("change the catalog's text: %w", err), i18n.T("offer.unreadable"))
}
