package tenant

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

// Store keeps what was saved. Faults: NotFound for what does not exist, Conflict for a lost race, Unavailable when the
// database is away.
type Store interface {
	// LatestTenants gives the newest revision of each team.
	LatestTenants(ctx context.Context) ([]Revision, error)
	// TenantRevisions lists those of one team, newest first; before is a version, 0 for the newest.
	TenantRevisions(ctx context.Context, tenant string, before int64, limit int) ([]Revision, error)
	// SaveTenant keeps a revision, its events and an outbox row in one transaction. Conflict when the version below it
	// is not the newest.
	SaveTenant(ctx context.Context, r Revision, events ...audit.Event) error
	Members(ctx context.Context) ([]Member, error)
	// AddMember tells open pages of the person, as RemoveMember does. Conflict when they have the role, NotFound for
	// somebody who never signed in.
	AddMember(ctx context.Context, m Member, event audit.Event) error
	RemoveMember(ctx context.Context, m Member, event audit.Event) error
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	// People lists those who have signed in, by name; search is a part of the name or the e-mail address, "" for all.
	People(ctx context.Context, search string, limit int) ([]identity.Person, error)
	// PeopleIn lists those who have signed in and are in a group of these rules ("*" is any text), or one of these, by
	// name. Rules are compared loosely: others may be among them.
	PeopleIn(ctx context.Context, rules []string, people []identity.PersonID, limit int) ([]identity.Person, error)
	// PeoplePage gives a page of those who have signed in, and counts all that the filter chooses.
	PeoplePage(ctx context.Context, f PeopleFilter) ([]identity.Person, int, error)
	// TokensOfAll lists the API tokens of these people, newest first.
	TokensOfAll(ctx context.Context, people []identity.PersonID) ([]identity.Token, error)
	RevokeToken(ctx context.Context, person identity.PersonID, id string, event audit.Event) error
}

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store   Store
	Initial Directory              // the configuration's
	Known   func(size string) bool // whether the catalog has a size
	Catalog func() catalog.Catalog // in effect; what a team's images are started like
	// Clusters are those that a quota may name; nil: none.
	Clusters func() []string
	// Resolve gives the digest of an image's tag, see registry.Client.Resolve; nil: images need a digest.
	Resolve func(ctx context.Context, team, reference string) (registry.Manifest, error)
	// ImageUsers reports whether a cluster starts images as the user that they name. On OpenShift the SCC chooses one.
	ImageUsers bool
	// Holidays are the site's, for the hours of every team.
	Holidays []schedule.Holiday
	// OwnersNameApprovers lets owners of a team give and take its role approver; else only administrators do.
	OwnersNameApprovers bool
	// Refusals has attempts to name an approver on record that are not allowed; nil: they are in no record.
	Refusals *audit.Aggregator
	Taken    func() // called after a change was loaded; optional
	Now      func() time.Time
	Logger   *slog.Logger // nil: nothing is logged
}

// Service reads and saves teams, and knows which ones there are. It is safe for use by many goroutines.
type Service struct {
	o       Options
	refresh sync.Mutex
	state   atomic.Pointer[state]
}

// state is what this process uses.
type state struct {
	directory Directory
	saved     map[string]Revision
	members   []Member
}

// NewService begins with the configuration's; Refresh loads what was saved since.
func NewService(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Catalog == nil {
		o.Catalog = func() catalog.Catalog { return catalog.Catalog{} }
	}
	s := &Service{o: o}
	s.state.Store(&state{directory: compose(o.Initial, nil, nil)})
	return s
}

// Directory is every team in effect.
func (s *Service) Directory() Directory { return s.state.Load().directory }

// Refresh loads what was saved.
func (s *Service) Refresh(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	saved, err := s.o.Store.LatestTenants(ctx)
	if err != nil {
		return err
	}
	members, err := s.o.Store.Members(ctx)
	if err != nil {
		return err
	}
	now := state{directory: compose(s.o.Initial, saved, members), saved: map[string]Revision{}, members: members}
	for _, r := range saved {
		now.saved[r.Tenant] = r
	}
	was := s.state.Swap(&now)
	if s.o.Taken != nil && !reflect.DeepEqual(was.directory, now.directory) {
		s.o.Taken()
	}
	return nil
}

