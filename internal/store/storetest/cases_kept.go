package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// requestReads are the reads of requests that a store answers from what it kept, and a transaction that writes from the
// database.
type requestReads interface {
	RequestPage(ctx context.Context, f request.Filter) (request.Page, error)
	CountRequests(ctx context.Context, f request.Filter) (int, error)
	Waiting(ctx context.Context, in request.Inbox) (int, error)
	SeatLine(ctx context.Context) ([]request.Waiting, error)
	Holdings(ctx context.Context, tenant string) ([]workload.Holding, error)
}

// mixed are requests that differ in all that a list is narrowed or sorted by; two in three wait.
func mixed(n int) []request.Request {
	list := make([]request.Request, n)
	for i := range list {
		r := Request(fmt.Sprintf("r-%02d", i))
		r.Asker, r.CreatedAt = identity.PersonID([]string{"p-ada", "p-bob", "p-cem"}[i%3]), later(i/2)
		r.Spec.Tenant, r.Spec.Size.Name = []string{"vision", "speech"}[i%2], []string{"mig-10gb", "h100"}[i/2%2]
		r.Spec.Lease, r.Estimate.Minor = catalog.Duration(time.Duration(i%4)*time.Hour), int64(100*(i%5))
		r.Workload = workload.ID(fmt.Sprint("w-", i%4))
		r.Decision.Consents = nil
		step := policy.Step{From: []identity.Approvers{{Role: identity.Owner}, {Group: "staff"}}, All: true,
			After: catalog.Duration(10 * time.Second), Then: []identity.Approvers{{Role: identity.Admin}}}
		switch r.Decision.Steps, r.Decision.Since = []policy.Step{step}, later(i/2); i % 6 {
		case 0:
			r.Decision.By, r.Decision.ByName = "", ""
		case 1:
			r.Decision.Seat = &request.SeatWait{Pool: "rtx", Title: "RTX", Since: later(100 - i)}
		case 2:
			r.Decision.Deferred = &request.Deferred{By: "p-eve", Until: later(i)}
		case 3:
			r.Decision.Consents = []policy.Consent{{By: "p-eve", At: later(i), Approvers: step.From[:1]}}
		default:
			r.State = request.Approved
		}
		list[i] = r
	}
	return list
}

// filters narrow mixed in every way.
func filters() []request.Filter {
	pending := []request.State{request.Pending}
	eve := request.ApproverID{Person: "p-eve", Keys: []string{identity.RolePrincipal(identity.Owner, "vision"),
		"group:staff"}}
	bob := request.ApproverID{Person: "p-bob", Keys: []string{"group:staff", "role:admin"},
		Granted: map[string][]identity.PersonID{"group:staff": {"p-ada"}}}
	list := []request.Filter{{States: pending}, {Seat: true}, {States: pending, Asker: "p-ada"},
		{States: pending, About: "w-1"}, {States: pending, Size: "h100"}, {States: pending, Tenants: []string{"speech"}},
		{States: pending, Tenants: []string{}}, {States: pending, Since: later(4)}, {States: pending, DeferredBy: "p-eve"},
		{States: pending, DeferredBy: "p-bob"}, {States: pending, DueAt: later(9)}, {States: pending, Text: []string{"h100"}},
		{States: pending, Decider: request.NotRule}, {States: pending, Decider: request.DeciderPerson},
		{States: pending, Holding: true}, {Seat: true, States: []request.State{request.Approved}}, {},
		{States: []request.State{request.Pending, request.Approved}}, {Inbox: &request.Inbox{Self: "p-eve"}}}
	for _, now := range []int{-1, 5, 12, 60} {
		for _, who := range [][]request.ApproverID{{eve}, {bob}, {bob, eve}} {
			list = append(list, request.Filter{Inbox: &request.Inbox{Self: who[0].Person, Approvers: who, Now: later(now)}})
		}
	}
	return list
}

