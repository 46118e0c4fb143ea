package app

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// TestNobodyGetsNothing calls every method of the services that takes an actor, as nobody and as somebody who was shut
// out: a page that forgot to ask who is there must still show nothing.
func TestNobodyGetsNothing(t *testing.T) {
	w := newWorld(t)
	item, pending, kept := w.running(developer, "vision"), w.pending(developer, "vision"), w.unusedVolume(developer,
		"vision")
	out := w.actorOf(admin)
	out.Person.Disabled = true
	// for the portal itself, or about what the caller was shown before
	free := []string{"ExpireDue", "ApplyDue", "Due", "ExtendDue", "FollowSchedules", "PlanOf", "TeamSchedule",
		"ScheduleOf", "Leave",
		"EnforceRetention", "NotExpanded", "Assign",
		"Places", "Depth", "ResumeOf",
		"Of", "RoomFor", "Pools", "Lengths", "NewKey", "Manifest", "Site", "Costs", "ComparedCosts", "States", "Evaluate",
		"Every", "Shortest", "Meters", "LastChange",
		"Catalog",
		"InUse", "Version",
		"PinImage", // in the middle of a submission, which has asked
		"Refresh", "Follow", "Differ", "Policy", "Directory", "Month", "Status", "Ask", "ShareOf", "Hold",
		"Settle", "For",
		"Run", "Derive", "Deliver", "Wake", "Autoscale", "FollowAutoscaler", "RecordScaling", "HasMail", "Hosts",
		"Quarantined", "Under", "Open",
		"Mismatches", "Origins", "MaxLife", "Address", "Values", "Hidden", "Reseal", "Resolve",
		"Close", "Running", "Rules", "Load", "Mark"}
	for _, service := range []any{w.requests.Requests, w.requests.Approvals, w.requests.Offers, w.requests.Quotas,
		w.requests.Seats, w.requests.Comparisons, w.workloads, w.offer, w.rules, w.tenants, w.budgets, w.delegations, w.idle,
		w.notify, w.quarantine, w.accounts, w.keys, w.traffic, w.embeds, w.secretService, w.added, w.terminals, w.tunnels} {
		v := reflect.ValueOf(service)
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			takes := slices.Contains(inputs(m.Type), reflect.TypeFor[identity.Actor]())
			if !takes {
				if !slices.Contains(free, m.Name) {
					t.Errorf("%s.%s takes no actor; say why here", v.Type(), m.Name)
				}
				continue
			}
			for name, actor := range map[string]identity.Actor{"nobody": {}, "somebody shut out": out} {
				args := []reflect.Value{}
				for _, in := range inputs(m.Type)[1:] {
					args = append(args, argument(in, actor, item.ID, pending.ID, kept.Name))
				}
				refused(t, v.Type().String()+"."+m.Name+" as "+name, v.Method(i).Call(args))
			}
		}
	}
	if now, err := w.store.Workload(t.Context(), item.ID); err != nil || now.Desired != item.Desired ||
		len(now.Grants) > 0 {
		t.Errorf("the workload has changed: %v %v", now, err)
	}
}

func inputs(m reflect.Type) []reflect.Type {
	var in []reflect.Type
	for i := range m.NumIn() {
		in = append(in, m.In(i))
	}
	return in
}

// argument makes one that means something, by its type.
func argument(in reflect.Type, a identity.Actor, ids ...any) reflect.Value {
	values := append([]any{a, request.Draft{Kind: "notebook", Tenant: "vision", Size: "cpu", Image: "jupyterlab"},
		request.ScopeMine, true}, ids...)
	if in == reflect.TypeFor[context.Context]() {
		return reflect.ValueOf(context.Background())
	}
	for _, v := range values {
		if reflect.TypeOf(v) == in {
			return reflect.ValueOf(v)
		}
	}
	return reflect.Zero(in)
}