// Follow loads what other replicas save, until the context ends. changed tells that there may be something new;
// every so often it is looked at anyway.
func (s *Service) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "the teams could not be read, the last known ones go on", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// Entry is a tenant as it counts, beside its configuration and its newest revision.
type Entry struct {
	Tenant
	Configured *Tenant   // as the configuration has it; nil for one that was made by hand
	Newest     *Revision // what was saved last; nil where nothing was
}

// Version is that of the newest revision, 0 for none: what a change has to name as its base.
func (e Entry) Version() int64 {
	if e.Newest == nil {
		return 0
	}
	return e.Newest.Version
}

func (s *Service) entry(name string) (Entry, error) {
	now := s.state.Load()
	t, ok := now.directory.ByName(name)
	if !ok {
		return Entry{}, missing()
	}
	e := Entry{Tenant: t}
	if first, ok := s.o.Initial.ByName(name); ok {
		e.Configured = &first
	}
	if r, ok := now.saved[name]; ok {
		e.Newest = &r
	}
	return e, nil
}

func missing() error { return fault.New(fault.NotFound, i18n.T("tenant.not_found")) }

// permit: what somebody may not read does not exist for them.
func (s *Service) permit(a identity.Actor, name string, read, action identity.Action) (Entry, error) {
	if err := identity.Known(a); err != nil {
		return Entry{}, err
	}
	thing := identity.Resource{Tenant: name}
	if !identity.Can(a, read, thing) {
		return Entry{}, missing()
	}
	e, err := s.entry(name)
	if err != nil {
		return Entry{}, err
	}
	if !identity.Can(a, action, thing) {
		return Entry{}, fault.New(fault.Forbidden, i18n.T("tenant.owners_only"))
	}
	return e, nil
}

func (s *Service) permitAdmin(a identity.Actor, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadTenants, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("tenant.admins_only"))
	}
	return nil
}

// List gives every team.
func (s *Service) List(a identity.Actor) ([]Entry, error) {
	if err := s.permitAdmin(a, identity.ReadTenants); err != nil {
		return nil, err
	}
	var list []Entry
	for _, t := range s.Directory().Tenants {
		if e, err := s.entry(t.Name); err == nil {
			list = append(list, e)
		}
	}
	return list, nil
}

// Entry gives one team, for those who may see all of them.
func (s *Service) Entry(a identity.Actor, name string) (Entry, error) {
	if err := s.permitAdmin(a, identity.ReadTenants); err != nil {
		return Entry{}, err
	}
	return s.entry(name)
}

// Visible gives one team to its members, too.
func (s *Service) Visible(a identity.Actor, name string) (Entry, error) {
	return s.permit(a, name, identity.ReadTenant, identity.ReadTenant)
}

// Revisions lists what was saved about a team, newest first. More says that there are older ones.
func (s *Service) Revisions(ctx context.Context, a identity.Actor, name string, before int64,
	limit int) (list []Revision, more bool, err error) {
	if _, err := s.Entry(a, name); err != nil {
		return nil, false, err
	}
	list, err = s.o.Store.TenantRevisions(ctx, name, before, limit+1)
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}

// Save makes a team or changes one. Invalid with every problem; Conflict, saying who was faster.
func (s *Service) Save(ctx context.Context, a identity.Actor, d Draft) (Entry, error) {
	now, d, err := s.checked(a, d)
	if err != nil {
		return Entry{}, err
	}
	return s.save(ctx, a, now, d)
}

// Check says what is wrong with a draft, as Save would, and writes nothing.
func (s *Service) Check(a identity.Actor, d Draft) error {
	_, _, err := s.checked(a, d)
	return err
}

func (s *Service) checked(a identity.Actor, d Draft) (now Entry, trimmed Draft, err error) {
	if err := s.permitAdmin(a, identity.ChangeTenants); err != nil {
		return now, d, err
	}
	d = d.trimmed()
	if !d.New {
		if now, err = s.entry(d.Name); err != nil {
			return now, d, err
		}
	}
	return now, d, fault.InvalidFields(d.check(s.Directory(), s.o.Known, s.clusters()))
}

