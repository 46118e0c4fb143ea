package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

func session(id, parent string) identity.Session {
	return identity.Session{ID: id, SecretHash: "hash-of-" + id, Person: "p-ada", CreatedAt: later(0), SeenAt: later(1),
		EndsAt: later(3600), IDToken: "jwt",
		Parent: parent, Workload: "w-1", RefreshToken: "sealed", GroupsAt: later(1), AskedAt: later(2),
		Impersonates: "p-bob", ImpersonationUntil: later(9), Roles: "roles", FormerHash: "former", RenewedAt: later(8),
		Address: "192.0.2.7", Agent: "Mozilla/5.0 (X11; Linux x86_64)"}
}

func token(id string, created int) identity.Token {
	return identity.Token{ID: id, Name: "ci", SecretHash: "hash-of-" + id, Person: "p-ada", CreatedAt: later(created),
		ExpiresAt: later(3600), LastUsedAt: later(2)}
}

// withAda is a store that knows Ada and a session of hers.
func withAda(t *testing.T, s *store.Store) context.Context {
	t.Helper()
	ctx := context.Background()
	must(t, s.SavePerson(ctx, Person("p-ada")))
	must(t, s.CreateSession(ctx, session("s-1", "")))
	return ctx
}

// recorded is how many events there are.
func recorded(t *testing.T, s *store.Store) int {
	t.Helper()
	events, _, err := s.Events(context.Background(), audit.Filter{})
	must(t, err)
	return len(events)
}

