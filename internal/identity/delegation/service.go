package delegation

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Store keeps periods and knows people. Faults: NotFound for what does not exist, Unavailable when the database is
// away.
type Store interface {
	// Delegations lists the periods that end after a time, soonest first.
	Delegations(ctx context.Context, after time.Time) ([]Delegation, error)
	CreateDelegation(ctx context.Context, p Delegation, event audit.Event) error
	// EndDelegation ends a period of a person at a time: NotFound when it is not theirs or is over.
	EndDelegation(ctx context.Context, person identity.PersonID, id string, now time.Time, event audit.Event) error
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	// People lists those whose name or e-mail address holds a text, by name.
	People(ctx context.Context, search string, limit int) ([]identity.Person, error)
}

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store Store
	Actor func(p identity.Person, via identity.Via) identity.Actor // with the roles of now
	// whether somebody decides requests by their own rights
	Decides func(a identity.Actor) bool
	Now     func() time.Time
	NewID   func(prefix string) string
	Logger  *slog.Logger // nil: nothing is logged
}

// Service names delegates and knows who stands in for whom. It is safe for use by many goroutines.
type Service struct {
	o       Options
	refresh sync.Mutex
	known   atomic.Pointer[map[identity.PersonID][]Delegation] // by delegate; open and coming
}

// New begins without any period; Refresh loads those that there are.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	s.known.Store(&map[identity.PersonID][]Delegation{})
	return s
}

// Refresh reads all periods that are not over. There are few: people who are away.
func (s *Service) Refresh(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	list, err := s.o.Store.Delegations(ctx, s.o.Now())
	if err != nil {
		return err
	}
	known := map[identity.PersonID][]Delegation{}
	for _, p := range list {
		known[p.Delegate] = append(known[p.Delegate], p)
	}
	s.known.Store(&known)
	return nil
}

// Follow loads what other replicas change, until the context ends. changed tells that there may be something new;
// every so often it is looked at anyway.
func (s *Service) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "the delegates could not be read, the last known ones go on", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// For gives those for whom somebody decides now, each with the rights that they have now. It asks the database only for
// somebody who stands in for others.
func (s *Service) For(ctx context.Context, id identity.PersonID) ([]identity.Actor, error) {
	var actors []identity.Actor
	now := s.o.Now()
	for _, period := range (*s.known.Load())[id] {
		if !period.Counts(now) || slices.ContainsFunc(actors,
			func(a identity.Actor) bool { return a.Person.ID == period.Person }) {
			continue
		}
		p, err := s.o.Store.Person(ctx, period.Person)
		if fault.Is(err, fault.NotFound) || err == nil && p.Disabled {
			continue
		}
		if err != nil {
			return nil, err
		}
		actors = append(actors, s.o.Actor(p, identity.ViaSession))
	}
	return actors, nil
}

// List gives the periods that are not over: in which others decide for the actor, and in which the actor decides for
// others.
func (s *Service) List(ctx context.Context, a identity.Actor) (mine, others []Delegation, err error) {
	if err := permit(a); err != nil {
		return nil, nil, err
	}
	list, err := s.o.Store.Delegations(ctx, s.o.Now())
	for _, p := range list {
		switch a.Person.ID {
		case p.Person:
			mine = append(mine, p)
		case p.Delegate:
			others = append(others, p)
		}
	}
	return mine, others, err
}

// May says whether the actor can name a delegate, and else why not: who decides nothing by their own rights has nothing
// to hand on.
func (s *Service) May(a identity.Actor) error {
	if err := permit(a); err != nil {
		return err
	}
	a.Delegators = nil
	if !s.o.Decides(a) {
		return fault.New(fault.Forbidden, i18n.T("delegation.decides_nothing"))
	}
	return nil
}

func permit(a identity.Actor) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	if !identity.Can(a, identity.ManageDelegations, identity.Resource{Owner: a.Person.ID}) {
		return fault.New(fault.Forbidden, i18n.T("delegation.decides_nothing"))
	}
	return nil
}

const (
	leastFind = 2  // characters; fewer would list everybody
	mostFound = 10 // people
)

// Find lists people by a part of their name or e-mail address, but not the actor; nobody for a text that is too short.
func (s *Service) Find(ctx context.Context, a identity.Actor, text string) ([]identity.Person, error) {
	if err := s.May(a); err != nil {
		return nil, err
	}
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n < leastFind || n > 100 || !utf8.ValidString(text) {
		return nil, nil
	}
	list, err := s.o.Store.People(ctx, text, 3*mostFound)
	list = slices.DeleteFunc(list, func(p identity.Person) bool { return p.ID == a.Person.ID || p.Disabled })
	return list[:min(len(list), mostFound)], err
}

// Create lets somebody decide in the actor's place for a time.
func (s *Service) Create(ctx context.Context, a identity.Actor, d Draft) (Delegation, error) {
	if err := s.May(a); err != nil {
		return Delegation{}, err
	}
	stand, err := s.o.Store.Person(ctx, d.Delegate)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Delegation{}, err
	}
	mine, _, err := s.List(ctx, a)
	if err != nil {
		return Delegation{}, err
	}
	now := s.o.Now()
	p, err := check(d, a, stand, mine, now)
	if err != nil {
		return Delegation{}, err
	}
	p.ID = s.o.NewID("i-")
	e := event(a, audit.DelegationCreated, p, now)
	e.Changes = audit.Changed(audit.Delegate, "", p.Delegate)
	if err := s.o.Store.CreateDelegation(ctx, p, e); err != nil {
		return Delegation{}, err
	}
	return p, s.Refresh(ctx)
}

// End ends one of the actor's own periods now, also one that has not begun.
func (s *Service) End(ctx context.Context, a identity.Actor, id string) error {
	mine, _, err := s.List(ctx, a)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(mine, func(p Delegation) bool { return p.ID == id })
	if i < 0 {
		return fault.New(fault.NotFound, i18n.T("delegation.not_found"))
	}
	now := s.o.Now()
	e := event(a, audit.DelegationEnded, mine[i], now)
	e.Changes = audit.Changed(audit.Delegate, mine[i].Delegate, "")
	if err := s.o.Store.EndDelegation(ctx, a.Person.ID, id, now, e); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

func event(a identity.Actor, kind audit.Kind, p Delegation, now time.Time) audit.Event {
	e := audit.By(a, kind, now)
	e.Detail = i18n.T("delegation.audit", "Name", p.DelegateName, "From", p.From.UTC().Format(time.RFC3339), "Until",
		p.Until.UTC().Format(time.RFC3339))
	return e
}