// refused wants an error that is no accident, or nothing at all.
func refused(t *testing.T, what string, out []reflect.Value) {
	t.Helper()
	for _, v := range out {
		if err, ok := v.Interface().(error); ok {
			if k := fault.KindOf(err); k == fault.Internal || k == fault.Unavailable {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
	}
	for _, v := range out {
		if !v.IsZero() {
			t.Errorf("%s: want a refusal, got %v", what, v)
		}
	}
	if last := out[len(out)-1].Type(); last == reflect.TypeFor[error]() {
		t.Errorf("%s: want a refusal, got none", what)
	}
}

// TestASwitchedOffTeamIsGrantedNothing: a request that waited, or a lease that ends, must not be granted after the team
// was switched off.
func TestASwitchedOffTeamIsGrantedNothing(t *testing.T) {
	w := newWorld(t)
	pending, item := w.pending(developer, "vision"), w.running(developer, "vision")
	w.switchOff("vision")
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), pending, ""); !fault.Is(err,
		fault.Conflict) {
		t.Errorf("approve: want a conflict, got %v", err)
	}
	if _, err := w.requests.Requests.Extend(t.Context(), w.actorOf(developer), item.ID, "1h", "", ""); !fault.Is(err,
		fault.Conflict) {
		t.Errorf("extend: want a conflict, got %v", err)
	}
	if r, err := w.requests.Approvals.Reject(t.Context(), w.actorOf(approver), pending, "closed"); err != nil ||
		r.State != request.Rejected {
		t.Errorf("reject: want it rejected, got %s %v", r.State, err)
	}
}

// beside runs fn n times at once and gives the statuses.
func beside(n int, fn func(i int) (answer, error)) ([]answer, error) {
	answers, errs := make([]answer, n), make([]error, n)
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			answers[i], errs[i] = fn(i)
		})
	}
	close(start)
	group.Wait()
	return answers, errors.Join(errs...)
}

func count(answers []answer) map[int]int {
	n := map[int]int{}
	for _, a := range answers {
		n[a.status]++
	}
	return n
}