func (f Draft) trimmed() Draft {
	for _, text := range []*string{&f.Name, &f.Title, &f.Namespace, &f.Note} {
		*text = strings.TrimSpace(*text)
	}
	if !f.New {
		f.Namespace = ""
	}
	return f
}

func (s *Service) save(ctx context.Context, a identity.Actor, now Entry, d Draft) (Entry, error) {
	first := Tenant{Name: d.Name}
	if now.Configured != nil {
		first = *now.Configured
	}
	wanted := now.Tenant
	wanted.Title, wanted.Groups, wanted.Quota, wanted.Disabled = d.Title, d.Groups, d.Quota, d.Disabled
	saved := differing(first, wanted)
	if now.Newest != nil {
		saved.Namespace = now.Newest.Saved.Namespace
	}
	if d.New && d.Namespace != "" {
		saved.Namespace = d.Namespace
	}
	return s.write(ctx, a, now, d.Name, d.Base, saved, i18n.Literal(d.Note))
}

func (s *Service) clusters() []string {
	if s.o.Clusters == nil {
		return nil
	}
	return s.o.Clusters()
}

// SaveDefaults changes what the members' starts begin with.
func (s *Service) SaveDefaults(ctx context.Context, a identity.Actor, name string, d Defaults) (Entry, error) {
	now, err := s.permit(a, name, identity.ReadTenant, identity.ChangeMembers)
	if err != nil {
		return Entry{}, err
	}
	if d.Size != "" && !s.o.Known(d.Size) {
		return Entry{}, fault.InvalidFields([]fault.Field{{Name: "size", Reason: i18n.T("tenant.quota_size", "Size",
			clip(d.Size))}})
	}
	if lease, err := catalog.ParseDuration(d.Lease); d.Lease != "" && (err != nil || lease <= 0) {
		return Entry{}, fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("request.lease_unreadable",
			"Example", "8h")}})
	}
	var saved Saved
	if now.Newest != nil {
		saved = now.Newest.Saved
	}
	saved.Defaults = &d
	return s.write(ctx, a, now, name, now.Version(), saved, i18n.T("tenant.defaults_saved"))
}

func (s *Service) write(ctx context.Context, a identity.Actor, now Entry, name string, base int64, saved Saved,
	note i18n.Text) (Entry, error) {
	if base != now.Version() {
		return Entry{}, conflict(now)
	}
	at := s.o.Now()
	r := Revision{Tenant: name, Version: base + 1, Saved: saved, Author: a.Person.ID, AuthorName: a.Person.Name,
		Note: note,
		At:   at}
	event := audit.By(a, audit.TenantSaved, at)
	event.Tenant, event.Detail = name, i18n.T("tenant.audit", "Version", r.Version, "Note", note)
	event.Changes = changes(now, saved)
	err := s.o.Store.SaveTenant(ctx, r, event)
	if fault.Is(err, fault.Conflict) {
		if s.Refresh(ctx) == nil {
			now, _ = s.entry(name)
		}
		return Entry{}, conflict(now)
	}
	if err != nil {
		return Entry{}, err
	}
	if err := s.Refresh(ctx); err != nil {
		return Entry{}, err
	}
	return s.entry(name)
}

func conflict(now Entry) error {
	if now.Newest == nil {
		return fault.New(fault.Conflict, i18n.T("tenant.conflict_first"))
	}
	return fault.New(fault.Conflict, i18n.T("tenant.conflict", "Version", now.Newest.Version, "Name",
		now.Newest.AuthorName,
		"At", now.Newest.At.UTC().Format(time.RFC3339)))
}

// Bounds of how many people are looked at for a list of members, and of how many a search finds.
const (
	mostPeople = 5000
	mostFound  = 20
)

// Membership is one person's one role in a team, and where it comes from.
type Membership struct {
	Person identity.Person
	Role   identity.Role
	Group  string // of the sign-in provider that gives it; "" for by hand
	By     string // who added them by hand, and when
	At     time.Time
	// Barred are those for whose requests a role by hand does not count; see identity.Actor.PrincipalsFor. The person
	// is one of them where they gave it to themself: then it counts for nobody's.
	Barred []identity.Person
}

