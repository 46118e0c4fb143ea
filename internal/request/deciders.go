package request

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// mostDeciders is how many who can decide are named.
const mostDeciders = 3

// principalsFor is how long the list of who holds what is used before everybody is read again: a platform has ten
// thousand people, and the names are for orientation. Rights are asked anew with each decision.
const principalsFor = time.Minute

// holders are the people by the principals that they hold, see identity.Actor.Principals.
type holders struct {
	mu sync.Mutex
	at time.Time
	by map[string][]identity.Person
}

// WhoCanDecide names some of those who can decide a pending request now, and says whether there are more. Somebody who
// has never signed in is not known. A request that nobody has to decide has none.
func (s *Approvals) WhoCanDecide(ctx context.Context, a identity.Actor, r Request) (some []identity.Person, more bool,
	err error) {
	if !identity.Can(a, identity.ReadRequest, r.Resource()) {
		return nil, false, fault.New(fault.NotFound, i18n.T("request.not_found"))
	}
	by, err := s.holding(ctx)
	if err != nil {
		return nil, false, err
	}
	now := s.now()
	var people []identity.Person
	for _, key := range r.asked(now) {
		people = append(people, by[key]...)
	}
	slices.SortFunc(people, func(a, b identity.Person) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	people = slices.CompactFunc(people, func(a, b identity.Person) bool { return a.ID == b.ID })
	for _, p := range people {
		if !Awaits(r, s.actor(p, identity.ViaSession), now) {
			continue
		}
		if len(some) == mostDeciders {
			return some, true, nil
		}
		some = append(some, p)
	}
	return some, false, nil
}

// holding is who holds what, at most principalsFor old.
func (s *Approvals) holding(ctx context.Context) (map[string][]identity.Person, error) {
	s.holds.mu.Lock()
	defer s.holds.mu.Unlock()
	now := s.now()
	if s.holds.by != nil && now.Sub(s.holds.at) < principalsFor && !now.Before(s.holds.at) {
		return s.holds.by, nil
	}
	everybody, err := s.people.Everybody(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string][]identity.Person{}
	for _, p := range everybody {
		for _, key := range s.actor(p, identity.ViaSession).Principals() {
			by[key] = append(by[key], p)
		}
	}
	s.holds.at, s.holds.by = now, by
	return by, nil
}
