package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

// Period is one with every field set.
func Period(id string) delegation.Delegation {
	return delegation.Delegation{ID: id, Person: "p-ada", Name: "Ada Lovelace", Delegate: "p-eve",
		DelegateName: "Eve Größe",
		From:         later(10), Until: later(20), CreatedAt: later(0)}
}

// couple are Ada and Eve.
func couple(t *testing.T, s *store.Store) {
	t.Helper()
	eve := Person("p-eve")
	eve.Name = "Eve Größe"
	must(t, s.SavePerson(context.Background(), Person("p-ada")))
	must(t, s.SavePerson(context.Background(), eve))
}

var delegationCases = cases{
	"a period comes back as it was written, with the names of now, until it is over": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		couple(t, s)
		filled(t, Period("i-1"))
		must(t, s.CreateDelegation(ctx, Period("i-1"), Event(1)))
		equal(t, []delegation.Delegation{Period("i-1")}, got(s.Delegations(ctx, later(19)))(t))
		equal(t, []delegation.Delegation{}, got(s.Delegations(ctx, later(20)))(t))
		equal(t, 1, len(got(events(s))(t)))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicDelegation, ID: "i-1", Person: "p-eve"},
			{Seq: 2, Topic: live.TopicSession, Person: "p-eve"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
	},
	"a period is ended by whose it is, once, and one that has not begun goes": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		couple(t, s)
		must(t, s.CreateDelegation(ctx, Period("i-1"), Event(1)))
		must(t, s.CreateDelegation(ctx, Period("i-2"), Event(2)))
		fails(t, fault.NotFound, s.EndDelegation(ctx, "p-eve", "i-1", later(15), Event(3)))
		fails(t, fault.NotFound, s.EndDelegation(ctx, "p-ada", "i-3", later(15), Event(3)))
		must(t, s.EndDelegation(ctx, "p-ada", "i-1", later(15), Event(3)))
		fails(t, fault.NotFound, s.EndDelegation(ctx, "p-ada", "i-1", later(15), Event(4)))
		must(t, s.EndDelegation(ctx, "p-ada", "i-2", later(5), Event(4)))
		short := Period("i-1")
		short.Until = later(15)
		equal(t, []delegation.Delegation{short}, got(s.Delegations(ctx, later(0)))(t))
		equal(t, 4, len(got(events(s))(t)))
	},
	"nobody stands in whom the store does not know": func(t *testing.T, s *store.Store) {
		couple(t, s)
		p := Period("i-1")
		p.Delegate = "p-nobody"
		fails(t, fault.Conflict, s.CreateDelegation(context.Background(), p, Event(1)))
		equal(t, 0, len(got(events(s))(t)))
	},
}

func events(s *store.Store) ([]audit.Event, error) {
	list, _, err := s.Events(context.Background(), audit.Filter{Limit: 100})
	return list, err
}
