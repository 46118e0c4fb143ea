package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

const undoPeriod = 10 * time.Second

// undoWorld is services over one store whose clocks the test sets: each set is a process of its own.
type undoWorld struct {
	t        *testing.T
	s        *store.Store
	ada, eve identity.Actor
	quota    int
	ids      *atomic.Int64
}

func undoable(t *testing.T, s *store.Store, quota int) undoWorld {
	_, ada, eve := Asking(s, quota)
	return undoWorld{t: t, s: s, ada: ada, eve: eve, quota: quota, ids: &atomic.Int64{}}
}

// at are the services of a process by whose clock it is so late.
func (w undoWorld) at(after time.Duration) request.Services {
	o, _ := Options(w.s, w.quota)
	site := o.Site()
	site.Undo = undoPeriod
	site.Policy, _ = policy.Compile([]policy.Rule{{Name: "ask", When: "true", Outcome: policy.Approve}})
	o.Site, o.Now = func() request.Site { return site }, func() time.Time { return noon.Add(after).UTC() }
	o.NewID = func(prefix string) string { n := w.ids.Add(1); return fmt.Sprintf("%s%04d%08d", prefix, n%10_000, n) }
	return request.New(o)
}

// asked is a request that waits for eve.
func (w undoWorld) asked(name string) request.Request {
	w.t.Helper()
	d := Draft(name)
	d.Reason = "because"
	return got(w.at(0).Requests.Submit(context.Background(), w.ada, d))(w.t)
}

func (w undoWorld) answer(after time.Duration, a identity.Actor, r request.Request,
	verb request.Verb) (request.Request, error) {
	return w.at(after).Approvals.Answer(context.Background(), a, r.ID, request.DecisionInput{Verb: verb, Seen: r.Version,
		Undoable: true})
}

func (w undoWorld) waiting() int {
	w.t.Helper()
	return got(w.at(0).Approvals.Waiting(context.Background(), w.eve))(w.t)
}

// kinds are what the record tells of a request, oldest first.
func (w undoWorld) kinds(id request.ID) string {
	w.t.Helper()
	events, _, err := w.s.Events(context.Background(), audit.Filter{Request: string(id)})
	must(w.t, err)
	var kinds []string
	for _, e := range slices.Backward(events) {
		_, kind, _ := strings.Cut(string(e.Kind), ".")
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, " ")
}

// holds counts what the team holds: workloads that count against its quota.
func (w undoWorld) holds() (n int) {
	w.t.Helper()
	must(w.t, decide(w.s, func(tx request.Tx) error {
		held, err := tx.Holdings(context.Background(), "vision")
		for _, h := range held {
			n += h.Count
		}
		return err
	}))
	return n
}

