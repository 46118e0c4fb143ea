package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// TenantRevision is one with every field set.
func TenantRevision(name string, version int64) tenant.Revision {
	title, disabled := "Größe", true
	return tenant.Revision{Tenant: name, Version: version, Author: "p-ada", AuthorName: "Ada Lovelace",
		Note: i18n.T("tenant.defaults_saved"), At: later(int(version)),
		Saved: tenant.Saved{Title: &title, Namespace: "gpu-x", Disabled: &disabled, Defaults: &tenant.Defaults{Size: "cpu",
			Image: "jupyterlab", Lease: "8h"},
			Groups: map[identity.Role][]string{identity.Owner: {"a", "b-*"}},
			Quota:  map[string]int{"cpu": 3, tenant.EverySize: 0}}}
}

var tenantCases = cases{
	"teams come back as they were written, the highest version of each": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		filled(t, TenantRevision("a", 1))
		for version := range int64(3) {
			must(t, s.SaveTenant(ctx, TenantRevision("b", version+1)))
		}
		must(t, s.SaveTenant(ctx, TenantRevision("a", 1)))
		equal(t, []tenant.Revision{TenantRevision("a", 1), TenantRevision("b", 3)}, got(s.LatestTenants(ctx))(t))
		equal(t, []tenant.Revision{TenantRevision("b", 3), TenantRevision("b", 2)}, got(s.TenantRevisions(ctx, "b", 0, 2))(t))
		equal(t, []tenant.Revision{TenantRevision("b", 1)}, got(s.TenantRevisions(ctx, "b", 2, 2))(t))
		equal(t, 0, len(got(s.TenantRevisions(ctx, "c", 0, 2))(t)))
	},
	"a team comes with its event and a change, or not at all": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveTenant(ctx, TenantRevision("a", 1), Event(1)))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicTenant, ID: "a@1", Tenant: "a"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		fails(t, fault.Invalid, s.SaveTenant(ctx, TenantRevision("a", 2), audit.Event{ActorName: "\x00"}))
		equal(t, 1, len(got(s.LatestTenants(ctx))(t)))
	},
	"of those who follow the same version of a team one wins": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		fails(t, fault.Conflict, s.SaveTenant(ctx, TenantRevision("a", 2)))
		must(t, s.SaveTenant(ctx, TenantRevision("a", 1)))
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = s.SaveTenant(ctx, TenantRevision("a", 2), Event(i)) })
		}
		group.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			fails(t, fault.Conflict, err)
		}
		equal(t, 1, won)
	},
	"a quota is raised beside what was saved, and never lowered": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		raise := func(size string, to int) {
			must(t, decide(s, func(tx request.Tx) error {
				return tx.RaiseQuota(ctx, request.Raise{Tenant: "a", Size: size, To: to,
					By:   identity.Actor{Person: identity.Person{ID: "p-ada", Name: "Ada Lovelace"}},
					Note: i18n.T("tenant.defaults_saved"), At: later(9)})
			}))
		}
		raise("gpu", 2) // of a team about which nothing was saved
		want := tenant.Revision{Tenant: "a", Version: 1, Saved: tenant.Saved{Quota: map[string]int{"gpu": 2}},
			Author: "p-ada", AuthorName: "Ada Lovelace", Note: i18n.T("tenant.defaults_saved"), At: later(9)}
		equal(t, []tenant.Revision{want}, got(s.LatestTenants(ctx))(t))
		must(t, s.SaveTenant(ctx, TenantRevision("a", 2)))
		raise("gpu", 4)
		raise("gpu", 3)
		newest := got(s.LatestTenants(ctx))(t)[0]
		equal(t, int64(3), newest.Version)
		equal(t, map[string]int{"cpu": 3, tenant.EverySize: 0, "gpu": 4}, newest.Saved.Quota)
		equal(t, *TenantRevision("a", 1).Saved.Title, *newest.Saved.Title)
	},
	"members are added and removed once, with their event, and open pages hear of it": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		p := Person("p-1")
		must(t, s.SavePerson(ctx, p))
		m := tenant.Member{Tenant: "a", Person: p.ID, Role: identity.Owner, By: "Ada",
			Granted: []identity.PersonID{"p-ada", "p-pat"}, At: later(1)}
		filled(t, m)
		must(t, s.AddMember(ctx, m, Event(1)))
		fails(t, fault.Conflict, s.AddMember(ctx, m, Event(2)))
		fails(t, fault.Conflict, s.AddMember(ctx, tenant.Member{Tenant: "a", Person: "p-none", Role: identity.Owner,
			At: later(1)}, Event(2)))
		equal(t, []tenant.Member{m}, got(s.Members(ctx))(t))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicTenant, ID: "a", Tenant: "a", Person: string(p.ID)},
			{Seq: 2, Topic: live.TopicSession, Person: string(p.ID)}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		other := m
		other.Role = identity.Developer
		fails(t, fault.NotFound, s.RemoveMember(ctx, other, Event(3)))
		must(t, s.RemoveMember(ctx, m, Event(3)))
		fails(t, fault.NotFound, s.RemoveMember(ctx, m, Event(3)))
		equal(t, 0, len(got(s.Members(ctx))(t)))
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 2, len(events))
	},
	"people are found by a part of their name or address, and what they type is no pattern": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		for id, name := range map[identity.PersonID]string{"p-2": "Bob 100% Builder", "p-1": "Ada", "p-3": "Zoe_X"} {
			p := Person(string(id))
			p.Name, p.Email, p.Subject = name, string(id)+"@example.org", string(id)
			must(t, s.SavePerson(ctx, p))
		}
		for search, want := range map[string]string{"": "Ada Bob 100% Builder Zoe_X ", "ADA": "Ada ", "p-3@": "Zoe_X ",
			"%": "Bob 100% Builder ", "_": "Zoe_X ", "!": "", "\x00": "", "nobody": ""} {
			names := ""
			for _, p := range got(s.People(ctx, search, 10))(t) {
				names += p.Name + " "
			}
			equal(t, want, names)
		}
		equal(t, 2, len(got(s.People(ctx, "", 2))(t)))
	},
	"people are found by the rules of their groups, and what a rule has besides * is no pattern": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		for id, groups := range map[identity.PersonID][]string{"p-1": {"gpu-a-owners", "x"}, "p-2": {"gpu-ab-owners"},
			"p-3": {"100%_<x>&\"q\"!"}, "p-4": nil, "p-5": {"gpu-*"}} {
			p := Person(string(id))
			p.Name, p.Subject, p.Groups = string(id), string(id), groups
			must(t, s.SavePerson(ctx, p))
		}
		for _, c := range []struct {
			want   string
			rules  []string
			people []identity.PersonID
		}{{"", nil, nil}, {"p-1", []string{"gpu-a-owners"}, nil}, {"p-1 p-2", []string{"gpu-*-owners"}, nil},
			{"p-2 p-3", []string{"100%_<x>&\"q\"!", "gpu-ab*"}, nil}, {"", []string{"100_%", "gpu-a", "owners", "g_u*"}, nil},
			{"p-1 p-4", []string{"x"}, []identity.PersonID{"p-4", "p-none"}}} {
			var ids []string
			for _, p := range got(s.PeopleIn(ctx, c.rules, c.people, 10))(t) {
				ids = append(ids, string(p.ID))
			}
			equal(t, c.want, strings.Join(ids, " "))
		}
		equal(t, 1, len(got(s.PeopleIn(ctx, []string{"*"}, nil, 1))(t)))
	},
	"people come in pages, by name or by when they were seen": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i := range 5 {
			p := Person(fmt.Sprintf("p-%d", i))
			p.Name, p.Subject, p.SeenAt = fmt.Sprintf("N%d", i*3%5), string(p.ID), later(i)
			must(t, s.SavePerson(ctx, p))
		}
		for _, c := range []struct {
			want  string
			total int
			f     tenant.PeopleFilter
		}{{"p-0 p-2", 5, tenant.PeopleFilter{Limit: 2}}, {"p-4 p-1", 5, tenant.PeopleFilter{Limit: 2, Offset: 2}},
			{"p-3 p-1 p-4", 5, tenant.PeopleFilter{Limit: 3, Down: true}},
			{"p-0 p-1", 5, tenant.PeopleFilter{Limit: 2, BySeen: true}},
			{"p-4", 5, tenant.PeopleFilter{Limit: 1, BySeen: true, Down: true}},
			{"p-2", 1, tenant.PeopleFilter{Limit: 9, Text: "n1"}}, {"", 5, tenant.PeopleFilter{Limit: 2, Offset: 9}},
			{"", 0, tenant.PeopleFilter{Limit: 2, Text: "\x00"}}} {
			people, total, err := s.PeoplePage(ctx, c.f)
			must(t, err)
			equal(t, c.total, total)
			equal(t, c.want, idsOf(people, func(p identity.Person) string { return string(p.ID) }))
		}
	},
	"a session sees the portal as somebody else once, and is its own again once": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SavePerson(ctx, Person("p-ada")))
		n := session("s-1", "")
		n.Impersonates, n.ImpersonationUntil = "", time.Time{}
		must(t, s.CreateSession(ctx, n))
		must(t, s.EndImpersonation(ctx, "s-1", Event(1)))
		must(t, s.Impersonate(ctx, "s-1", "p-bob", later(9), Event(1)))
		fails(t, fault.Conflict, s.Impersonate(ctx, "s-1", "p-eve", later(9), Event(2)))
		fails(t, fault.Conflict, s.Impersonate(ctx, "s-none", "p-eve", later(9), Event(2)))
		acting := n
		acting.Impersonates, acting.ImpersonationUntil = "p-bob", later(9)
		equal(t, acting, got(s.Session(ctx, "s-1"))(t))
		must(t, s.EndImpersonation(ctx, "s-1", Event(3)))
		must(t, s.EndImpersonation(ctx, "s-1", Event(4)))
		equal(t, n, got(s.Session(ctx, "s-1"))(t))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, ID: "s-1"}, {Seq: 2, Topic: live.TopicSession, ID: "s-1"}},
			got(s.ChangesAfter(ctx, 0, 10))(t))
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 2, len(events))
	},
	"a session gets another secret once for all calls that saw the one of before": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SavePerson(ctx, Person("p-ada")))
		n := session("s-1", "")
		n.Impersonates, n.ImpersonationUntil, n.Roles, n.FormerHash, n.RenewedAt = "", time.Time{}, "few", "", time.Time{}
		must(t, s.CreateSession(ctx, n))
		equal(t, true, got(s.RenewSecret(ctx, n, "new", "many", later(5)))(t))
		equal(t, false, got(s.RenewSecret(ctx, n, "newer", "many", later(6)))(t))
		want := n
		want.SecretHash, want.FormerHash, want.Roles, want.RenewedAt = "new", n.SecretHash, "many", later(5)
		equal(t, want, got(s.Session(ctx, "s-1"))(t))
	},
	"tokens of several people are listed together": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, id := range []identity.PersonID{"p-1", "p-2", "p-3"} {
			p := Person(string(id))
			p.Subject = string(id)
			must(t, s.SavePerson(ctx, p))
			must(t, s.CreateToken(ctx, identity.Token{ID: "t-" + string(id), Person: id, SecretHash: "x", CreatedAt: later(i),
				ExpiresAt: later(i + 9)}, Event(i)))
		}
		list := got(s.TokensOfAll(ctx, []identity.PersonID{"p-1", "p-3", "p-none"}))(t)
		equal(t, 2, len(list))
		equal(t, "t-p-3 t-p-1", list[0].ID+" "+list[1].ID)
		equal(t, 0, len(got(s.TokensOfAll(ctx, nil))(t)))
	},
}
