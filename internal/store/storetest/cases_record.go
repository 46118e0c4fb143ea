package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var auditCases = cases{
	"events come back as they were written, newest first, numbered without gaps": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first, second, third := Event(5), Event(3), Event(4) // clocks can go back: the number counts
		filled(t, first, "Seq")
		must(t, s.Append(ctx, first, second))
		fails(t, fault.Invalid, s.Append(ctx, audit.Event{ActorName: "\x00"}))
		must(t, s.SaveObserved(ctx, Workload("w-1"), []audit.Event{third}, nil))
		first.Seq, second.Seq, third.Seq = 1, 2, 3
		equal(t, []audit.Event{third, second, first}, got(s.History(ctx, "w-1", 10))(t))
		equal(t, []audit.Event{third, second}, got(s.History(ctx, "w-1", 2))(t))
		equal(t, 0, len(got(s.History(ctx, "w-2", 10))(t)))
	},
	"each event is linked to the one before, and the stored record proves it": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i := range 30 {
			must(t, s.Append(ctx, Event(i), Event(i+1)))
		}
		var c audit.Chain
		for after := int64(0); ; {
			records := got(s.Records(ctx, after, 7))(t)
			for _, r := range records {
				must(t, c.Add(r))
				after = r.Seq
			}
			if len(records) < 7 {
				break
			}
		}
		equal(t, audit.Chain{Count: 60, First: 1, Last: 60, Head: c.Head}, c)
		if len(c.Head) != 64 {
			t.Errorf("the head is %q", c.Head)
		}
	},
	"events written at once by many stay one chain": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var group sync.WaitGroup
		for i := range 40 {
			group.Go(func() { must(t, s.Append(ctx, Event(i))) })
		}
		group.Wait()
		var c audit.Chain
		for _, r := range got(s.Records(ctx, 0, 100))(t) {
			must(t, c.Add(r))
		}
		equal(t, int64(40), c.Count)
	},
	"an event that says less is read back as it was": func(t *testing.T, s *store.Store) {
		e := audit.Event{At: later(0), Kind: audit.SignedIn, ActorName: "Ada"}
		must(t, s.Append(context.Background(), e))
		e.Seq = 1
		events, _, err := s.Events(context.Background(), audit.Filter{})
		must(t, err)
		equal(t, []audit.Event{e}, events)
	},
	"the record is narrowed by a part of a name or address, by time, and by any of its words": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		ada, eve := Person("p-ada"), Person("p-eve")
		eve.Name, eve.Email = "Eve_Ärger 100%", "eve@example.org"
		must(t, s.SavePerson(ctx, ada))
		must(t, s.SavePerson(ctx, eve))
		for i := range 20 {
			e := Event(i)
			e.Workload, e.Changes = fmt.Sprint("w-", i), nil
			if i%4 == 0 {
				e.Actor, e.ActorName, e.Changes = "p-eve", eve.Name, []audit.Change{{Field: "quota.h100", Old: "1", New: "2"}}
			}
			must(t, s.Append(ctx, e))
		}
		for what, c := range map[string]struct {
			want int
			f    audit.Filter
		}{
			"by id": {15, audit.Filter{Person: "p-ada"}}, "by name": {15, audit.Filter{Person: "LOVELACE"}},
			"by address": {5, audit.Filter{Person: "eve@"}}, "both": {20, audit.Filter{Person: "example.org"}},
			"a sign that means something to the database": {0, audit.Filter{Person: "L_velace"}},
			"the sign itself": {5, audit.Filter{Person: "E_Är"}}, "nobody": {0, audit.Filter{Person: "mallory"}},
			"what no database holds": {0, audit.Filter{Person: "\x00"}}, "from": {5, audit.Filter{From: later(15)}},
			"until": {15, audit.Filter{Until: later(15)}}, "between": {3, audit.Filter{From: later(2), Until: later(5)}},
			"a change": {5, audit.Filter{Text: "QUOTA.h100"}}, "a workload": {1, audit.Filter{Text: "w-13"}},
			"a token": {20, audit.Filter{Text: "nightly"}}, "per cent": {5, audit.Filter{Text: "100%"}},
			"no word":         {0, audit.Filter{Text: "10%0"}},
			"no text":         {0, audit.Filter{Text: "\x00"}},
			"without a kind":  {0, audit.Filter{Without: []audit.Kind{audit.WorkloadStopped}}},
			"without another": {20, audit.Filter{Without: []audit.Kind{audit.WorkloadObserved}}},
			"together": {2, audit.Filter{Text: "quota", Person: "Eve", From: later(5), Until: later(16),
				Tenant: "vision"}},
		} {
			events, next, err := s.Events(ctx, c.f)
			must(t, err)
			if len(events) != c.want || next != "" {
				t.Errorf("%s: want %d events, got %d and %q", what, c.want, len(events), next)
			}
		}
	},
	"a search for somebody finds what others did in their place": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for _, id := range []string{"p-ada", "p-eve", "p-pat"} {
			must(t, s.SavePerson(ctx, Person(id)))
		}
		for i, e := range []audit.Event{
			{Kind: audit.RequestApproved, Actor: "p-eve", Behalf: "p-ada"}, {Kind: audit.ImpersonationBegun, Actor: "p-pat",
				Behalf: "p-ada"},
			{Kind: audit.RequestApproved, Actor: "p-eve"}, {Kind: audit.ImpersonationBegun, Actor: "p-pat", Behalf: "p-eve"},
			{Kind: audit.SignedIn, Actor: "p-ada"},
		} {
			e.At = later(i)
			must(t, s.Append(ctx, e))
		}
		seqs := func(who string) (list []int64) {
			events, _, err := s.Events(ctx, audit.Filter{Person: who})
			must(t, err)
			for _, e := range events {
				list = append(list, e.Seq)
			}
			return list
		}
		equal(t, []int64{5, 2}, seqs("p-ada"))
		must(t, s.CreateDelegation(ctx, delegation.Delegation{ID: "i-1", Person: "p-ada", Delegate: "p-eve", From: later(0),
			Until: later(60), CreatedAt: later(0)}, Event(9)))
		equal(t, []int64{6, 5, 2, 1}, seqs("p-ada"))
		equal(t, []int64{4, 3, 1}, seqs("p-eve"))
	},
	"an escalation is on record since a time": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		e, other := Event(10), Event(20)
		e.Kind = audit.RequestEscalated
		must(t, s.Append(ctx, e, other))
		for since, want := range map[int]bool{5: true, 10: true, 11: false} {
			equal(t, want, got(s.Escalated(ctx, "r-1", later(since)))(t))
		}
		equal(t, false, got(s.Escalated(ctx, "r-2", later(0)))(t))
	},
	"the history of nothing is empty": func(t *testing.T, s *store.Store) {
		must(t, s.Append(context.Background(), audit.Event{At: later(0), Kind: audit.SignedIn}))
		equal(t, 0, len(got(s.History(context.Background(), "", 10))(t)))
	},
	"appending nothing does nothing": func(t *testing.T, s *store.Store) { must(t, s.Append(context.Background())) },
	"the record is narrowed by kind, tenant, person, workload and request, and read in pages": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		for i := range 250 {
			e := Event(i)
			e.Kind, e.Tenant, e.Workload = audit.Kinds()[i%4], fmt.Sprint("t", i%2), fmt.Sprint("w-", i%10)
			must(t, s.Append(ctx, e))
		}
		for _, c := range []struct {
			want int
			f    audit.Filter
		}{{250, audit.Filter{}}, {125, audit.Filter{Tenant: "t1"}}, {62, audit.Filter{Kinds: audit.Kinds()[3:4]}},
			{25, audit.Filter{Workload: "w-3"}},
			{250, audit.Filter{Person: "p-ada", Request: "r-1"}}, {0, audit.Filter{Person: "p-eve"}},
			{0, audit.Filter{Request: "r-2"}}} {
			var seqs []int64
			for f := c.f; ; {
				f.Limit = 40
				items, next, err := s.Events(ctx, f)
				must(t, err)
				for _, e := range items {
					seqs = append(seqs, e.Seq)
				}
				if f.Cursor = next; next == "" {
					break
				}
			}
			equal(t, c.want, len(seqs))
			equal(t, true, slices.IsSortedFunc(seqs, func(a, b int64) int { return int(b - a) }))
		}
		_, _, err := s.Events(ctx, audit.Filter{Cursor: "nonsense"})
		fails(t, fault.Invalid, err)
	},
}

