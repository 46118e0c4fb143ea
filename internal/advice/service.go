package advice

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/memo"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps what was put away, and knows what runs. Faults: NotFound for a workload that is not there, Unavailable
// when the database is away.
type Store interface {
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	// LastChange is the number of the last change in the database.
	LastChange(ctx context.Context) (int64, error)
	Workloads(ctx context.Context, f workload.Filter) ([]workload.Workload, string, error)
	// Living gives every workload that has not ended, oldest first; the list belongs to all who ask.
	Living(ctx context.Context) ([]workload.Workload, error)
	Intervals(ctx context.Context, ids []workload.ID) (map[workload.ID][]usage.Interval, error)
	// NamesEnded is when a workload of each name last ended, by cluster, namespace and name, as far as this is after a
	// time.
	NamesEnded(ctx context.Context, since time.Time) (map[Name]time.Time, error)
	// Dismissals are what was put away, by workload.
	Dismissals(ctx context.Context) (map[workload.ID]Dismissal, error)
	SaveDismissal(ctx context.Context, d Dismissal, events ...audit.Event) error
	// DeleteDismissal does nothing where nothing was put away.
	DeleteDismissal(ctx context.Context, id workload.ID, events ...audit.Event) error
}

// Name is what metrics know a workload by.
type Name struct{ Cluster, Namespace, Name string }

// Dismissal is advice that somebody has put away: it stays away for everybody while it says the same.
type Dismissal struct {
	Workload workload.ID
	Kind     Kind
	Size     string
	Author   identity.PersonID
	Name     string // of the author
	At       time.Time
}

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store Store
	// Days are a cluster's, oldest first, and as of when; zero for never.
	Days func(cluster string) ([]Day, time.Time)
	// Offer are the sizes of the catalog at the prices that a team pays now.
	Offer func(tenant string) []catalog.Size
	Rule  Rule
	Now   func() time.Time
}

// Service gives advice to people.
type Service struct {
	o   Options
	all memo.Memo[int64, Report]
}

// New makes the service. Every dependency must be set.
func New(o Options) *Service { return &Service{o: o} }

// Report is the advice for what somebody may read.
type Report struct {
	Advice []*Advice // those with advice, what saves most first
	Put    []*Advice // with advice that was put away
	None   []*Advice // without, by cause and name
	AsOf   time.Time
	Rule   Rule
	Saves  usage.Money // in a month, if all smaller sizes were taken
}

// reportLasts is how old the report of everybody may be while nothing is written: metrics of the day come in later.
const reportLasts = 15 * time.Second

// most bounds what one page reads.
const most = 2000

// List is the advice for what runs: the actor's own, of their teams, or all. What the actor may not read is NotFound.
// The lists may belong to all who ask.
func (s *Service) List(ctx context.Context, a identity.Actor, scope usage.Scope) (Report, error) {
	if err := identity.Known(a); err != nil {
		return Report{}, err
	}
	if !slices.Contains(usage.Scopes(a), scope) {
		return Report{}, fault.New(fault.NotFound, i18n.T("usage.not_found"))
	}
	if scope != usage.All {
		return s.list(ctx, a, scope)
	}
	change, err := s.o.Store.LastChange(ctx)
	if err != nil {
		return Report{}, err
	}
	return s.all.Get(change, s.o.Now(), reportLasts, func() (Report, error) { return s.list(ctx, a, scope) })
}

func (s *Service) list(ctx context.Context, a identity.Actor, scope usage.Scope) (Report, error) {
	items, err := s.living(ctx, a, scope)
	if err != nil {
		return Report{}, err
	}
	items = slices.DeleteFunc(items, func(w *workload.Workload) bool { return !judged(w) })
	items = items[:min(most, len(items))]
	all, asOf, err := s.judge(ctx, items)
	if err != nil {
		return Report{}, err
	}
	return report(all, asOf, s.o.Rule), nil
}

// living are the workloads of a scope, newest first. Those of all belong to all who ask: they are not changed.
func (s *Service) living(ctx context.Context, a identity.Actor, scope usage.Scope) (all []*workload.Workload,
	err error) {
	f := workload.Filter{Limit: 500}
	switch scope {
	case usage.Mine:
		f.Owner = a.Person.ID
	case usage.Team:
		f.Tenants = a.TenantNames()
	default:
		living, err := s.o.Store.Living(ctx)
		for i := range slices.Backward(living) {
			if w := &living[i]; judged(w) && len(all) < most {
				all = append(all, w)
			}
		}
		return all, err
	}
	for {
		items, next, err := s.o.Store.Workloads(ctx, f)
		for i := range items {
			all = append(all, &items[i])
		}
		if f.Cursor = next; err != nil || next == "" || len(all) >= most {
			return all, err
		}
	}
}

// Of is the advice for one workload. What the actor may not read does not exist.
func (s *Service) Of(ctx context.Context, a identity.Actor, id workload.ID) (Advice, error) {
	w, err := s.o.Store.Workload(ctx, id)
	if err != nil {
		return Advice{}, err
	}
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return Advice{}, err
	}
	all, _, err := s.judge(ctx, []*workload.Workload{&w})
	if err != nil {
		return Advice{}, err
	}
	return all[0], nil
}

