package usage

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/memo"
)

// Store adds up the meter. Faults: Unavailable when the database is away.
type Store interface {
	Statement(ctx context.Context, f Filter) (Statement, error)
	// MeteredIntervals are the stretches of the meter in a span, whole; their order is not said.
	MeteredIntervals(ctx context.Context, f Filter) ([]Interval, error)
	// StorageIntervals are the storage that was there in a span, with what was there of the same before it.
	StorageIntervals(ctx context.Context, f Filter) ([]StorageInterval, error)
	// SeatIntervals are the license seats that were held in a span, with what the same workloads held before it, as far as
	// that is after a moment.
	SeatIntervals(ctx context.Context, f Filter, since time.Time) ([]SeatInterval, error)
}

// Scope is what a statement covers: one person, one tenant or the whole site.
type Scope string

// The scopes.
const (
	Mine Scope = "mine"
	Team Scope = "team" // of the actor's teams
	All  Scope = "all"
)

// Scopes lists the scopes of which an actor may read statements.
func Scopes(a identity.Actor) []Scope {
	list := []Scope{Mine}
	if len(a.TenantNames()) > 0 {
		list = append(list, Team)
	}
	if identity.Can(a, identity.ReadUsage, identity.Resource{}) {
		list = append(list, All)
	}
	return list
}

// Widest is the default scope of a reader: the whole site for those who answer for the fleet, else their own.
func Widest(a identity.Actor) Scope {
	if list := Scopes(a); slices.Contains(list, All) {
		return All
	}
	return Mine
}

// Service makes statements for people.
type Service struct {
	Store  Store
	Demand UnmetStore
	Fleet  *Fleet
	Live   Tails          // how busy GPUs were since the record ends; nil: what is not recorded is unknown
	Prices *Prices        // of storage and seats; nil: they cost nothing
	Zone   *time.Location // months begin and end by its clocks
	Now    func() time.Time
	Focus  FocusSite // who charges, for exports

	// Changes tell when a statement of everybody is old; nil: each is added up anew.
	Changes Changes

	daily     dailyCache
	everybody memo.Memo[statementKey, Statement]
}

// Month is the one that is running now.
func (s *Service) Month() Month { return MonthOf(s.Now(), s.Zone) }

// Statement is one month, as far as it is over. What the actor may not read, and a month that has not begun, is
// NotFound.
func (s *Service) Statement(ctx context.Context, a identity.Actor, scope Scope, m Month) (Statement, error) {
	f, err := s.filter(a, scope)
	if err != nil {
		return Statement{}, err
	}
	if m.Span(s.Zone).From.After(s.Now()) {
		return Statement{}, notFound()
	}
	if scope == All {
		return s.shared(ctx, m)
	}
	return s.statement(ctx, f, m)
}

// StatementOf is one month of one tenant, for those who may read what it used; NotFound otherwise.
func (s *Service) StatementOf(ctx context.Context, a identity.Actor, tenant string, m Month) (Statement, error) {
	if err := identity.Known(a); err != nil {
		return Statement{}, err
	}
	if tenant == "" || !identity.Can(a, identity.ReadUsage, identity.Resource{Tenant: tenant}) ||
		m.Span(s.Zone).From.After(s.Now()) {
		return Statement{}, notFound()
	}
	return s.statement(ctx, Filter{Tenants: []string{tenant}}, m)
}

func notFound() error { return fault.New(fault.NotFound, i18n.T("usage.not_found")) }

// filter chooses what an actor sees of a scope; one that it may not ask for is NotFound.
func (s *Service) filter(a identity.Actor, scope Scope) (f Filter, _ error) {
	if err := identity.Known(a); err != nil {
		return f, err
	}
	if !slices.Contains(Scopes(a), scope) {
		return f, notFound()
	}
	switch scope {
	case Mine:
		f.Owner = string(a.Person.ID)
	case Team:
		f.Tenants = a.TenantNames()
	}
	return f, nil
}

// statement is one month of what a filter chooses, as far as it is over.
func (s *Service) statement(ctx context.Context, f Filter, m Month) (Statement, error) {
	whole := m.Span(s.Zone)
	f.Span, f.Month = whole.To(s.Now()), m
	st, err := s.Store.Statement(ctx, f)
	st.Month, st.Whole, st.Span = m, whole, f.Span
	if err != nil {
		return st, err
	}
	if s.Live != nil && !st.Final() {
		// After the statement: a tail that goes on from a later watermark leaves out what the statement has, never twice.
		tails, err := s.Live.Tails(ctx)
		if err != nil {
			return st, err
		}
		st.addTails(tails)
	}
	if s.Prices == nil {
		return st, nil
	}
	list, currency := s.Prices.List(), s.Prices.Currency()
	kept, err := s.Store.StorageIntervals(ctx, f)
	if err != nil {
		return st, err
	}
	st.Lines = append(st.Lines, list.Storage(kept, f.Span, currency)...)
	if first, priced := list.First(PriceSeat); priced {
		held, err := s.Store.SeatIntervals(ctx, f, first)
		if err != nil {
			return st, err
		}
		st.Lines = append(st.Lines, list.Seats(held, f.Span, currency)...)
	}
	st.Sort()
	return st, nil
}