var undoCases = cases{
	"a deferred approval takes nothing, is in no inbox, and comes back when it is undone; later it counts once": func(
		t *testing.T, s *store.Store) {
		w, ctx := undoable(t, s, 1), context.Background()
		r := w.asked("undone")
		held := got(w.answer(0, w.eve, r, request.ApproveVerb))(t)
		equal(t, request.Pending, held.State)
		equal(t, later(10), held.Decision.Deferred.Until)
		equal(t, held.Decision.Deferred, got(s.Request(ctx, r.ID))(t).Decision.Deferred)
		equal(t, 0, w.holds())
		equal(t, 0, w.waiting())
		mine := got(w.at(time.Second).Approvals.Undoable(ctx, w.eve))(t)
		equal(t, 1, len(mine))
		equal(t, 0, len(got(w.at(undoPeriod).Approvals.Undoable(ctx, w.eve))(t)))
		must(t, w.at(undoPeriod-time.Microsecond).Approvals.ApplyDue(ctx))
		equal(t, "submitted deferred", w.kinds(r.ID))

		back := got(w.at(undoPeriod-time.Microsecond).Approvals.Undo(ctx, w.eve, r.ID))(t)
		equal(t, 1, w.waiting())
		got(w.at(time.Second).Approvals.Undo(ctx, w.eve, r.ID))(t) // the same form may come in twice
		must(t, w.at(undoPeriod).Approvals.ApplyDue(ctx))
		equal(t, "submitted deferred undone", w.kinds(r.ID))
		equal(t, 0, w.holds())

		got(w.answer(time.Minute, w.eve, back, request.ApproveVerb))(t)
		later := w.at(time.Minute + undoPeriod) // another process: the one that was asked has died
		must(t, later.Approvals.ApplyDue(ctx))
		must(t, later.Approvals.ApplyDue(ctx))
		equal(t, request.Approved, got(s.Request(ctx, r.ID))(t).State)
		equal(t, 1, w.holds())
		equal(t, "submitted deferred undone deferred approved created", w.kinds(r.ID))
		fails(t, fault.Conflict, one(later.Approvals.Undo(ctx, w.eve, r.ID)))
	},
	"a deferred rejection can be undone, and a withdrawal takes it with it": func(t *testing.T, s *store.Store) {
		w, ctx := undoable(t, s, 1), context.Background()
		r := w.asked("rejected")
		got(w.answer(0, w.eve, r, request.RejectVerb))(t)
		back := got(w.at(0).Approvals.Undo(ctx, w.eve, r.ID))(t)
		got(w.answer(0, w.eve, back, request.RejectVerb))(t)
		got(w.at(0).Requests.Withdraw(ctx, w.ada, r.ID))(t)
		must(t, w.at(undoPeriod).Approvals.ApplyDue(ctx))
		equal(t, request.Withdrawn, got(s.Request(ctx, r.ID))(t).State)
		equal(t, "submitted deferred undone deferred withdrawn", w.kinds(r.ID))
	},
	"an approval whose quota is gone when it takes effect waits for an answer again": func(t *testing.T, s *store.Store) {
		w, ctx := undoable(t, s, 1), context.Background()
		r, other := w.asked("late"), w.asked("first")
		got(w.answer(0, w.eve, r, request.ApproveVerb))(t)
		got(w.at(0).Approvals.Approve(ctx, w.eve, other, ""))(t) // at once: it is not undoable
		must(t, w.at(undoPeriod).Approvals.ApplyDue(ctx))
		now := got(s.Request(ctx, r.ID))(t)
		equal(t, request.Pending, now.State)
		equal(t, "request.quota_full", now.Decision.Returned.Why.ID)
		equal(t, 1, w.waiting())
		equal(t, 1, w.holds())
		equal(t, "submitted deferred returned", w.kinds(r.ID))
	},
	"what cannot be granted now is refused now, not when the time to undo is over": func(t *testing.T, s *store.Store) {
		w := undoable(t, s, 1)
		first, second := w.asked("first"), w.asked("second")
		got(w.at(0).Approvals.Approve(context.Background(), w.eve, first, ""))(t)
		fails(t, fault.Conflict, one(w.answer(0, w.eve, second, request.ApproveVerb)))
		equal(t, "submitted", w.kinds(second.ID))
	},
	"an undo that races the effect, two undos and two controllers, when the time is over: one of them wins": func(
		t *testing.T, s *store.Store) {
		const rounds = 60
		w, ctx := undoable(t, s, rounds), context.Background()
		wins := map[string]int{}
		for i := range rounds {
			r := w.asked(fmt.Sprintf("edge-%d", i))
			got(w.answer(0, w.eve, r, request.ApproveVerb))(t)
			before := w.holds()
			var all sync.WaitGroup
			var undone atomic.Int32
			for range 2 { // the clock of this process is the last microsecond behind that of the controllers
				all.Go(func() {
					if _, err := w.at(undoPeriod-time.Microsecond).Approvals.Undo(ctx, w.eve, r.ID); err == nil {
						undone.Add(1)
					} else if !fault.Is(err, fault.Conflict) {
						t.Errorf("undo: %v", err)
					}
				})
				all.Go(func() { must(t, w.at(undoPeriod).Approvals.ApplyDue(ctx)) })
			}
			all.Wait()
			now := got(s.Request(ctx, r.ID))(t)
			kinds := w.kinds(r.ID)
			wins[kinds]++
			switch kinds {
			case "submitted deferred undone":
				equal(t, request.Pending, now.State)
				equal(t, before, w.holds())
			case "submitted deferred approved created":
				equal(t, request.Approved, now.State)
				equal(t, before+1, w.holds())
				equal(t, int32(0), undone.Load())
			default:
				t.Fatalf("want it undone once or granted once, got %s", kinds)
			}
			if now.Decision.Deferred != nil {
				t.Fatal("an answer is left over")
			}
		}
		t.Log(wins)
	},
	"of two approvers who answer at once one does; the other one's answer is a conflict, also after an undo": func(
		t *testing.T, s *store.Store) {
		w, ctx := undoable(t, s, 10), context.Background()
		bob := w.eve
		bob.Person = Person("p-bob")
		for i := range 20 {
			r := w.asked(fmt.Sprintf("two-%d", i))
			var both sync.WaitGroup
			var given, conflicts atomic.Int32
			for _, a := range []identity.Actor{w.eve, bob} {
				both.Go(func() {
					switch _, err := w.answer(0, a, r, request.RejectVerb); {
					case err == nil:
						given.Add(1)
					case fault.Is(err, fault.Conflict):
						conflicts.Add(1)
					}
				})
			}
			both.Wait()
			equal(t, int32(1), given.Load())
			equal(t, int32(1), conflicts.Load())
			equal(t, "submitted deferred", w.kinds(r.ID))
			first, second := w.eve, bob
			if got(s.Request(ctx, r.ID))(t).Decision.Deferred.By == bob.Person.ID {
				first, second = bob, w.eve
			}
			fails(t, fault.Forbidden, one(w.at(0).Approvals.Undo(ctx, second, r.ID)))
			got(w.at(0).Approvals.Undo(ctx, first, r.ID))(t)
			fails(t, fault.Conflict, one(w.answer(0, second, r, request.ApproveVerb))) // of the version before
		}
	},
	"lists are sorted by time, price and lease, and lead on and back the same way": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i := range 7 {
			r := Request(fmt.Sprintf("r-%d", i))
			r.CreatedAt, r.Estimate.Minor = later(i), int64(i*5%7)
			r.Spec.Lease = catalog.Duration(time.Duration(1+i*3%7) * time.Hour)
			saveRequest(t, s, r)
		}
		for sort, want := range map[request.Sort]string{"": "6 5 4 | 3 2 1 | 0", request.Newest: "6 5 4 | 3 2 1 | 0",
			request.Oldest: "0 1 2 | 3 4 5 | 6", request.Dearest: "4 1 5 | 2 6 3 | 0",
			request.Cheapest: "0 3 6 | 2 5 1 | 4", request.Longest: "2 4 6 | 1 3 5 | 0",
			request.Shortest: "0 5 3 | 1 6 4 | 2"} {
			var on, back []string
			cursor := ""
			for before := 0; ; before += 3 {
				p := got(s.RequestPage(ctx, request.Filter{Sort: sort, Cursor: cursor, Limit: 3}))(t)
				on = append(on, numbersOf(p.Items))
				equal(t, 7, p.Total)
				equal(t, before, p.Before)
				if cursor = p.Next; cursor == "" {
					cursor = p.Prev
					break
				}
			}
			equal(t, want, strings.Join(on, " | "))
			for cursor != "" {
				p := got(s.RequestPage(ctx, request.Filter{Sort: sort, Cursor: cursor, Limit: 3}))(t)
				back = append(back, numbersOf(p.Items))
				cursor = p.Prev
			}
			slices.Reverse(back)
			equal(t, strings.Join(on[:2], " | "), strings.Join(back, " | "))
		}
		p := got(s.RequestPage(ctx, request.Filter{Sort: request.Dearest, Limit: 3}))(t)
		for _, other := range []request.Sort{request.Newest, request.Oldest, request.Longest, request.Cheapest} {
			_, err := s.RequestPage(ctx, request.Filter{Sort: other, Cursor: p.Next, Limit: 3})
			equal(t, "cursor", fails(t, fault.Invalid, err).Fields[0].Name)
		}
	},
	"going back to what has become the first page gives it whole, and a page that has gone the first one": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i := range 4 {
			r := Request(fmt.Sprintf("r-%d", i))
			r.CreatedAt, r.State = later(i), request.Pending
			saveRequest(t, s, r)
		}
		pending := request.Filter{States: []request.State{request.Pending}, Limit: 3}
		pending.Cursor = got(s.RequestPage(ctx, pending))(t).Next
		last := got(s.RequestPage(ctx, pending))(t)
		equal(t, "0", numbersOf(last.Items))
		r := Request("r-4")
		r.CreatedAt = later(-1) // older than the last
		saveRequest(t, s, r)
		gone := got(s.Request(ctx, "r-3"))(t)
		gone.State = request.Withdrawn
		saveRequest(t, s, gone)
		back := pending
		back.Cursor = last.Prev
		equal(t, "2 1 0", numbersOf(got(s.RequestPage(ctx, back))(t).Items))
		for _, id := range []request.ID{"r-0", "r-4"} {
			gone := got(s.Request(ctx, id))(t)
			gone.State = request.Withdrawn
			saveRequest(t, s, gone)
		}
		first := got(s.RequestPage(ctx, pending))(t)
		equal(t, "2 1", numbersOf(first.Items))
		equal(t, "", first.Prev)
	},
	"a list is narrowed by who decided, and counted": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, c := range []struct {
			state request.State
			by    identity.PersonID
		}{{request.Pending, ""}, {request.Approved, ""}, {request.Approved, "p-eve"}, {request.Rejected, "p-eve"},
			{request.Withdrawn, ""}} {
			r := Request(fmt.Sprintf("r-%d", i))
			r.State, r.Decision.By, r.CreatedAt = c.state, c.by, later(i)
			saveRequest(t, s, r)
		}
		for d, want := range map[request.Decider]string{"": "4 3 2 1 0", request.DeciderRule: "1",
			request.DeciderPerson: "3 2", request.NotRule: "4 3 2 0"} {
			f := request.Filter{Decider: d}
			items, _, err := s.Requests(ctx, f)
			must(t, err)
			equal(t, want, numbersOf(items))
			equal(t, len(items), got(s.CountRequests(ctx, f))(t))
		}
		equal(t, 0, got(s.CountRequests(ctx, request.Filter{Tenants: []string{}}))(t))
	},
}

// numbersOf are the last characters of the ids.
func numbersOf(items []request.Request) string {
	return idsOf(items, func(r request.Request) string { return strings.TrimPrefix(string(r.ID), "r-") })
}