// Dismiss puts advice away, for everybody and until it says something else. A Conflict where there is none.
func (s *Service) Dismiss(ctx context.Context, a identity.Actor, id workload.ID) (Advice, error) {
	is, err := s.changeable(ctx, a, id)
	if err != nil || is.Put != nil {
		return is, err
	}
	if is.Kind == "" {
		return is, fault.New(fault.Conflict, i18n.T("advice.none_to_dismiss"))
	}
	d := Dismissal{Workload: id, Kind: is.Kind, Size: is.Size.Name, Author: a.Person.ID, Name: a.Person.Name,
		At: s.o.Now()}
	if err := s.o.Store.SaveDismissal(ctx, d, s.event(a, audit.AdviceDismissed, is)); err != nil {
		return is, err
	}
	is.Put = &d
	return is, nil
}

// Restore shows again what was put away.
func (s *Service) Restore(ctx context.Context, a identity.Actor, id workload.ID) (Advice, error) {
	is, err := s.changeable(ctx, a, id)
	if err != nil || is.Put == nil {
		return is, err
	}
	if err := s.o.Store.DeleteDismissal(ctx, id, s.event(a, audit.AdviceRestored, is)); err != nil {
		return is, err
	}
	is.Put = nil
	return is, nil
}

func (s *Service) changeable(ctx context.Context, a identity.Actor, id workload.ID) (Advice, error) {
	is, err := s.Of(ctx, a, id)
	if err != nil {
		return is, err
	}
	return is, workload.Permit(a, identity.ChangeWorkload, *is.Workload)
}

func (s *Service) event(a identity.Actor, kind audit.Kind, is Advice) audit.Event {
	e := audit.By(a, kind, s.o.Now())
	e.Tenant, e.Workload = is.Workload.Tenant, string(is.Workload.ID)
	size := is.Size
	if size.Title == "" {
		size = is.Workload.Size
	}
	e.Detail = i18n.T("advice.audit_"+string(is.Kind), "Size", size.Called())
	return e
}

// judged reports whether a workload has a GPU of which there is something to say.
func judged(w *workload.Workload) bool { return w.Holds() && w.Size.Devices() > 0 }

// judge reads what is known of the workloads, each kind of thing once.
func (s *Service) judge(ctx context.Context, items []*workload.Workload) (list []Advice, asOf time.Time, err error) {
	if len(items) == 0 {
		return nil, time.Time{}, nil
	}
	now := s.o.Now()
	ids := make([]workload.ID, len(items))
	for i, w := range items {
		ids[i] = w.ID
	}
	meter, err := s.o.Store.Intervals(ctx, ids)
	if err != nil {
		return nil, asOf, err
	}
	ended, err := s.o.Store.NamesEnded(ctx, now.Add(-s.o.Rule.Window-day))
	if err != nil {
		return nil, asOf, err
	}
	put, err := s.o.Store.Dismissals(ctx)
	if err != nil {
		return nil, asOf, err
	}
	offers := map[string][]catalog.Size{}
	list = make([]Advice, 0, len(items))
	for _, w := range items {
		if _, read := offers[w.Tenant]; !read {
			offers[w.Tenant] = s.o.Offer(w.Tenant)
		}
		days, at := s.o.Days(w.Cluster)
		if !at.IsZero() && (asOf.IsZero() || at.Before(asOf)) {
			asOf = at
		}
		until := now
		if !at.IsZero() {
			until = at // what was held since cannot have been measured yet
		}
		e := Gather(w, meter[w.ID], days, ended[Name{w.Cluster, w.Namespace, w.Name}], until, s.o.Rule.Window)
		is := Judge(priced(w, offers[w.Tenant]), e, offers[w.Tenant], s.o.Rule)
		if d, away := put[w.ID]; away && is.Kind == d.Kind && is.Size.Name == d.Size {
			is.Put = &d
		}
		list = append(list, is)
	}
	return list, asOf, nil
}

// priced gives a workload's size the price that it has on the list now: what was agreed when it began may be another
// one, and a move would be made at today's. A workload that has this price is given as it is.
func priced(w *workload.Workload, offer []catalog.Size) *workload.Workload {
	for i := range offer {
		if offer[i].Name != w.Size.Name {
			continue
		}
		if offer[i].PricePerHour == w.Size.PricePerHour {
			return w
		}
		now := *w
		now.Size.PricePerHour = offer[i].PricePerHour
		return &now
	}
	return w
}

func report(all []Advice, asOf time.Time, rule Rule) Report {
	r := Report{AsOf: asOf, Rule: rule}
	var advice, put, none []*Advice
	for i := range all {
		a := &all[i]
		switch {
		case a.Kind == "":
			none = append(none, a)
		case a.Put != nil:
			put = append(put, a)
		default:
			advice = append(advice, a)
			if a.Kind == Smaller && (r.Saves.Currency == "" || r.Saves.Currency == a.Saves.Currency) {
				r.Saves = r.Saves.Add(a.Saves)
			}
		}
	}
	byName := func(a, b *Advice) int { return cmp.Compare(a.Workload.Name, b.Workload.Name) }
	byWorth := func(a, b *Advice) int { // what saves comes first, the most of it at the top
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(b.Saves.Minor, a.Saves.Minor), byName(a, b))
	}
	slices.SortFunc(advice, byWorth)
	slices.SortFunc(put, byWorth)
	slices.SortFunc(none, func(a, b *Advice) int { return cmp.Or(cmp.Compare(a.Why, b.Why), byName(a, b)) })
	r.Advice, r.Put, r.None = advice, put, none
	return r
}