// Members lists everybody who has signed in and has a role in a team, by name.
func (s *Service) Members(ctx context.Context, a identity.Actor, name string) ([]Membership, error) {
	e, err := s.permit(a, name, identity.ReadTenant, identity.ReadMembers)
	if err != nil {
		return nil, err
	}
	var hand []Member
	var named []identity.PersonID
	for _, m := range s.state.Load().members {
		if m.Tenant == name {
			hand, named = append(hand, m), append(append(named, m.Person), m.Granted...)
		}
	}
	directory := s.Directory()
	people, err := s.o.Store.PeopleIn(ctx, directory.Rules(e.Tenant), named, mostPeople)
	if err != nil {
		return nil, err
	}
	var list []Membership
	for _, p := range people {
		for _, role := range MemberRoles {
			if g, ok := directory.GroupFor(e.Tenant, role, p.Groups); ok {
				list = append(list, Membership{Person: p, Role: role, Group: g})
			}
			if i := slices.IndexFunc(hand, func(m Member) bool { return m.Person == p.ID && m.Role == role }); i >= 0 {
				list = append(list, Membership{Person: p, Role: role, By: hand[i].By, At: hand[i].At,
					Barred: barred(directory.Actor(p, identity.ViaSession), role, name, people)})
			}
		}
	}
	return list, nil
}

// barred are those who granted a role that approves, as far as they have signed in.
func barred(a identity.Actor, role identity.Role, team string, people []identity.Person) []identity.Person {
	if role == identity.Developer {
		return nil
	}
	var list []identity.Person
	for _, id := range a.Granted[identity.RolePrincipal(role, team)] {
		if i := slices.IndexFunc(people, func(p identity.Person) bool { return p.ID == id }); i >= 0 {
			list = append(list, people[i])
		}
	}
	return list
}