var identityCases = cases{
	"what somebody has acknowledged is kept over a sign-in, the newest sixteen": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.Acknowledge(ctx, "p-ada", "tour"))
		must(t, s.Acknowledge(ctx, "p-ada", "tour"))
		must(t, s.SavePerson(ctx, Person("p-ada")))
		p, err := s.Person(ctx, "p-ada")
		must(t, err)
		equal(t, []string{"tour"}, p.Acknowledged)
		for n := range 20 {
			must(t, s.Acknowledge(ctx, "p-ada", "news-"+string(rune('a'+n))))
		}
		p, err = s.Person(ctx, "p-ada")
		must(t, err)
		if n := len(p.Acknowledged); n != 16 || p.Acknowledged[n-1] != "news-t" {
			t.Errorf("want sixteen, the newest last, got %q", p.Acknowledged)
		}
		fails(t, fault.NotFound, s.Acknowledge(ctx, "p-nobody", "tour"))
	},
	"of the sessions of a person the longest unused end, with what hangs on them": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SavePerson(ctx, Person("p-bob")))
		for i, id := range []string{"s-2", "s-3", "s-4"} {
			n := session(id, "")
			n.SeenAt = later(10 - i)
			must(t, s.CreateSession(ctx, n))
		}
		must(t, s.CreateSession(ctx, session("s-4-gateway", "s-4")))
		other := session("s-bob", "")
		other.Person, other.SeenAt = "p-bob", later(0)
		must(t, s.CreateSession(ctx, other))
		must(t, s.LimitSessions(ctx, "p-ada", 2))
		for id, lives := range map[string]bool{"s-1": false, "s-2": true, "s-3": true, "s-4": false, "s-4-gateway": false,
			"s-bob": true} {
			if _, err := s.Session(ctx, id); fault.Is(err, fault.NotFound) == lives {
				t.Errorf("%s: want it to live: %v, got %v", id, lives, err)
			}
		}
		must(t, s.LimitSessions(ctx, "p-ada", 2))
		if _, err := s.Session(ctx, "s-3"); err != nil {
			t.Error(err)
		}
	},
	"a person comes back as they were saved": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		want := Person("p-ada")
		filled(t, want, "Disabled", "DisabledAt", "DisabledBy", "DisabledNote", "Acknowledged") // written by themselves
		must(t, s.SavePerson(ctx, want))
		equal(t, want, got(s.Person(ctx, "p-ada"))(t))
		want.Name, want.Email, want.Groups, want.SeenAt, want.ConfirmedAt = "", "", nil, later(9), later(9)
		must(t, s.SavePerson(ctx, want))
		equal(t, want, got(s.Person(ctx, "p-ada"))(t))
		_, err := s.Person(ctx, "p-eve")
		fails(t, fault.NotFound, err)
	},
	"two people cannot be the same subject of one issuer": func(t *testing.T, s *store.Store) {
		must(t, s.SavePerson(context.Background(), Person("p-ada")))
		other := Person("p-ada")
		other.ID = "p-eve"
		fails(t, fault.Conflict, s.SavePerson(context.Background(), other))
	},
	"who is disabled stays out when they sign in again, and has no sessions; the record tells each once": func(
		t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SavePerson(ctx, Person("p-eve")))
		by := audit.Event{At: later(5), Kind: audit.PersonDisabled, Actor: "p-eve", ActorName: "Eve"}
		for range 2 {
			must(t, s.Disable(ctx, "p-ada", "left us", by))
		}
		must(t, s.SavePerson(ctx, Person("p-ada")))
		want := Person("p-ada")
		want.Disabled, want.DisabledAt, want.DisabledBy, want.DisabledNote = true, later(5), "Eve", "left us"
		equal(t, want, got(s.Person(ctx, "p-ada"))(t))
		_, err := s.Session(ctx, "s-1")
		fails(t, fault.NotFound, err)
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, Person: "p-ada"}, {Seq: 2, Topic: live.TopicSession,
			ID:     "s-1",
			Person: "p-ada"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		for range 2 {
			must(t, s.Enable(ctx, "p-ada", Event(6)))
		}
		equal(t, Person("p-ada"), got(s.Person(ctx, "p-ada"))(t))
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 2, len(events))
	},
	"of two who disable each other at the same time, one stays": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SavePerson(ctx, Person("p-eve")))
		var group sync.WaitGroup
		var done atomic.Int32
		for actor, other := range map[identity.PersonID]identity.PersonID{"p-ada": "p-eve", "p-eve": "p-ada"} {
			group.Go(func() {
				if err := s.Disable(ctx, other, "", audit.Event{At: later(1), Kind: audit.PersonDisabled,
					Actor: actor}); err == nil {
					done.Add(1)
				} else {
					fails(t, fault.Unauthenticated, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(1), done.Load())
	},
	"the provider stands for somebody since it told of them last, until it ends the last session that can ask": func(
		t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		told := func() time.Time { return got(s.Person(ctx, "p-ada"))(t).ConfirmedAt }
		must(t, s.SaveGroups(ctx, "p-ada", []string{"others"}, later(50)))
		equal(t, []string{"others"}, got(s.Person(ctx, "p-ada"))(t).Groups)
		must(t, s.SaveGroups(ctx, "p-ada", Person("p-ada").Groups, later(40)))
		equal(t, later(50), told())
		fails(t, fault.NotFound, s.SaveGroups(ctx, "p-eve", nil, later(50)))
		mute, second := session("s-2", ""), session("s-3", "")
		mute.RefreshToken = ""
		must(t, s.CreateSession(ctx, mute))
		must(t, s.CreateSession(ctx, second))
		must(t, s.CloseSession(ctx, "s-1", Event(1)))
		equal(t, later(50), told())
		must(t, s.CloseSession(ctx, "s-3", Event(2)))
		equal(t, time.Time{}, told())
		must(t, s.SavePerson(ctx, Person("p-ada")))
		equal(t, later(0), told())
		for i := range 2 {
			must(t, s.EndStanding(ctx, "p-ada", Event(3+i)))
		}
		equal(t, time.Time{}, told())
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 3, len(events))
	},
	"a session comes back as it was saved; the end of one reaches its children, codes and followers": func(t *testing.T,
		s *store.Store) {
		ctx := withAda(t, s)
		child := session("s-2", "s-1")
		child.ProviderSession = "sid"
		filled(t, child)
		must(t, s.CreateSession(ctx, child))
		must(t, s.CreateSession(ctx, session("s-3", "")))
		must(t, s.SaveCode(ctx, "hash", "s-1", "w-1", later(60)))
		equal(t, child, got(s.Session(ctx, "s-2"))(t))
		must(t, s.EndSession(ctx, "s-1"))
		must(t, s.EndSession(ctx, "s-1"))
		for _, id := range []string{"s-1", "s-2"} {
			_, err := s.Session(ctx, id)
			fails(t, fault.NotFound, err)
		}
		equal(t, session("s-3", ""), got(s.Session(ctx, "s-3"))(t))
		_, _, err := s.TakeCode(ctx, "hash", later(1))
		fails(t, fault.NotFound, err)
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, ID: "s-1", Person: "p-ada"},
			{Seq: 2, Topic: live.TopicSession, ID: "s-2",
				Person: "p-ada"}},
			got(s.ChangesAfter(ctx, 0, 10))(t))
		equal(t, "store.session_over", fails(t, fault.Unauthenticated,
			s.CreateSession(ctx, session("s-4", "s-1"))).Sentence.ID)
		fails(t, fault.Unauthenticated, s.SaveCode(ctx, "hash", "s-1", "w-1", later(60)))
	},
	"no child outlives its parent, however they race": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		var group sync.WaitGroup
		ids := []string{"c-1", "c-2", "c-3", "c-4", "c-5", "c-6", "c-7", "c-8"}
		for i, id := range ids {
			if i == 4 {
				group.Go(func() { must(t, s.EndSession(ctx, "s-1")) })
			}
			group.Go(func() { _ = s.CreateSession(ctx, session(id, "s-1")) })
		}
		group.Wait()
		for _, id := range ids {
			_, err := s.Session(ctx, id)
			fails(t, fault.NotFound, err)
		}
	},
	"all sessions of a person end, and nobody else's": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.CreateSession(ctx, session("s-2", "s-1")))
		must(t, s.SavePerson(ctx, Person("p-eve")))
		other := session("s-3", "")
		other.Person = "p-eve"
		must(t, s.CreateSession(ctx, other))
		for range 2 {
			must(t, s.EndSessionsOf(ctx, "p-ada", "", Event(1)))
		}
		for _, id := range []string{"s-1", "s-2"} {
			_, err := s.Session(ctx, id)
			fails(t, fault.NotFound, err)
		}
		equal(t, other, got(s.Session(ctx, "s-3"))(t))
		equal(t, 1, recorded(t, s))
	},
	"sign-ins are listed newest first, without the gateway's and what is over; all but one end": func(t *testing.T,
		s *store.Store) {
		ctx := withAda(t, s)
		newer := session("s-2", "")
		newer.CreatedAt = later(5)
		for _, n := range []identity.Session{newer, session("s-3", "s-1"), session("s-4", "s-2")} {
			must(t, s.CreateSession(ctx, n))
		}
		over := session("s-5", "")
		over.EndsAt = later(2)
		must(t, s.CreateSession(ctx, over))
		equal(t, []identity.Session{newer, session("s-1", "")}, got(s.SessionsOf(ctx, "p-ada", later(2)))(t))
		equal(t, 0, len(got(s.SessionsOf(ctx, "p-eve", later(2)))(t)))
		must(t, s.EndSessionsOf(ctx, "p-ada", "s-1", Event(1)))
		for id, lives := range map[string]bool{"s-1": true, "s-3": true, "s-2": false, "s-4": false, "s-5": false} {
			_, err := s.Session(ctx, id)
			equal(t, lives, err == nil)
		}
	},
	"one sign-in of a person ends with what hangs on it, and not by the name of another": func(t *testing.T,
		s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.CreateSession(ctx, session("s-2", "s-1")))
		fails(t, fault.NotFound, s.EndSessionOf(ctx, "p-eve", "s-1", Event(1)))
		fails(t, fault.NotFound, s.EndSessionOf(ctx, "p-ada", "s-2", Event(1)))
		must(t, s.EndSessionOf(ctx, "p-ada", "s-1", Event(1)))
		fails(t, fault.NotFound, s.EndSessionOf(ctx, "p-ada", "s-1", Event(2)))
		_, err := s.Session(ctx, "s-2")
		fails(t, fault.NotFound, err)
		equal(t, 1, recorded(t, s))
	},
	"all tokens of a person are revoked, with one event": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.CreateToken(ctx, token("t-1", 0), Event(0)))
		must(t, s.CreateToken(ctx, token("t-2", 0), Event(0)))
		for range 2 {
			must(t, s.RevokeTokensOf(ctx, "p-ada", Event(1)))
		}
		equal(t, 0, len(got(s.TokensOf(ctx, "p-ada"))(t)))
		equal(t, 3, recorded(t, s))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, Person: "p-ada"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
	},
	"a token that expires soon, by its end or by its age, is announced once": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		for id, c := range map[string]struct{ created, expires int }{"t-over": {0, 50}, "t-soon": {40, 150},
			"t-old": {10, 900}, "t-fresh": {60, 900}} {
			n := token(id, c.created)
			n.ExpiresAt = later(c.expires)
			must(t, s.CreateToken(ctx, n, Event(0)))
		}
		listed := func() (ids []string) {
			for _, n := range got(s.ExpiringTokens(ctx, later(100), later(200), later(20)))(t) {
				ids = append(ids, n.ID)
			}
			return ids
		}
		equal(t, []string{"t-old", "t-soon"}, listed())
		for range 2 {
			must(t, s.AnnounceToken(ctx, "t-soon", Event(1)))
		}
		equal(t, []string{"t-old"}, listed())
		equal(t, 5, recorded(t, s))
	},
	"of many who see the groups told at the same time, one asks for them again": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		claim := func(told, now, older int) bool {
			return got(s.ClaimRenewal(ctx, "s-1", later(told), later(now), later(older)))(t)
		}
		equal(t, false, claim(1, 31, 1)) // somebody has asked at 2
		equal(t, false, claim(0, 40, 10))
		var claimed atomic.Int32
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if claim(1, 40, 10) {
					claimed.Add(1)
				}
			})
		}
		group.Wait()
		equal(t, int32(1), claimed.Load())
		equal(t, later(40), got(s.Session(ctx, "s-1"))(t).AskedAt)
		equal(t, true, claim(1, 70, 40)) // the one before was never heard of again
		equal(t, false, got(s.ClaimRenewal(ctx, "s-9", later(1), later(80), later(80)))(t))
	},
	"a renewal is saved by who claimed it, with the person's groups; open pages hear of other groups only": func(
		t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		want := session("s-1", "")
		want.RefreshToken, want.IDToken, want.GroupsAt = "sealed again", "jwt again", later(50)
		lost := want
		lost.AskedAt = later(3)
		fails(t, fault.NotFound, s.SaveRenewal(ctx, lost, nil))
		equal(t, Person("p-ada"), got(s.Person(ctx, "p-ada"))(t))
		must(t, s.SaveRenewal(ctx, want, Person("p-ada").Groups))
		equal(t, later(50), got(s.Person(ctx, "p-ada"))(t).ConfirmedAt)
		equal(t, int64(0), got(s.LastChange(ctx))(t))
		fails(t, fault.NotFound, s.SaveRenewal(ctx, want, nil)) // the claim was used up
		want.AskedAt = time.Time{}
		equal(t, want, got(s.Session(ctx, "s-1"))(t))
		equal(t, true, got(s.ClaimRenewal(ctx, "s-1", later(50), later(60), later(0)))(t))
		want.AskedAt = later(60)
		must(t, s.SaveRenewal(ctx, want, []string{"others"}))
		equal(t, []string{"others"}, got(s.Person(ctx, "p-ada"))(t).Groups)
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, Person: "p-ada"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		must(t, s.EndSession(ctx, "s-1"))
		fails(t, fault.NotFound, s.SaveRenewal(ctx, want, nil))
	},
	"a session that is closed tells why, once": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.CreateSession(ctx, session("s-2", "s-1")))
		must(t, s.CloseSession(ctx, "s-1", Event(1)))
		must(t, s.CloseSession(ctx, "s-1", Event(2)))
		for _, id := range []string{"s-1", "s-2"} {
			_, err := s.Session(ctx, id)
			fails(t, fault.NotFound, err)
		}
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 1, len(events))
		equal(t, int64(3), got(s.LastChange(ctx))(t))
	},
	"of an owner of tokens something stays to ask the provider with, and opens nothing": func(t *testing.T,
		s *store.Store) {
		ctx := withAda(t, s)
		_, err := s.AskingSession(ctx, "p-bob")
		fails(t, fault.NotFound, err)
		must(t, s.SavePerson(ctx, Person("p-bob")))
		for _, person := range []identity.PersonID{"p-ada", "p-bob"} {
			n := session("s-"+string(person), "")
			n.Person, n.RefreshToken, n.GroupsAt, n.SecretHash = person, "sealed", later(10), "hash"
			must(t, s.CreateSession(ctx, n))
		}
		child := session("s-child", "s-p-ada")
		must(t, s.CreateSession(ctx, child))
		must(t, s.CreateToken(ctx, identity.Token{ID: "t-1", Person: "p-ada", SecretHash: "x", CreatedAt: later(0),
			ExpiresAt: later(10_000)}, Event(1)))
		must(t, s.EndSession(ctx, "s-1"))
		for _, id := range []string{"s-p-ada", "s-p-bob"} {
			must(t, s.EndSession(ctx, id))
			must(t, s.EndSession(ctx, id))
		}
		kept := got(s.AskingSession(ctx, "p-ada"))(t)
		equal(t, "s-p-ada", kept.ID)
		equal(t, "sealed", kept.RefreshToken)
		equal(t, "", kept.SecretHash+kept.FormerHash+kept.IDToken)
		equal(t, false, time.Now().Before(kept.EndsAt))
		_, err = s.Session(ctx, "s-child")
		fails(t, fault.NotFound, err)
		_, err = s.AskingSession(ctx, "p-bob")
		fails(t, fault.NotFound, err)
		must(t, s.PurgeOld(ctx, time.Now().Add(time.Hour)))
		equal(t, "s-p-ada", got(s.AskingSession(ctx, "p-ada"))(t).ID)
		must(t, s.CloseSession(ctx, "s-p-ada", Event(2)))
		equal(t, true, got(s.Person(ctx, "p-ada"))(t).ConfirmedAt.IsZero())
	},
	"the provider ends one of its sessions, or all of a person's, once for each logout token": func(t *testing.T,
		s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SavePerson(ctx, Person("p-bob")))
		with := func(id, person, provider, parent string) {
			n := session(id, parent)
			n.Person, n.ProviderSession = identity.PersonID(person), provider
			must(t, s.CreateSession(ctx, n))
		}
		with("s-a1", "p-ada", "one", "")
		with("s-a2", "p-ada", "two", "")
		with("s-a1-child", "p-ada", "", "s-a1")
		with("s-b1", "p-bob", "one", "") // another person's session of the same name
		with("s-b2", "p-bob", "three", "")
		left := func() (ids []string) {
			for _, id := range []string{"s-1", "s-a1", "s-a2", "s-a1-child", "s-b1", "s-b2"} {
				if _, err := s.Session(ctx, id); err == nil {
					ids = append(ids, id)
				}
			}
			return ids
		}
		end := func(want int, l identity.ProviderLogout) {
			t.Helper()
			l.Until = later(100)
			equal(t, want, got(s.EndSessionsAt(ctx, l, func(p identity.Person) audit.Event {
				e := Event(1)
				e.Actor = p.ID
				return e
			}))(t))
		}
		equal(t, "one", got(s.Session(ctx, "s-a1"))(t).ProviderSession)
		// of s-1 the provider's session is not known: it may be the one
		end(2, identity.ProviderLogout{ID: "j-1", Person: "p-ada", Session: "one"})
		equal(t, []string{"s-a2", "s-b1", "s-b2"}, left())
		_, err := s.EndSessionsAt(ctx, identity.ProviderLogout{ID: "j-1", Person: "p-bob", Until: later(100)}, nil)
		fails(t, fault.Conflict, err)
		end(1, identity.ProviderLogout{ID: "j-2", Session: "one"})
		equal(t, []string{"s-a2", "s-b2"}, left())
		end(0, identity.ProviderLogout{ID: "j-3", Session: "one"})
		end(1, identity.ProviderLogout{ID: "j-4", Person: "p-ada"})
		equal(t, []string{"s-b2"}, left())
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 4, len(events))
		must(t, s.PurgeOld(ctx, later(101)))
		end(1, identity.ProviderLogout{ID: "j-1", Person: "p-bob"}) // expired long ago: nobody can bring it any more
	},
	"who is shut out by the provider has no sessions, and is let in by it again": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.RefusePerson(ctx, "p-ada", Event(1)))
		must(t, s.RefusePerson(ctx, "p-ada", Event(2)))
		equal(t, true, got(s.Person(ctx, "p-ada"))(t).Disabled)
		_, err := s.Session(ctx, "s-1")
		fails(t, fault.NotFound, err)
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 1, len(events))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, Person: "p-ada"}, {Seq: 2, Topic: live.TopicSession,
			ID:     "s-1",
			Person: "p-ada"}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		must(t, s.SavePerson(ctx, Person("p-ada")))
		equal(t, false, got(s.Person(ctx, "p-ada"))(t).Disabled)
		must(t, s.Disable(ctx, "p-ada", "", audit.Event{At: later(3), Kind: audit.PersonDisabled}))
		must(t, s.RefusePerson(ctx, "p-ada", Event(3)))
		must(t, s.SavePerson(ctx, Person("p-ada")))
		equal(t, true, got(s.Person(ctx, "p-ada"))(t).Disabled)
	},
	"the use of sessions and tokens is noted once a minute": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		fresh := token("t-2", 0)
		fresh.LastUsedAt = time.Time{}
		must(t, s.CreateToken(ctx, token("t-1", 0), Event(0)))
		must(t, s.CreateToken(ctx, fresh, Event(0)))
		for _, c := range []struct{ at, session, token int }{{30, 1, 2}, {61, 61, 2}, {62, 61, 62}, {10, 61, 62},
			{121, 121, 62}} {
			must(t, s.TouchSession(ctx, "s-1", later(c.at)))
			must(t, s.TouchToken(ctx, "t-1", later(c.at)))
			must(t, s.TouchToken(ctx, "t-2", later(c.at)))
			equal(t, later(c.session), got(s.Session(ctx, "s-1"))(t).SeenAt)
			equal(t, later(c.token), got(s.Token(ctx, "t-1"))(t).LastUsedAt)
		}
		equal(t, false, got(s.Token(ctx, "t-2"))(t).LastUsedAt.IsZero())
		must(t, s.TouchSession(ctx, "s-9", later(0)))
		equal(t, int64(0), got(s.LastChange(ctx))(t))
	},
	"a token is made, listed newest first, and revoked by its owner only": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		made, gone := audit.Event{At: later(0), Kind: audit.TokenCreated}, audit.Event{At: later(1), Kind: audit.TokenRevoked}
		filled(t, token("t-1", 0))
		must(t, s.CreateToken(ctx, token("t-1", 0), made))
		must(t, s.CreateToken(ctx, token("t-2", 5), made))
		equal(t, token("t-1", 0), got(s.Token(ctx, "t-1"))(t))
		equal(t, []identity.Token{token("t-2", 5), token("t-1", 0)}, got(s.TokensOf(ctx, "p-ada"))(t))
		equal(t, 0, len(got(s.TokensOf(ctx, "p-eve"))(t)))
		fails(t, fault.NotFound, s.RevokeToken(ctx, "p-eve", "t-1", gone))
		must(t, s.RevokeToken(ctx, "p-ada", "t-1", gone))
		fails(t, fault.NotFound, s.RevokeToken(ctx, "p-ada", "t-1", gone))
		_, err := s.Token(ctx, "t-1")
		fails(t, fault.NotFound, err)
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 3, len(events))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicSession, ID: "t-1", Person: "p-ada"}},
			got(s.ChangesAfter(ctx, 0, 10))(t))
	},
	"nobody unknown has a session or a token": func(t *testing.T, s *store.Store) {
		fails(t, fault.Unauthenticated, s.CreateSession(context.Background(), session("s-1", "")))
		fails(t, fault.Conflict, s.CreateToken(context.Background(), token("t-1", 0), Event(0)))
		events, _, err := s.Events(context.Background(), audit.Filter{})
		must(t, err)
		equal(t, 0, len(events))
	},
	"a code is good once, though many take it": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SaveCode(ctx, "hash", "s-1", "w-1", later(60)))
		fails(t, fault.Conflict, s.SaveCode(ctx, "hash", "s-1", "w-2", later(60)))
		var taken atomic.Int32
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				of, id, err := s.TakeCode(ctx, "hash", later(59))
				if err == nil && of == "s-1" && id == "w-1" {
					taken.Add(1)
				} else {
					fails(t, fault.NotFound, err)
				}
			})
		}
		group.Wait()
		equal(t, int32(1), taken.Load())
	},
	"a code is no good at its end, nor afterwards": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SaveCode(ctx, "hash", "s-1", "w-1", later(60)))
		for _, at := range []int{60, 1} {
			_, _, err := s.TakeCode(ctx, "hash", later(at))
			fails(t, fault.NotFound, err)
		}
	},
	"what has ended is purged": func(t *testing.T, s *store.Store) {
		ctx := withAda(t, s)
		must(t, s.SaveCode(ctx, "hash", "s-1", "w-1", later(60)))
		must(t, s.SavePerson(ctx, Person("p-bob")))
		others := token("t-1", 0)
		others.Person = "p-bob"
		must(t, s.CreateToken(ctx, others, Event(0)))
		must(t, s.PurgeOld(ctx, later(61)))
		_, _, err := s.TakeCode(ctx, "hash", later(1))
		fails(t, fault.NotFound, err)
		_ = got(s.Session(ctx, "s-1"))(t)
		must(t, s.PurgeOld(ctx, later(3601)))
		_, err = s.Session(ctx, "s-1")
		fails(t, fault.NotFound, err)
		_ = got(s.Token(ctx, "t-1"))(t) // people still see that it has expired
		must(t, s.PurgeOld(ctx, later(3601).Add(30*24*time.Hour)))
		_, err = s.Token(ctx, "t-1")
		fails(t, fault.NotFound, err)
		_ = got(s.Person(ctx, "p-ada"))(t)
	},
}