var outboxCases = cases{
	"each change has a row, one for a thing and transaction, and wakes after the commit": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		var woken atomic.Int32
		s.OnCommit(func() { woken.Add(1) })
		must(t, decide(s, func(tx request.Tx) error {
			w := Workload("w-1")
			must(t, tx.SaveWorkload(ctx, w))
			w.Version = 1
			must(t, tx.SaveWorkload(ctx, w))
			must(t, tx.SaveVolume(ctx, Volume("v-1")))
			must(t, keep(tx, Request("r-1")))
			equal(t, int32(0), woken.Load())
			return nil
		}))
		equal(t, int32(1), woken.Load())
		must(t, s.Append(ctx, Event(0)))
		equal(t, int32(1), woken.Load())
		equal(t, []live.Change{
			{Seq: 1, Topic: live.TopicWorkload, ID: "w-1", Tenant: "vision", Person: "p-ada"},
			{Seq: 2, Topic: live.TopicVolume, ID: "v-1", Tenant: "vision", Person: "p-ada"},
			{Seq: 3, Topic: live.TopicRequest, ID: "r-1", Tenant: "vision", Person: "p-ada"},
		}, got(s.ChangesAfter(ctx, 0, 10))(t))
		equal(t, 1, len(got(s.ChangesAfter(ctx, 0, 1))(t)))
		equal(t, int64(3), got(s.ChangesAfter(ctx, 2, 10))(t)[0].Seq)
		equal(t, 0, len(got(s.ChangesAfter(ctx, 3, 10))(t)))
		equal(t, int64(3), got(s.LastChange(ctx))(t))
	},
	"a reader that goes by numbers skips nothing, while many write and some fail": outboxNeverSkips,
	"old rows are purged, and numbers go on": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		must(t, s.PurgeOld(ctx, time.Now().Add(23*time.Hour)))
		equal(t, 1, len(got(s.ChangesAfter(ctx, 0, 10))(t)))
		must(t, s.PurgeOld(ctx, time.Now().Add(25*time.Hour)))
		equal(t, 0, len(got(s.ChangesAfter(ctx, 0, 10))(t)))
		equal(t, int64(1), got(s.LastChange(ctx))(t))
		saveWorkload(t, s, Workload("w-2"))
		equal(t, int64(2), got(s.ChangesAfter(ctx, 0, 10))(t)[0].Seq)
	},
}

