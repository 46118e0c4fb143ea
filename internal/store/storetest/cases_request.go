package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// refused is a start that a rule refused.
func refused(id string, at time.Time) request.Refused {
	r := Request(id)
	return request.Refused{ID: r.ID, Kind: r.Kind, Asker: r.Asker, AskerName: r.AskerName, Spec: r.Spec,
		Rule: r.Decision.Rule, Sentence: r.Decision.Sentence, Facts: *r.Decision.Facts, At: at}
}

var requestCases = cases{
	"a request comes back as it was saved, at version 1": func(t *testing.T, s *store.Store) {
		want := Request("r-1")
		filled(t, want, "Version")
		saveRequest(t, s, want)
		want.Version = 1
		equal(t, want, got(s.Request(context.Background(), "r-1"))(t))
	},
	"a request with nothing but what it must have comes back as it was saved": func(t *testing.T, s *store.Store) {
		want := request.Request{ID: "r-1", State: request.Pending, CreatedAt: later(0)}
		saveRequest(t, s, want)
		want.Version = 1
		equal(t, want, got(s.Request(context.Background(), "r-1"))(t))
	},
	"a change names every column, also those that became empty": func(t *testing.T, s *store.Store) {
		saveRequest(t, s, Request("r-1"))
		want := request.Request{ID: "r-1", Kind: request.ExtendKind, State: request.Approved, CreatedAt: later(0), Version: 1}
		saveRequest(t, s, want)
		want.Version = 2
		equal(t, want, got(s.Request(context.Background(), "r-1"))(t))
	},
	"a request that does not exist is not found, also by a name that cannot be": func(t *testing.T, s *store.Store) {
		for _, id := range []request.ID{"", "r-1", "r\x00", "\xff", "'; DROP TABLE requests; --"} {
			_, err := s.Request(context.Background(), id)
			equal(t, "request.not_found", fails(t, fault.NotFound, err).Sentence.ID)
		}
	},
	"an old version loses the race": func(t *testing.T, s *store.Store) {
		saveRequest(t, s, Request("r-1"))
		again := Request("r-1")
		again.Version = 1
		saveRequest(t, s, again)
		fails(t, fault.Conflict, decide(s, func(tx request.Tx) error { return keep(tx, again) }))
	},
	"a request that is there is not made again": func(t *testing.T, s *store.Store) {
		saveRequest(t, s, Request("r-1"))
		fails(t, fault.Conflict, decide(s, func(tx request.Tx) error {
			return keep(tx, Request("r-1"))
		}))
	},
	"an idempotency key belongs to one request of one person": func(t *testing.T, s *store.Store) {
		first, other, same := Request("r-1"), Request("r-2"), Request("r-3")
		other.Asker = "p-eve"
		first.Key, other.Key, same.Key = "k", "k", "k"
		saveRequest(t, s, first, other)
		equal(t, request.ID("r-1"), got(s.RequestByKey(context.Background(), "p-ada", "k"))(t).ID)
		equal(t, request.ID("r-2"), got(s.RequestByKey(context.Background(), "p-eve", "k"))(t).ID)
		fails(t, fault.Conflict, decide(s, func(tx request.Tx) error { return keep(tx, same) }))
		_, err := s.RequestByKey(context.Background(), "p-ada", "other")
		fails(t, fault.NotFound, err)
	},
	"requests without a key do not stand in each other's way, and no key finds them": func(t *testing.T, s *store.Store) {
		first, second := Request("r-1"), Request("r-2")
		first.Key, second.Key = "", ""
		saveRequest(t, s, first, second)
		_, err := s.RequestByKey(context.Background(), "p-ada", "")
		fails(t, fault.NotFound, err)
	},
	"what was refused is listed since a time and goes after a month": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, id := range []string{"r-1", "r-2", "r-3"} {
			must(t, s.SaveRefusal(ctx, refused(id, later(i)), Event(i)))
		}
		read := func(since time.Time, cursor string, limit int) string {
			list, next, err := s.Refusals(ctx, since, cursor, limit)
			must(t, err)
			names := ""
			for _, r := range list {
				names += string(r.ID) + " "
			}
			if next != "" {
				again, _, err := s.Refusals(ctx, since, next, limit)
				must(t, err)
				names += "then " + string(again[0].ID)
			}
			return names
		}
		equal(t, "r-3 r-2 r-1 ", read(later(0), "", 10))
		equal(t, "r-3 r-2 ", read(later(1), "", 10))
		equal(t, "r-3 then r-2", read(later(0), "", 1))
		list, _, err := s.Refusals(ctx, later(2), "", 10)
		must(t, err)
		want := refused("r-3", later(2))
		filled(t, want)
		equal(t, want, list[0])
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 3, len(events))
		requests, _, err := s.Requests(ctx, request.Filter{})
		must(t, err)
		equal(t, 0, len(requests))
		must(t, s.PurgeOld(ctx, later(2).Add(31*24*time.Hour)))
		equal(t, "r-3 ", read(later(0), "", 10))
	},
	"a list is narrowed by words in name, asker, team and size, and by the id": func(t *testing.T, s *store.Store) {
		for i, name := range []string{"Train_1", "trainX1", "serve"} {
			r := Request(fmt.Sprintf("r-%d", i))
			r.Spec.Name, r.AskerName, r.Spec.Tenant, r.CreatedAt = name, []string{"Ada A", "Eve", "Eve"}[i], "vision", later(i)
			saveRequest(t, s, r)
		}
		for want, words := range map[string][]string{"r-1 r-0": {"train"}, "r-0": {"train_1"}, "r-2": {"eve", "serv"},
			"": {"nobody"}, "r-2 r-1 r-0": {"visi"}, "r-1": {"r-1"}} {
			items, _, err := s.Requests(context.Background(), request.Filter{Text: words})
			must(t, err)
			var got []string
			for _, r := range items {
				got = append(got, string(r.ID))
			}
			equal(t, want, strings.Join(got, " "))
		}
		none, _, err := s.Requests(context.Background(), request.Filter{Text: []string{"a\x00", "%"}})
		must(t, err)
		equal(t, 0, len(none))
	},
	"a list is narrowed by asker, tenants and states": func(t *testing.T, s *store.Store) {
		for i, who := range []struct {
			asker  identity.PersonID
			tenant string
			state  request.State
		}{{"p-ada", "vision", request.Pending}, {"p-eve", "vision", request.Approved},
			{"p-ada", "speech", request.Rejected}} {
			r := Request(fmt.Sprintf("r-%d", i))
			r.Asker, r.Spec.Tenant, r.State, r.CreatedAt = who.asker, who.tenant, who.state, later(i)
			saveRequest(t, s, r)
		}
		for want, f := range map[string]request.Filter{
			"r-2 r-1 r-0": {}, "r-2 r-0": {Asker: "p-ada"}, "r-1 r-0": {Tenants: []string{"vision", "nobody"}},
			"":        {Tenants: []string{}},
			"r-2":     {Asker: "p-ada", Tenants: []string{"speech"}},
			"r-2 r-1": {States: []request.State{request.Approved, request.Rejected}},
		} {
			items, next, err := s.Requests(context.Background(), f)
			must(t, err)
			equal(t, want, idsOf(items, func(r request.Request) string { return string(r.ID) }))
			equal(t, "", next)
		}
	},
	"pages go on where the last one ended, whatever arrives meanwhile": func(t *testing.T, s *store.Store) {
		pages(t, func(i, second int) {
			r := Request(fmt.Sprintf("r-%03d", i))
			r.CreatedAt = later(second)
			saveRequest(t, s, r)
		}, func(cursor string) ([]string, string) {
			items, next, err := s.Requests(context.Background(), request.Filter{Cursor: cursor, Limit: 7})
			must(t, err)
			return eachID(items, func(r request.Request) string { return string(r.ID) }), next
		})
	},
	"a cursor that we did not give is refused": func(t *testing.T, s *store.Store) {
		saveWorkload(t, s, Workload("w-1"), Workload("w-2"))
		_, foreign, err := s.Workloads(context.Background(), workload.Filter{Limit: 1})
		must(t, err)
		for _, cursor := range []string{"x", "....", "ci4wLg==", "cg", "ci4h", foreign, "\x00", "ci4wLgA"} {
			_, _, err := s.Requests(context.Background(), request.Filter{Cursor: cursor})
			equal(t, "cursor", fails(t, fault.Invalid, err).Fields[0].Name)
		}
	},
	"a page holds at most 500, and 100 where nothing is said": func(t *testing.T, s *store.Store) {
		must(t, decide(s, func(tx request.Tx) error {
			for i := range 502 {
				if err := keep(tx, request.Request{ID: request.ID(fmt.Sprint(i)),
					State: request.Pending, CreatedAt: later(i)}); err != nil {
					return err
				}
			}
			return nil
		}))
		for limit, want := range map[int]int{0: 100, -5: 100, 3: 3, 500: 500, 1e9: 500} {
			items, next, err := s.Requests(context.Background(), request.Filter{Limit: limit})
			must(t, err)
			equal(t, want, len(items))
			equal(t, false, next == "")
		}
	},
	"a transaction that fails leaves nothing": func(t *testing.T, s *store.Store) {
		err := decide(s, func(tx request.Tx) error {
			must(t, keep(tx, Request("r-1")))
			must(t, tx.SaveWorkload(context.Background(), Workload("w-1")))
			must(t, tx.Append(context.Background(), Event(0)))
			return fault.New(fault.Forbidden, Event(0).Detail)
		})
		fails(t, fault.Forbidden, err)
		_, err = s.Request(context.Background(), "r-1")
		fails(t, fault.NotFound, err)
		equal(t, 0, len(got(s.History(context.Background(), "w-1", 10))(t)))
		equal(t, int64(0), got(s.LastChange(context.Background()))(t))
	},
	"an inbox holds what asks one of its approvers now, without what is one's own or was decided on, oldest first": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		owners, security := identity.Approvers{Role: identity.Owner}, identity.Approvers{Group: "größe's security_%"}
		both := []policy.Step{{From: []identity.Approvers{owners}, After: catalog.Duration(time.Hour),
			Then: []identity.Approvers{{Role: identity.Admin}}}, {From: []identity.Approvers{security}}}
		one, all := policy.OneOf(identity.Approver), []request.Request{}
		for i, c := range []struct {
			asker  identity.PersonID
			tenant string
			state  request.State
			steps  []policy.Step
			said   []policy.Consent
		}{
			{"p-ada", "vision", request.Pending, one, nil}, {"p-eve", "vision", request.Pending, one, nil},
			{"p-eve", "speech", request.Pending, one, nil}, {"p-eve", "speech", request.Approved, one, nil},
			{"p-ada", "vision", request.Pending, both, nil}, {"p-ada", "vision", request.Pending, both,
				[]policy.Consent{{Step: 0, By: "p-bob", For: "p-zoe", Approvers: []identity.Approvers{owners}}}},
		} {
			r := Request(fmt.Sprintf("r-%d", i))
			r.Asker, r.Spec.Tenant, r.State, r.CreatedAt = c.asker, c.tenant, c.state, later(i)
			r.Decision = request.Decision{Steps: c.steps, Consents: c.said, Since: later(i)}
			saveRequest(t, s, r)
			all = append(all, r)
		}
		of := func(id identity.PersonID, keys ...string) request.ApproverID {
			return request.ApproverID{Person: id, Keys: keys}
		}
		granted := func(id identity.PersonID, by ...identity.PersonID) request.ApproverID {
			v := of(id, "role:approver@vision", "role:approver@speech")
			v.Granted = map[string][]identity.PersonID{"role:approver@vision": by}
			return v
		}
		for name, c := range map[string]struct {
			self      identity.PersonID
			approvers []request.ApproverID
			after     int
			want      string
		}{
			"an approver of all":           {"p-bob", []request.ApproverID{of("p-bob", "role:approver")}, 9, "r-0 r-1 r-2"},
			"made an approver by an asker": {"p-bob", []request.ApproverID{granted("p-bob", "p-x", "p-ada")}, 9, "r-1 r-2"},
			"made one by both askers":      {"p-bob", []request.ApproverID{granted("p-bob", "p-ada", "p-eve")}, 9, "r-2"},
			"standing in for such a one": {"p-cat", []request.ApproverID{of("p-cat"), granted("p-bob", "p-ada")}, 9,
				"r-1 r-2"},
			"an administrator": {"p-bob", []request.ApproverID{of("p-bob", "role:admin")}, 9, "r-0 r-1 r-2"},
			"one's own":        {"p-ada", []request.ApproverID{of("p-ada", "role:approver")}, 9, "r-1 r-2"},
			"of one team": {"p-bob",
				[]request.ApproverID{of("p-bob", "role:approver@speech", "role:owner@speech")}, 9, "r-2"},
			"an owner": {"p-bob", []request.ApproverID{of("p-bob", "role:owner@vision")}, 9, "r-4"},
			"it escalates": {"p-bob", []request.ApproverID{of("p-bob", "role:admin")}, 3700,
				"r-0 r-1 r-2 r-4"},
			"the second step":         {"p-cat", []request.ApproverID{of("p-cat", "group:"+security.Group)}, 9, "r-5"},
			"who spoke in the first":  {"p-bob", []request.ApproverID{of("p-bob", "group:"+security.Group)}, 9, ""},
			"for whom somebody spoke": {"p-zoe", []request.ApproverID{of("p-zoe", "group:"+security.Group)}, 9, ""},
			"standing in": {"p-cat", []request.ApproverID{of("p-cat"), of("p-bob", "role:owner@vision")},
				9, "r-4"},
			"standing in for one who spoke": {"p-cat",
				[]request.ApproverID{of("p-cat"), of("p-bob", "group:"+security.Group)}, 9, ""},
			"standing in for the asker": {"p-cat", []request.ApproverID{of("p-cat"), of("p-ada", "role:approver")}, 9,
				"r-1 r-2"},
			"a key that no database can hold": {"p-cat", []request.ApproverID{of("p-cat", "group:a\x00b", "group:\xff")}, 9,
				""},
			"nobody":                            {"", nil, 9, ""},
			"no key, which is not an open door": {"p-cat", []request.ApproverID{of("p-cat")}, 9, ""},
		} {
			in := request.Inbox{Self: c.self, Approvers: c.approvers, Now: later(c.after)}
			items, _, err := s.Requests(ctx, request.Filter{Inbox: &in, Sort: request.Oldest})
			must(t, err)
			if held := idsOf(items, func(r request.Request) string { return string(r.ID) }); held != c.want {
				t.Errorf("%s: want %q, got %q", name, c.want, held)
			}
			equal(t, len(items), got(s.Waiting(ctx, in))(t))
			for _, r := range all {
				if in.Holds(r) != strings.Contains(c.want, string(r.ID)) {
					t.Errorf("%s: Holds says something else of %s", name, r.ID)
				}
			}
		}
	},
	"requests about a workload are found by it": func(t *testing.T, s *store.Store) {
		for id, about := range map[string]workload.ID{"r-0": "w-0", "r-1": "w-1", "r-2": "w-0"} {
			r := Request(id)
			r.Workload = about
			saveRequest(t, s, r)
		}
		items, _, err := s.Requests(context.Background(), request.Filter{About: "w-0",
			States: []request.State{request.Pending}, Sort: request.Oldest})
		must(t, err)
		equal(t, "r-0 r-2", idsOf(items, func(r request.Request) string { return string(r.ID) }))
	},
	"what somebody gave away is in the inbox of the others": func(t *testing.T, s *store.Store) {
		r := Request("r-0")
		r.Asker, r.State, r.Decision = "p-eve", request.Pending, request.Decision{Steps: policy.OneOf(identity.Approver),
			Reassigned: []request.Reassignment{{From: "p-bob", To: "p-cat", Reason: "on leave", At: later(1)}}}
		saveRequest(t, s, r)
		for who, want := range map[identity.PersonID]int{"p-bob": 0, "p-cat": 1, "p-dan": 1} {
			in := request.Inbox{Self: who, Approvers: []request.ApproverID{{Person: who, Keys: []string{"role:approver"}}},
				Now: later(9)}
			equal(t, want, got(s.Waiting(context.Background(), in))(t))
			equal(t, want == 1, in.Holds(r))
		}
		equal(t, r.Decision.Reassigned, got(s.Request(context.Background(), r.ID))(t).Decision.Reassigned)
	},
	"pages of the oldest go on where the last one ended": func(t *testing.T, s *store.Store) {
		for i := range 9 {
			r := Request(fmt.Sprintf("r-%d", i))
			r.CreatedAt = later(i / 4)
			saveRequest(t, s, r)
		}
		var seen []string
		for cursor := ""; ; {
			items, next, err := s.Requests(context.Background(), request.Filter{Sort: request.Oldest, Cursor: cursor, Limit: 4})
			must(t, err)
			seen = append(seen, eachID(items, func(r request.Request) string { return string(r.ID) })...)
			if cursor = next; next == "" {
				break
			}
		}
		equal(t, "r-0 r-1 r-2 r-3 r-4 r-5 r-6 r-7 r-8", strings.Join(seen, " "))
		_, newest, err := s.Requests(context.Background(), request.Filter{Limit: 1})
		must(t, err)
		_, _, err = s.Requests(context.Background(), request.Filter{Sort: request.Oldest, Cursor: newest})
		fails(t, fault.Invalid, err)
	},
	"what was granted to somebody is counted from a time on": func(t *testing.T, s *store.Store) {
		for i, c := range []struct {
			asker identity.PersonID
			state request.State
		}{{"p-ada", request.Approved}, {"p-ada", request.Approved}, {"p-ada", request.Rejected},
			{"p-eve", request.Approved}} {
			r := Request(fmt.Sprintf("r-%d", i))
			r.Asker, r.State, r.CreatedAt = c.asker, c.state, later(i)
			saveRequest(t, s, r)
		}
		equal(t, request.AskerHistory{Requests: 2, Minor: 1200},
			got(s.AskerHistory(context.Background(), "p-ada", later(0)))(t))
		equal(t, request.AskerHistory{Requests: 1, Minor: 600},
			got(s.AskerHistory(context.Background(), "p-ada", later(1)))(t))
		equal(t, request.AskerHistory{}, got(s.AskerHistory(context.Background(), "p-bob", later(0)))(t))
	},
	"a transaction reads what it wrote": func(t *testing.T, s *store.Store) {
		must(t, decide(s, func(tx request.Tx) error {
			must(t, keep(tx, Request("r-1")))
			must(t, tx.SaveWorkload(context.Background(), Workload("w-1")))
			equal(t, request.Pending, got(tx.Request(context.Background(), "r-1"))(t).State)
			equal(t, "name-of-w-1", got(tx.Workload(context.Background(), "w-1"))(t).Name)
			equal(t, 1, len(got(tx.Holdings(context.Background(), "vision"))(t)))
			return nil
		}))
	},
	"a panic in a transaction rolls it back and lets the next one in": func(t *testing.T, s *store.Store) {
		func() {
			defer func() { _ = recover() }()
			_ = decide(s, func(tx request.Tx) error {
				must(t, keep(tx, Request("r-1")))
				panic("slip")
			})
		}()
		saveRequest(t, s, Request("r-1"))
	},
}

// pages saves 25 rows, some at the same moment, reads them page by page while newer ones arrive, and asks for each of
// the 25 once and in order.
func pages(t *testing.T, save func(i, second int), page func(cursor string) ([]string, string)) {
	t.Helper()
	for i := range 25 {
		save(i, i/4)
	}
	var seen []string
	cursor, arrived := "", 25
	for {
		ids, next := page(cursor)
		seen = append(seen, ids...)
		if next == "" {
			break
		}
		save(arrived, 1000+arrived)
		cursor, arrived = next, arrived+1
	}
	if len(seen) != 25 {
		t.Fatalf("want the 25 that were there at first, got %d: %v", len(seen), seen)
	}
	for i := range 24 {
		if seen[i] <= seen[i+1] { // ids rise with time, and settle ties
			t.Errorf("%s stands before %s", seen[i], seen[i+1])
		}
	}
}

func eachID[T any](items []T, id func(T) string) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = id(item)
	}
	return ids
}

func idsOf[T any](items []T, id func(T) string) string {
	text := ""
	for _, one := range eachID(items, id) {
		text += " " + one
	}
	if text == "" {
		return ""
	}
	return text[1:]
}