// Search finds people who could be added to a team: those who have signed in, by a part of their name or e-mail
// address.
func (s *Service) Search(ctx context.Context, a identity.Actor, name, text string) ([]identity.Person, error) {
	if _, err := s.permit(a, name, identity.ReadTenant, identity.ChangeMembers); err != nil {
		return nil, err
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	return s.o.Store.People(ctx, text, mostFound)
}

// AddMember gives somebody a role in a team by hand. It counts at once.
func (s *Service) AddMember(ctx context.Context, a identity.Actor, name string, person identity.PersonID,
	role identity.Role) error {
	return s.change(ctx, a, name, person, role, audit.MemberAdded, s.o.Store.AddMember)
}

// RemoveMember takes a role that was given by hand. What groups give is the sign-in provider's.
func (s *Service) RemoveMember(ctx context.Context, a identity.Actor, name string, person identity.PersonID,
	role identity.Role) error {
	return s.change(ctx, a, name, person, role, audit.MemberRemoved, s.o.Store.RemoveMember)
}

func (s *Service) change(ctx context.Context, a identity.Actor, name string, person identity.PersonID,
	role identity.Role, kind audit.Kind, write func(context.Context, Member, audit.Event) error) error {
	if _, err := s.permit(a, name, identity.ReadTenant, identity.ChangeMembers); err != nil {
		return err
	}
	if !slices.Contains(MemberRoles, role) {
		return fault.InvalidFields([]fault.Field{{Name: "role", Reason: i18n.T("tenant.role_wrong")}})
	}
	if err := s.mayChange(a, person, role, kind == audit.MemberAdded); err != nil {
		return s.refused(ctx, a, name, person, role, err)
	}
	p, err := s.o.Store.Person(ctx, person)
	if fault.Is(err, fault.NotFound) {
		return fault.InvalidFields([]fault.Field{{Name: "person", Reason: i18n.T("tenant.person_unknown")}})
	}
	if err != nil {
		return err
	}
	at := s.o.Now()
	event := audit.By(a, kind, at)
	event.Tenant, event.Detail = name, i18n.T("tenant.audit_member", "Name", p.Name, "Email", p.Email, "Role",
		i18n.T("role."+string(role)))
	event.Changes = memberChanges(kind, p, role)
	m := Member{Tenant: name, Person: person, Role: role, By: a.Person.Name, Granted: granters(a, name), At: at}
	if err := write(ctx, m, event); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// granters are who gives a role now, and who gave them theirs: an owner by hand passes on who made them one, so that
// nobody comes to be approved through somebody whom they put in.
func granters(a identity.Actor, team string) []identity.PersonID {
	chain := []identity.PersonID{a.Person.ID}
	if a.Is(identity.Admin) {
		return chain
	}
	return append(chain, a.Granted[identity.RolePrincipal(identity.Owner, team)]...)
}

// MayName is why the actor cannot give or take a team's role approver; nil for those who can.
func (s *Service) MayName(a identity.Actor) error {
	if !a.IsZero() && !a.Person.Disabled && (a.Is(identity.Admin) || s.o.OwnersNameApprovers) {
		return nil
	}
	return fault.New(fault.Forbidden, i18n.T("tenant.approvers_platform"))
}

// mayChange: who approves is the platform's word, and nobody's own. Everybody may give their own role back.
func (s *Service) mayChange(a identity.Actor, person identity.PersonID, role identity.Role, add bool) error {
	own := person == a.Person.ID
	switch {
	case role != identity.Approver || own && !add:
		return nil
	case own:
		return fault.New(fault.Forbidden, i18n.T("tenant.approver_self"))
	}
	return s.MayName(a)
}

// refused records that somebody may not give or take a role, with whose it was to be; a failure to record is what the
// caller then hears.
func (s *Service) refused(ctx context.Context, a identity.Actor, name string, person identity.PersonID,
	role identity.Role, why error) error {
	if s.o.Refusals == nil {
		return why
	}
	whose := string(person)
	if p, err := s.o.Store.Person(ctx, person); err == nil {
		whose = p.Name
	}
	reason := fault.As(why).Sentence
	e := audit.By(a, audit.MemberRefused, s.o.Now())
	e.Tenant, e.Detail = name, i18n.T("tenant.audit_member_refused", "Name", whose, "Role",
		i18n.T("role."+string(role)), "Reason", reason)
	audit.MarkRefusalRecorded(ctx)
	key := strings.Join([]string{"member", name, reason.ID}, " ")
	if err := s.o.Refusals.Note(ctx, "person "+string(a.Person.ID), key, e); err != nil {
		return err
	}
	return why
}

// HeldToken is an API token with whose it is.
type HeldToken struct {
	identity.Token
	Holder identity.Person
}

// Tokens lists the API tokens of a team's members, for those who may end them. Secrets are kept nowhere.
func (s *Service) Tokens(ctx context.Context, a identity.Actor, name string) ([]HeldToken, error) {
	if _, err := s.permit(a, name, identity.ReadTenant, identity.ChangeMembers); err != nil {
		return nil, err
	}
	members, err := s.Members(ctx, a, name)
	if err != nil {
		return nil, err
	}
	holders := map[identity.PersonID]identity.Person{}
	var ids []identity.PersonID
	for _, m := range members {
		if _, seen := holders[m.Person.ID]; !seen {
			ids = append(ids, m.Person.ID)
		}
		holders[m.Person.ID] = m.Person
	}
	tokens, err := s.o.Store.TokensOfAll(ctx, ids)
	var list []HeldToken
	for _, t := range tokens {
		list = append(list, HeldToken{Token: t, Holder: holders[t.Person]})
	}
	return list, err
}

// RevokeToken ends a member's token permanently. A token is a person's, so it works for none of their teams any more.
func (s *Service) RevokeToken(ctx context.Context, a identity.Actor, name, id string) error {
	tokens, err := s.Tokens(ctx, a, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tokens, func(t HeldToken) bool { return t.ID == id })
	if i < 0 {
		return fault.New(fault.NotFound, i18n.T("store.no_token"))
	}
	event := audit.By(a, audit.TokenRevoked, s.o.Now())
	event.Tenant, event.Detail = name, i18n.T("tenant.audit_token", "Token", identity.TokenPrefix+id, "Name",
		tokens[i].Holder.Name)
	return s.o.Store.RevokeToken(ctx, tokens[i].Person, id, event)
}

// People lists those who have signed in, with what they are; for admins and auditors.
func (s *Service) People(ctx context.Context, a identity.Actor, search string) ([]identity.Actor, error) {
	if err := s.permitAdmin(a, identity.ReadPeople); err != nil {
		return nil, err
	}
	people, err := s.o.Store.People(ctx, strings.TrimSpace(search), mostShown)
	return s.Directory().Actors(people, identity.ViaSession), err
}

// PeopleFilter chooses people and their order: by name, or by when they were seen last.
type PeopleFilter struct {
	Text          string // a part of name or e-mail address
	BySeen, Down  bool
	NoRole        bool // only those without any role; the service tells, for a store knows no groups
	NoRoleFirst   bool // by when they were seen, but who has no role first, whom somebody has to let in
	Limit, Offset int
}

// PeoplePage is People in pages, with how many there are.
func (s *Service) PeoplePage(ctx context.Context, a identity.Actor, f PeopleFilter) ([]identity.Actor, int, error) {
	if err := s.permitAdmin(a, identity.ReadPeople); err != nil {
		return nil, 0, err
	}
	f.Text, f.Limit = strings.TrimSpace(f.Text), min(f.Limit, mostShown)
	switch {
	case f.NoRole:
		return s.withoutRole(ctx, f)
	case f.NoRoleFirst:
		f.BySeen, f.Down = true, true
		return s.roleless(ctx, f)
	}
	people, total, err := s.o.Store.PeoplePage(ctx, f)
	return s.Directory().Actors(people, identity.ViaSession), total, err
}

// withoutRole is a page of those who can do nothing yet. Roles come of groups too, so everybody is looked at.
func (s *Service) withoutRole(ctx context.Context, f PeopleFilter) ([]identity.Actor, int, error) {
	var found []identity.Actor
	directory, each := s.Directory(), f
	each.Limit, each.Offset = mostShown, 0
	for {
		people, total, err := s.o.Store.PeoplePage(ctx, each)
		if err != nil {
			return nil, 0, err
		}
		for _, a := range directory.Actors(people, identity.ViaSession) {
			if !hasRole(a) {
				found = append(found, a)
			}
		}
		if each.Offset += mostShown; each.Offset >= total {
			break
		}
	}
	from := min(f.Offset, len(found))
	return found[from:min(from+f.Limit, len(found))], len(found), nil
}

func hasRole(a identity.Actor) bool { return len(a.Global)+len(a.Tenants) > 0 }

// lately is how many people, of those seen last, are looked at for those whom somebody has to let in.
const lately = 50

// roleless is a page in which, of those seen lately, who can do nothing yet comes before the others.
func (s *Service) roleless(ctx context.Context, f PeopleFilter) ([]identity.Actor, int, error) {
	of := f
	if f.Offset < lately {
		of.Offset, of.Limit = 0, max(lately, f.Offset+f.Limit)
	}
	people, total, err := s.o.Store.PeoplePage(ctx, of)
	if err != nil {
		return nil, 0, err
	}
	page := s.Directory().Actors(people, identity.ViaSession)
	if f.Offset >= lately {
		return page, total, nil
	}
	waits := func(a identity.Actor) int { // whom an administrator disabled waits for nothing
		if !hasRole(a) && !a.Person.Disabled {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(page[:min(lately, len(page))], func(a, b identity.Actor) int { return waits(a) - waits(b) })
	from := min(f.Offset, len(page))
	return page[from:min(from+f.Limit, len(page))], total, nil
}

// FindPeople lists at most so many of those who have signed in, by a part of name or e-mail address; for admins and
// auditors.
func (s *Service) FindPeople(ctx context.Context, a identity.Actor, text string, most int) ([]identity.Person, error) {
	if err := s.permitAdmin(a, identity.ReadPeople); err != nil {
		return nil, err
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	return s.o.Store.People(ctx, text, min(most, mostShown))
}

// mostShown is how many people one page lists; a search finds the others.
const mostShown = 200