func outboxNeverSkips(t *testing.T, s *store.Store) {
	const writers, each = 8, 25
	ctx := context.Background()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				item := Workload(fmt.Sprintf("w-%d-%d", w, i))
				if err := s.SaveObserved(ctx, item, []audit.Event{Event(i)}, nil); err != nil {
					t.Error(err)
				}
				if i%5 == 0 { // fails after its numbers were given out: they are given to the next one
					item.ID, item.Name = item.ID+"-bad", item.Name+"-bad"
					fails(t, fault.Invalid, s.SaveObserved(ctx, item, []audit.Event{{ActorName: "\x00"}}, nil))
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	seen := int64(0)
	for ended := false; ; {
		select {
		case <-done:
			ended = true
		default:
		}
		changes := got(s.ChangesAfter(ctx, seen, 10))(t)
		for _, c := range changes {
			if c.Seq != seen+1 {
				t.Fatalf("after %d came %d: what lies between would never be read", seen, c.Seq)
			}
			seen = c.Seq
		}
		if ended && len(changes) == 0 {
			break
		}
	}
	equal(t, int64(writers*each), seen)
	events, _, err := s.Events(ctx, audit.Filter{Limit: 1})
	must(t, err)
	equal(t, int64(writers*each), events[0].Seq)
}

func snapshotAt(at int, nodes ...string) inventory.Snapshot {
	snapshot := inventory.Snapshot{Cluster: "west", TakenAt: later(at), Nodes: []inventory.Node{}}
	for _, name := range nodes {
		snapshot.Nodes = append(snapshot.Nodes, inventory.Node{Name: name, Ready: true, Cordoned: true, Model: "NVIDIA-H100",
			Labels: map[string]string{"a": "b"},
			Taints: []inventory.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}}, CPU: inventory.Amount{Allocatable: 8000,
				Requested: 10},
			Memory:   inventory.Amount{Allocatable: 1 << 40, Requested: 1},
			Warnings: []i18n.Text{i18n.T("inventory.quarantined_node", "Node", name)},
			Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 8, Allocatable: 8,
				Holders: []inventory.Holder{{Namespace: "n", Pod: "p", Workload: "w", Count: 2}}}}})
	}
	return snapshot
}