// told is all that reads say of filters, in every order, page by page and back.
func told(t *testing.T, in requestReads) string {
	t.Helper()
	ctx, b := context.Background(), &strings.Builder{}
	for i, f := range filters() {
		fmt.Fprint(b, "filter ", i, " counts ", got(in.CountRequests(ctx, f))(t))
		if f.Inbox != nil {
			fmt.Fprint(b, " waiting ", got(in.Waiting(ctx, *f.Inbox))(t))
		}
		fmt.Fprintln(b)
		for _, f.Sort = range request.Sorts() {
			f.Limit = 3
			p := got(in.RequestPage(ctx, f))(t)
			tellPage(b, f, p)
			for f.Cursor = p.Next; f.Cursor != ""; f.Cursor = p.Next {
				p = got(in.RequestPage(ctx, f))(t)
				tellPage(b, f, p)
			}
			for f.Cursor = p.Prev; f.Cursor != ""; f.Cursor = p.Prev {
				p = got(in.RequestPage(ctx, f))(t)
				tellPage(b, f, p)
			}
		}
	}
	fmt.Fprintln(b, got(in.SeatLine(ctx))(t))
	for _, tenant := range []string{"vision", "speech", "none"} {
		held := got(in.Holdings(ctx, tenant))(t)
		slices.SortFunc(held, func(a, b workload.Holding) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		fmt.Fprintln(b, tenant, held)
	}
	return b.String()
}

func tellPage(b *strings.Builder, f request.Filter, p request.Page) {
	fmt.Fprintf(b, "%s: %d of %d, next %q, before it %q\n", f.Sort, p.Before, p.Total, p.Next, p.Prev)
	for _, r := range p.Items {
		fmt.Fprintf(b, "  %s v%d %s %v\n", r.ID, r.Version, r.State, r.Decision.Note)
	}
}

// alike compares what a store tells with what the database says in a transaction that writes.
func alike(t *testing.T, s *store.Store) string {
	t.Helper()
	var stored string
	must(t, decide(s, func(tx request.Tx) error { stored = told(t, tx.(requestReads)); return nil }))
	kept := told(t, s)
	was, is := strings.Split(stored, "\n"), strings.Split(kept, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("line %d: the database says\n%s\nand what was kept\n%s\nafter\n%s", i, was[i], is[i],
				strings.Join(was[max(0, i-5):i], "\n"))
		}
	}
	equal(t, len(was), len(is))
	return kept
}

