package webtest

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
)

func (w *World) newAccounts(now func() time.Time) *accounts.Service {
	return &accounts.Service{Store: requestStore{w.Store}, Actor: w.Site.Directory.Actor, Now: now, Idle: 12 * time.Hour,
		Limits: identity.TokenLimits{Lifetime: 90 * 24 * time.Hour, StandingAge: 24 * time.Hour}}
}

// signedIn is Anna at her desk and on her phone, which she uses now.
func (w *World) signedIn() {
	at := func(ago time.Duration) time.Time { return Now.Add(-ago) }
	w.Sessions = []identity.Session{
		{ID: "s-" + string(Anna.ID), Person: Anna.ID, CreatedAt: at(3 * time.Hour), SeenAt: at(time.Minute),
			EndsAt: Now.Add(6 * 24 * time.Hour), Address: "192.0.2.7",
			Agent: "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 " +
				"Safari/604.1"},
		{ID: "s-desk", Person: Anna.ID, CreatedAt: at(26 * time.Hour), SeenAt: at(40 * time.Minute),
			EndsAt: Now.Add(5 * 24 * time.Hour), Address: "198.51.100.24",
			Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"},
		{ID: "s-script", Person: Anna.ID, CreatedAt: at(2 * time.Hour), SeenAt: at(time.Hour),
			EndsAt: Now.Add(6 * 24 * time.Hour), Address: "2001:db8::17", Agent: "curl/8.14.1"}}
}

// Disable shuts one out.
func (s *Store) Disable(ctx context.Context, id identity.PersonID, note string, event audit.Event) error {
	s.mu.Lock()
	if _, done := s.Off[id]; done {
		s.mu.Unlock()
		return nil
	}
	s.Off[id] = identity.Person{DisabledAt: event.At, DisabledBy: event.Name, DisabledNote: note}
	s.Sessions = slices.DeleteFunc(s.Sessions, func(n identity.Session) bool { return n.Person == id })
	s.mu.Unlock()
	return s.Append(ctx, event)
}

// Enable lets one in again.
func (s *Store) Enable(ctx context.Context, id identity.PersonID, event audit.Event) error {
	s.mu.Lock()
	delete(s.Off, id)
	s.mu.Unlock()
	return s.Append(ctx, event)
}

// off is a person with who disabled them.
func (s *Store) off(p identity.Person) identity.Person {
	if by, is := s.Off[p.ID]; is {
		p.Disabled, p.DisabledAt, p.DisabledBy, p.DisabledNote = true, by.DisabledAt, by.DisabledBy, by.DisabledNote
	}
	return p
}

// SessionsOf lists a person's.
func (s *Store) SessionsOf(_ context.Context, id identity.PersonID, after time.Time) ([]identity.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []identity.Session
	for _, n := range s.Sessions {
		if n.Person == id && n.EndsAt.After(after) {
			list = append(list, n)
		}
	}
	return list, nil
}

// EndSessionOf forgets one of this person.
func (s *Store) EndSessionOf(ctx context.Context, id identity.PersonID, session string, event audit.Event) error {
	if !s.forget(func(n identity.Session) bool { return n.Person == id && n.ID == session }) {
		return fault.New(fault.NotFound, i18n.T("store.session_over"))
	}
	return s.Append(ctx, event)
}

// EndSessionsOf forgets all but one.
func (s *Store) EndSessionsOf(ctx context.Context, id identity.PersonID, but string, event audit.Event) error {
	if !s.forget(func(n identity.Session) bool { return n.Person == id && n.ID != but }) {
		return nil
	}
	return s.Append(ctx, event)
}

func (s *Store) forget(which func(identity.Session) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.Sessions)
	s.Sessions = slices.DeleteFunc(s.Sessions, which)
	return len(s.Sessions) < before
}

// RevokeTokensOf forgets all of a person.
func (s *Store) RevokeTokensOf(ctx context.Context, id identity.PersonID, event audit.Event) error {
	s.mu.Lock()
	s.TokenList = slices.DeleteFunc(s.TokenList, func(t identity.Token) bool { return t.Person == id })
	s.mu.Unlock()
	return s.Append(ctx, event)
}