var otherCases = cases{
	"the last snapshot of a cluster comes back; an older one changes nothing": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		_, ok := s.Snapshot(ctx, "west")
		equal(t, false, ok)
		for _, p := range []inventory.Snapshot{snapshotAt(1, "a"), snapshotAt(5, "a", "b"), snapshotAt(3, "old")} {
			must(t, s.SaveSnapshot(ctx, p))
			_, ok := s.Snapshot(ctx, "west")
			equal(t, true, ok)
		}
		back, _ := s.Snapshot(ctx, "west")
		equal(t, snapshotAt(5, "a", "b"), back)
		_, ok = s.Snapshot(ctx, "east")
		equal(t, false, ok)
		equal(t, 2, len(got(s.ChangesAfter(ctx, 0, 10))(t)))
		equal(t, live.Change{Seq: 1, Topic: live.TopicInventory, ID: "west"}, got(s.ChangesAfter(ctx, 0, 10))(t)[0])
	},
	"a snapshot that another portal saved is seen, also when it has the same age": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveSnapshot(ctx, snapshotAt(1, "a")))
		_, _ = s.Snapshot(ctx, "west")
		must(t, s.SaveSnapshot(ctx, snapshotAt(1, "b")))
		back, _ := s.Snapshot(ctx, "west")
		equal(t, "b", back.Nodes[0].Name)
	},
	"a setting is written once, and everyone gets the same": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		_, err := s.Setting(ctx, "key")
		fails(t, fault.NotFound, err)
		values := make([]string, 10)
		var group sync.WaitGroup
		for i := range values {
			group.Go(func() { values[i], _ = s.PutSetting(ctx, "key", fmt.Sprint("value ", i)) })
		}
		group.Wait()
		equal(t, 1, len(slices.Compact(values)))
		equal(t, values[0], got(s.Setting(ctx, "key"))(t))
	},
	"a month is told once, with all of its events or none, however many tell it at once": func(t *testing.T,
		s *store.Store) {
		ctx, march := context.Background(), usage.Month{Year: 2026, Month: time.March}
		equal(t, false, got(s.StatementMailSent(ctx, march))(t))
		bad := Event(1)
		bad.ActorName = "a\x00b"
		fails(t, fault.Invalid, s.SendStatementMail(ctx, march, Event(1), bad))
		equal(t, false, got(s.StatementMailSent(ctx, march))(t)) // it is tried again
		var group errgroup.Group
		for range 8 {
			group.Go(func() error { return s.SendStatementMail(ctx, march, Event(1), Event(2)) })
		}
		must(t, group.Wait())
		equal(t, true, got(s.StatementMailSent(ctx, march))(t))
		equal(t, false, got(s.StatementMailSent(ctx, march.Add(1)))(t))
		equal(t, 2, len(got(events(s))(t)))
		must(t, s.SendStatementMail(ctx, march.Add(1))) // nobody held anything
		equal(t, true, got(s.StatementMailSent(ctx, march.Add(1)))(t))
		equal(t, 2, len(got(events(s))(t)))
	},
	"the database answers, and says which schema it has": func(t *testing.T, s *store.Store) {
		must(t, s.Ping(context.Background()))
		have, want, err := s.SchemaVersion(context.Background())
		must(t, err)
		equal(t, want, have)
		must(t, s.Migrate(context.Background()))
	},
	"a caller that has gone is not kept waiting": func(t *testing.T, s *store.Store) {
		hold, free := make(chan struct{}), make(chan struct{})
		go func() { _ = decide(s, func(request.Tx) error { close(hold); <-free; return nil }) }()
		<-hold
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		fails(t, fault.Unavailable, s.DecideExclusively(ctx, func(request.Tx) error { return nil }))
		close(free)
		must(t, decide(s, func(request.Tx) error { return nil }))
	},
	"after Close nothing hangs": func(t *testing.T, s *store.Store) {
		must(t, s.Close())
		if err := s.Ping(context.Background()); err == nil {
			t.Error("want an error")
		}
		if err := s.Append(context.Background(), Event(0)); err == nil {
			t.Error("want an error")
		}
	},
}