// TestOneKeyIsOneRequest: the same call twenty times at once, as an impatient program sends it.
func TestOneKeyIsOneRequest(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	body := map[string]any{"kind": "notebook", "tenant": "vision", "size": "mig-1g.10gb", "image": "jupyterlab"}
	answers, err := beside(20, func(int) (answer, error) {
		return w.send(token, http.MethodPost, "/api/v1/requests", body, "Idempotency-Key", "once")
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, a := range answers {
		if a.status != http.StatusCreated {
			t.Fatalf("want 201, got %d %s", a.status, a.body)
		}
		id, _ := a.json(t)["id"].(string)
		ids[id] = true
		if a.header.Get("Location") != "/api/v1/requests/"+id {
			t.Errorf("Location: %q", a.header.Get("Location"))
		}
	}
	if len(ids) != 1 || len(w.events("request.auto_approved")) != 1 || len(w.events("workload.created")) != 1 {
		t.Errorf("want one request, one approval, one workload, got %v, %d, %d", ids, len(w.events("request.auto_approved")),
			len(w.events("workload.created")))
	}
	// Somebody else's key is another key.
	if a := w.call(w.token(other), http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook",
		"tenant": "speech", "size": "cpu", "image": "jupyterlab"}, "Idempotency-Key",
		"once"); a.status != http.StatusCreated || ids[a.json(t)["id"].(string)] {
		t.Errorf("another person, the same key: %d %s", a.status, a.body)
	}
}

// TestNothingIsGrantedTwice: two hundred ask at once for seven slices, and as many for five seats (T-QUOTA).
func TestNothingIsGrantedTwice(t *testing.T) {
	cases := map[string]struct {
		size string
		most int
		says string
	}{
		"quota": {"mig-1g.10gb", 7, "7 of 7"},
		"seats": {"vgpu-12q", 5, "NVIDIA vWS"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			token := w.token(developer)
			answers, err := beside(200, func(int) (answer, error) {
				return w.send(token, http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook", "tenant": "vision",
					"size": c.size, "image": "jupyterlab"})
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := count(answers); n[201] != c.most || n[422] != 200-c.most {
				t.Errorf("want %d granted and the others refused, got %v", c.most, n)
			}
			for _, a := range answers {
				if a.status == 422 && !strings.Contains(a.body, c.says) {
					t.Fatalf("want the reason %q, got %s", c.says, a.body)
				}
			}
			if n := len(w.events("workload.created")); n != c.most {
				t.Errorf("want %d workloads, got %d", c.most, n)
			}
			if err := w.refusals.Flush(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if n := w.refused(); n != 200-c.most {
				t.Errorf("want %d refusals on record, got %d", 200-c.most, n)
			}
		})
	}
}

// seenOf is the body of an answer to a request as it is given here.
func seenOf(r request.Request) map[string]any { return map[string]any{"seen": r.Version} }

// TestDecisions: T-APPR.
func TestDecisions(t *testing.T) {
	w := newWorld(t)
	yes := w.token(approver)
	path := func(r request.Request, verb string) string { return "/api/v1/requests/" + string(r.ID) + "/" + verb }

	twice := w.pending(developer, "vision")
	answers, err := beside(8, func(int) (answer, error) {
		return w.send(yes, http.MethodPost, path(twice, "approve"), seenOf(twice))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(answers); n[200] != 1 || n[409] != 7 {
		t.Errorf("approve at once: want one to win and 409 for the others, got %v", n)
	}

	own := w.pending(both, "vision")
	if a := w.call(w.token(both), http.MethodPost, path(own, "approve"), seenOf(own)); a.status != 403 ||
		!strings.Contains(a.body, "own") {
		t.Errorf("one's own: want 403, got %d %s", a.status, a.body)
	}

	// Someone who was an approver when the request came, and is a colleague only now.
	p := w.person(both)
	waits := w.pending(developer, "vision")
	token := w.token(both)
	p.Groups = []string{"vision-devs"}
	if err := w.store.SavePerson(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if a := w.call(token, http.MethodPost, path(waits, "approve"), seenOf(waits)); a.status != 403 {
		t.Errorf("no approver any more: want 403, got %d %s", a.status, a.body)
	}

	for range 5 {
		raced := w.pending(developer, "vision")
		mine := w.token(developer)
		answers, err := beside(2, func(i int) (answer, error) {
			if i == 0 {
				return w.send(yes, http.MethodPost, path(raced, "approve"), seenOf(raced))
			}
			return w.send(mine, http.MethodPost, path(raced, "withdraw"), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		now, err := w.store.Request(t.Context(), raced.ID)
		if err != nil {
			t.Fatal(err)
		}
		if n := count(answers); n[200] != 1 || n[409] != 1 || (answers[0].status == 200) != (now.State == request.Approved) {
			t.Errorf("approve and withdraw: got %v and %s", n, now.State)
		}
	}

	late := w.pending(developer, "vision")
	w.clock.pass(request.TTL)
	if a := w.call(w.token(approver), http.MethodPost, path(late, "approve"), seenOf(late)); a.status != 409 {
		t.Errorf("too late: want 409, got %d %s", a.status, a.body)
	}
}

// TestAnAnswerIsMeantForOneVersion: who saw a request before it was edited hears of it and decides nothing (T-APPR).
func TestAnAnswerIsMeantForOneVersion(t *testing.T) {
	w := newWorld(t)
	yes, mine := w.token(approver), w.token(developer)
	waits := w.pending(developer, "vision")
	path := func(verb string) string { return "/api/v1/requests/" + string(waits.ID) + "/" + verb }
	seen := w.call(yes, http.MethodGet, "/api/v1/requests/"+string(waits.ID), nil).json(t)["version"]
	if a := w.call(mine, http.MethodPost, path("edit"), map[string]any{"lease": "3h", "seen": seen}); a.status != 200 ||
		a.json(t)["lease"] != "3h" {
		t.Fatalf("edit: %d %s", a.status, a.body)
	}
	for _, verb := range []string{"approve", "reject"} {
		if a := w.call(yes, http.MethodPost, path(verb), map[string]any{"seen": seen}); a.status != 409 ||
			!strings.Contains(a.body, "has changed") {
			t.Errorf("%s of the one before: want 409 and the reason, got %d %s", verb, a.status, a.body)
		}
	}
	if a := w.call(mine, http.MethodPost, path("edit"), map[string]any{"lease": "2h", "seen": seen}); a.status != 409 {
		t.Errorf("an edit of the one before: want 409, got %d %s", a.status, a.body)
	}
	now := w.call(yes, http.MethodGet, "/api/v1/requests/"+string(waits.ID), nil).json(t)["version"]
	if a := w.call(yes, http.MethodPost, path("approve"), map[string]any{"seen": now, "lease": "2h"}); a.status != 200 ||
		a.json(t)["lease"] != "2h" {
		t.Fatalf("approve what is there now: %d %s", a.status, a.body)
	}
	if a := w.call(mine, http.MethodPost, path("edit"), map[string]any{"lease": "1h"}); a.status != 409 {
		t.Errorf("an edit of what is decided: want 409, got %d %s", a.status, a.body)
	}
	if n := len(w.events("request.edited")); n != 1 {
		t.Errorf("want one edit on record, got %d", n)
	}
}

// TestAnEditRacesAnApproval: whichever comes first, nothing is granted that nobody approved.
func TestAnEditRacesAnApproval(t *testing.T) {
	w := newWorld(t)
	yes, mine := w.token(approver), w.token(developer)
	for range 5 {
		raced := w.pending(developer, "vision")
		path := "/api/v1/requests/" + string(raced.ID)
		seen := w.call(yes, http.MethodGet, path, nil).json(t)["version"]
		answers, err := beside(2, func(i int) (answer, error) {
			if i == 0 {
				return w.send(yes, http.MethodPost, path+"/approve", map[string]any{"seen": seen})
			}
			return w.send(mine, http.MethodPost, path+"/edit", map[string]any{"lease": "7h"})
		})
		if err != nil {
			t.Fatal(err)
		}
		now, err := w.store.Request(t.Context(), raced.ID)
		if err != nil {
			t.Fatal(err)
		}
		edited := now.Spec.Lease != raced.Spec.Lease
		if n := count(answers); n[200] != 1 || n[409] != 1 || edited == (now.State == request.Approved) {
			t.Errorf("got %v: %s, edited: %v", n, now.State, edited)
		}
	}
}

// TestAnotherAddressIsTheSamePerson: who signs in by the same subject with another e-mail address and another name is
// still the asker.
func TestAnotherAddressIsTheSamePerson(t *testing.T) {
	w := newWorld(t)
	own := w.pending(both, "vision")
	p := w.person(both)
	p.Email, p.Name = "second@example.org", "Somebody Else"
	if err := w.store.SavePerson(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/requests/" + string(own.ID) + "/approve"
	if a := w.call(w.token(both), http.MethodPost, path, seenOf(own)); a.status != 403 ||
		!strings.Contains(a.body, "own") {
		t.Errorf("want 403, got %d %s", a.status, a.body)
	}
}

// TestADelegationComesInByEveryWay: session and token both bring the rights of the other along, and lose them with that
// person or at the end.
func TestADelegationComesInByEveryWay(t *testing.T) {
	w := newWorld(t)
	token, b := w.token(developer), w.signedIn(developer)
	p := w.person(approver)
	yes := w.token(approver)
	until := w.clock.now().Add(2 * time.Hour)
	made := w.call(yes, http.MethodPost, "/api/v1/delegations", map[string]any{"person": w.person(developer).ID,
		"until": until})
	if made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	path := func(r request.Request) string { return "/api/v1/requests/" + string(r.ID) + "/approve" }
	first, second := w.pending(other, "speech"), w.pending(other, "speech")
	if a := w.call(token, http.MethodPost, path(first), seenOf(first)); a.status != 200 {
		t.Errorf("by token: %d %s", a.status, a.body)
	}
	if a := b.post("/approvals/"+string(second.ID)+"/approve",
		url.Values{"note": {"fine"}, "seen": {"1"}}); a.status != http.StatusSeeOther {
		t.Errorf("by session: %d %s", a.status, a.body)
	}
	own := w.pending(developer, "vision")
	if a := w.call(token, http.MethodPost, path(own), seenOf(own)); a.status != 403 {
		t.Errorf("the delegate's own: want 403, got %d", a.status)
	}
	for _, e := range w.events("request.approved") {
		if e.Actor != w.person(developer).ID {
			t.Errorf("the record names who did it, got %+v", e)
		}
	}

	groups := p.Groups
	p.Groups = nil // the approver is none any more
	if err := w.store.SavePerson(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	waits := w.pending(other, "speech")
	if a := w.call(token, http.MethodPost, path(waits), seenOf(waits)); a.status != 404 {
		t.Errorf("lost rights: want 404, got %d %s", a.status, a.body)
	}
	p.Groups = groups
	if err := w.store.SavePerson(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if a := w.call(token, http.MethodGet, "/api/v1/requests/"+string(waits.ID), nil); a.status != 200 {
		t.Errorf("the rights are back: %d %s", a.status, a.body)
	}
	w.clock.pass(2*time.Hour - time.Minute) // tokens live for an hour
	if a := w.call(w.token(developer), http.MethodGet, "/api/v1/requests/"+string(waits.ID), nil); a.status != 200 {
		t.Errorf("not over yet: %d %s", a.status, a.body)
	}
	w.clock.pass(2 * time.Minute)
	if a := w.call(w.token(developer), http.MethodPost, path(waits), seenOf(waits)); a.status != 404 {
		t.Errorf("over: want 404, got %d %s", a.status, a.body)
	}
}

// refused is how many refused requests are on record, those that are folded into one event counted each.
func (w *world) refused() (n int) {
	w.t.Helper()
	for _, e := range w.events(audit.RequestRefused) {
		more, folded := e.Detail.Args["Count"]
		if n++; folded && e.Detail.ID == "audit.refused_more" {
			n += int(more.(float64)) - 1
		}
	}
	return n
}