var keptCases = cases{
	"what was read before is what the database says, after each change too": func(t *testing.T, s *store.Store) {
		list := mixed(24)
		saveRequest(t, s, list...)
		sleeps, other := three("w-2"), three("w-3")
		sleeps.Replicas.Held, other.Tenant, other.Size.LicensePool = 0, "speech", ""
		saveWorkload(t, s, three("w-1"), sleeps, other)
		first := alike(t, s)
		counts := map[string]bool{}
		for _, part := range strings.Split(first, " waiting ")[1:] {
			counts[strings.Split(part, "\n")[0]] = true
		}
		if len(counts) < 4 {
			t.Error("the inboxes are too much alike to say anything:", counts)
		}
		decided, again := list[0], list[3]
		decided.Version, decided.State, decided.Decision.Note = 1, request.Approved, "changed"
		again.Version, again.Decision.Note, again.Spec.Tenant = 1, "changed", "speech"
		saveRequest(t, s, decided, again, Request("r-99"))
		gone := three("w-1")
		gone.Version, gone.State, gone.Desired = 1, workload.Ended, workload.WantDeleted
		ended := three("w-2")
		ended.Version, ended.State = 1, workload.Ended // and shall run, which is never so
		saveWorkload(t, s, gone, ended)
		second := alike(t, s)
		if second == first || !strings.Contains(second, "changed") {
			t.Error("the change is not told")
		}
		must(t, s.PurgeOld(context.Background(), time.Now().Add(1000*time.Hour)))
		more := Request("r-98")
		more.Decision.Note = "after the purge"
		saveRequest(t, s, more)
		if !strings.Contains(alike(t, s), "after the purge") {
			t.Error("what came after the purge is not told")
		}
	},
	"what no rule decided is all but what rules decided, on every page": func(t *testing.T, s *store.Store) {
		ctx, list := context.Background(), mixed(24)
		for i := range list {
			if i%4 > 0 {
				list[i].State, list[i].Decision.By = request.Approved, "" // as rules do
				list[i].Decision.Seat, list[i].Decision.Deferred = nil, nil
			}
		}
		saveRequest(t, s, list...)
		for _, sort := range request.Sorts() {
			var want, told []string
			all := got(s.RequestPage(ctx, request.Filter{Sort: sort}))(t)
			for _, r := range all.Items {
				if r.Decider() != request.DeciderRule {
					want = append(want, string(r.ID))
				}
			}
			f := request.Filter{Sort: sort, Decider: request.NotRule, Limit: 2}
			p := got(s.RequestPage(ctx, f))(t)
			for {
				told = append(told, eachID(p.Items, func(r request.Request) string { return string(r.ID) })...)
				if f.Cursor = p.Next; f.Cursor == "" {
					break
				}
				p = got(s.RequestPage(ctx, f))(t)
			}
			equal(t, want, told)
			equal(t, 6, p.Total)
			f.Cursor = p.Prev
			equal(t, want[2:4], eachID(got(s.RequestPage(ctx, f))(t).Items,
				func(r request.Request) string { return string(r.ID) }))
		}
	},
	"a change that is not committed is told to nobody": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveRequest(t, s, Request("r-1"))
		r := got(s.Request(ctx, "r-1"))(t)
		undone := fmt.Errorf("undone")
		err := decide(s, func(tx request.Tx) error {
			r.Decision.Note = "undone"
			must(t, keep(tx, r))
			equal(t, "undone", got(tx.Request(ctx, "r-1"))(t).Decision.Note)
			return undone
		})
		equal(t, true, err != nil)
		equal(t, "fine", got(s.Request(ctx, "r-1"))(t).Decision.Note)
		r.Decision.Note = "kept" // at the same version
		saveRequest(t, s, r)
		equal(t, "kept", got(s.Request(ctx, "r-1"))(t).Decision.Note)
		list, _, err := s.Requests(ctx, request.Filter{States: []request.State{request.Pending}})
		must(t, err)
		equal(t, "kept", list[0].Decision.Note)
	},
	"what a reader appends is seen by no other": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		waits, decided := Request("r-1"), Request("r-2")
		waits.Spec.Secrets = []workload.SecretUse{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		decided.Spec.Secrets, decided.State = waits.Spec.Secrets, request.Approved
		saveRequest(t, s, waits, decided)
		pending := request.Filter{States: []request.State{request.Pending}}
		for name, read := range map[string]func() request.Request{
			"by id":   func() request.Request { return got(s.Request(ctx, "r-2"))(t) },
			"waiting": func() request.Request { return got(s.RequestPage(ctx, pending))(t).Items[0] },
			"listed":  func() request.Request { return got(s.RequestPage(ctx, request.Filter{}))(t).Items[0] },
		} {
			one, other := read(), read()
			mine := append(one.Spec.Secrets, workload.SecretUse{Name: "mine"})
			yours := append(other.Spec.Secrets, workload.SecretUse{Name: "yours"})
			steps := append(one.Decision.Steps[0].From, identity.Approvers{Group: "mine"})
			_ = append(other.Decision.Steps[0].From, identity.Approvers{Group: "yours"})
			if mine[3].Name != "mine" || yours[3].Name != "yours" || steps[2].Group != "mine" {
				t.Errorf("%s: one reader writes into what another has read: %v, %v, %v", name, mine, yours, steps)
			}
			equal(t, 3, len(read().Spec.Secrets))
		}
	},
}
