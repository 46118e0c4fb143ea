package webtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
)

// people are all of this world.
func people() []identity.Person {
	return []identity.Person{Anna, Ben, Carla, Dora, Eli, Nemo, Olaf}
}

// Person finds one by id.
func (s *Store) Person(_ context.Context, id identity.PersonID) (identity.Person, error) {
	for _, p := range people() {
		if p.ID == id {
			return s.off(p), nil
		}
	}
	return identity.Person{}, fault.New(fault.NotFound, i18n.T("store.no_person"))
}

// People looks at names and addresses.
func (s *Store) People(_ context.Context, text string, limit int) ([]identity.Person, error) {
	var list []identity.Person
	for _, p := range people() {
		if strings.Contains(strings.ToLower(p.Name+" "+p.Email), strings.ToLower(text)) && len(list) < limit {
			list = append(list, s.off(p))
		}
	}
	return list, nil
}

// Delegations lists those that are not over.
func (s *Store) Delegations(_ context.Context, after time.Time) ([]delegation.Delegation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []delegation.Delegation
	for _, p := range s.Periods {
		if p.Until.After(after) {
			list = append(list, p)
		}
	}
	return list, nil
}

// CreateDelegation keeps one.
func (s *Store) CreateDelegation(ctx context.Context, p delegation.Delegation, event audit.Event) error {
	s.mu.Lock()
	s.Periods = append(s.Periods, p)
	s.mu.Unlock()
	return s.Append(ctx, event)
}

// EndDelegation forgets one.
func (s *Store) EndDelegation(ctx context.Context, person identity.PersonID, id string, _ time.Time,
	event audit.Event) error {
	s.mu.Lock()
	i := slices.IndexFunc(s.Periods, func(p delegation.Delegation) bool { return p.ID == id && p.Person == person })
	if i < 0 {
		s.mu.Unlock()
		return fault.New(fault.NotFound, i18n.T("delegation.not_found"))
	}
	s.Periods = slices.Delete(s.Periods, i, i+1)
	s.mu.Unlock()
	return s.Append(ctx, event)
}

// Away lets somebody decide in another's place for a day.
func (w *World) Away(person, stand identity.Person) {
	w.Periods = append(w.Periods, delegation.Delegation{ID: "i-" + string(person.ID) + string(stand.ID), Person: person.ID,
		Name: person.Name, Delegate: stand.ID, DelegateName: stand.Name,
		From: w.Clock.Add(-time.Hour), Until: w.Clock.Add(23 * time.Hour), CreatedAt: w.Clock})
	if err := w.Delegations.Refresh(context.Background()); err != nil {
		panic(err)
	}
}

// Everybody lists the people of the stories.
func (s *Store) Everybody(context.Context) ([]identity.Person, error) { return people(), nil }
