package request

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// deferred is an answer of somebody to a request, ten seconds before it takes effect.
func deferred(t *testing.T, r Request, answer Answer, a identity.Actor) Request {
	t.Helper()
	out, err := Defer(r, answer, a, 10*time.Second, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Events) != 1 || out.Events[0].Kind != audit.RequestDeferred || out.Workload != nil {
		t.Fatalf("want nothing but a line in the record, got %+v", out)
	}
	return out.Request
}

// TestADeferredAnswerComesToTheSame: whoever says what to whatever steps, after the period it is what it would have
// been at once, and before that nothing.
func TestADeferredAnswerComesToTheSame(t *testing.T) {
	both := 0
	for i := range 2000 {
		r, f, a := waiting(anySteps()), facts(t), anyone(i)
		if odds.IntN(3) == 0 {
			a.Delegators = []identity.Actor{anyone(i + 1)}
		}
		answer := Answer{Verb: []Verb{ApproveVerb, RejectVerb}[odds.IntN(2)], Note: "a note"}
		if odds.IntN(4) == 0 {
			answer.Reduced.Lease = hours(2)
		}
		late := f
		late.Now = now.Add(10 * time.Second)
		want, err := Decide(r, answer, a, late)
		if err != nil {
			continue
		}
		both++
		held := deferred(t, r, answer, a)
		early := late
		early.Now = late.Now.Add(-time.Nanosecond)
		if out, err := Apply(held, early); err != nil || len(out.Events) > 0 {
			t.Fatalf("before its time nothing happens, got %+v %v", out, err)
		}
		got, err := Apply(held, late)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("answered %+v by %s: %v\n%s", answer, a.Person.ID, err, diff)
		}
	}
	if both < 200 {
		t.Fatalf("want many answers that count, got %d", both)
	}
}

func TestUndo(t *testing.T) {
	eve, bob := approverNamed("p-eve"), approverNamed("p-bob")
	asker := identity.Actor{Person: identity.Person{ID: "p-dana"}}
	r := waiting(policy.OneOf(identity.Approver))
	held := deferred(t, r, yes, eve)
	granted, err := Decide(r, yes, eve, facts(t))
	if err != nil {
		t.Fatal(err)
	}
	first, err := Decide(waiting([]policy.Step{{From: approvers[:1]}, {From: approvers[1:2]}}), yes, eve, facts(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		of    Request
		by    identity.Actor
		after time.Duration
		want  fault.Kind
		id    string
	}{
		"by who gave it":                   {held, eve, time.Second, "", ""},
		"in the last moment":               {held, eve, 10*time.Second - 1, "", ""},
		"when its time has come":           {held, eve, 10 * time.Second, fault.Conflict, "request.undo_due"},
		"of another approver's":            {held, bob, time.Second, fault.Forbidden, "request.undo_other"},
		"by the asker":                     {held, asker, time.Second, fault.Forbidden, "request.undo_other"},
		"of what is granted":               {granted.Request, eve, time.Second, fault.Conflict, "request.undo_late"},
		"of what somebody else granted":    {granted.Request, bob, time.Second, fault.Forbidden, "request.undo_other"},
		"of a step that is over":           {first.Request, eve, time.Second, fault.Conflict, "request.undo_late"},
		"of what was undone already":       {r, eve, time.Second, "", ""},
		"by the asker of what nobody said": {r, asker, time.Second, fault.Forbidden, "request.own"},
	} {
		out, err := Undo(c.of, c.by, now.Add(c.after))
		if c.want == "" {
			if diff := cmp.Diff(r, out.Request); err != nil || diff != "" {
				t.Errorf("%s: want the request as it was, got %v\n%s", name, err, diff)
			}
			continue
		}
		if f := fault.As(err); err == nil || f.Kind != c.want || f.Sentence.ID != c.id {
			t.Errorf("%s: want %s %s, got %v", name, c.want, c.id, err)
		}
	}
}

func approverNamed(id identity.PersonID) identity.Actor {
	return identity.Actor{Person: identity.Person{ID: id, Name: string(id)}, Global: []identity.Role{identity.Approver}}
}

// TestNothingElseHappensToADeferredAnswer: it waits in no inbox, and does not expire, escalate or take a seat; only its
// asker can withdraw it, and nothing comes of the answer then.
func TestNothingElseHappensToADeferredAnswer(t *testing.T) {
	eve, bob := approverNamed("p-eve"), approverNamed("p-bob")
	steps := []policy.Step{{From: approvers[:1], After: hours(1), Then: approvers[2:3]}}
	r := waiting(steps)
	r.Decision.Since = now.Add(-24 * time.Hour)
	r.ExpiresAt = now.Add(5 * time.Second)
	held := deferred(t, r, yes, eve)
	f := facts(t)
	f.Now = now.Add(7 * time.Second)
	if asks := held.Asks(); len(asks) > 0 || Awaits(held, bob, now) {
		t.Errorf("it waits for nobody, got %v", asks)
	}
	if out := Expire(held, f.Now); len(out.Events) > 0 {
		t.Error("it was answered in time and expired")
	}
	if out := Escalate(held, now); len(out.Events) > 0 || len(Escalate(r, now).Events) == 0 {
		t.Error("it escalated after it was answered")
	}
	if _, err := Decide(held, yes, bob, facts(t)); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second answer: want a conflict, got %v", err)
	}
	if _, err := Edit(held, held.Spec, identity.Actor{Person: identity.Person{ID: r.Asker}}, facts(t)); !fault.Is(err,
		fault.Conflict) {
		t.Errorf("an edit: want a conflict, got %v", err)
	}
	if _, err := Reassign(held, bob, "you", 0, eve, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("given away: want a conflict, got %v", err)
	}
	late := facts(t)
	late.Now = now.Add(10 * time.Second)
	if out, err := Apply(held, late); err != nil || out.Request.State != Approved {
		t.Errorf("what was answered in time is granted after its time to expire, got %s %v", out.Request.State, err)
	}
	taken, err := Withdraw(held, identity.Actor{Person: identity.Person{ID: r.Asker}}, now)
	if err != nil || taken.Request.State != Withdrawn || taken.Request.Decision.Deferred != nil {
		t.Fatalf("want it withdrawn, got %+v %v", taken.Request, err)
	}
	if out, err := Apply(taken.Request, late); err != nil || len(out.Events) > 0 {
		t.Errorf("nothing comes of an answer to what was withdrawn, got %+v %v", out, err)
	}
}

// TestAnApprovalThatCannotTakeEffectIsGivenBack: the quota is gone after the approver has.
func TestAnApprovalThatCannotTakeEffectIsGivenBack(t *testing.T) {
	eve, bob := approverNamed("p-eve"), approverNamed("p-bob")
	held := deferred(t, waiting(policy.OneOf(identity.Approver)), yes, eve)
	f := facts(t)
	f.Now, f.Quota.Used = now.Add(10*time.Second), f.Quota.Limit
	_, err := Apply(held, f)
	if !fault.Is(err, fault.Conflict) {
		t.Fatalf("want a conflict, got %v", err)
	}
	out := Return(held, err, f.Now)
	r := out.Request
	if r.State != Pending || r.Decision.Deferred != nil || !Awaits(r, bob, f.Now) || !Awaits(r, eve, f.Now) {
		t.Errorf("want it to wait again, got %+v", r)
	}
	if r.Decision.Returned == nil || r.Decision.Returned.Why.ID != "request.quota_full" ||
		out.Events[0].Kind != audit.RequestReturned || out.Events[0].Detail.ID != "request.quota_full" {
		t.Errorf("want it said why, got %+v %+v", r.Decision.Returned, out.Events)
	}
	f.Quota.Used = 0
	again, err := Decide(r, yes, bob, f)
	if err != nil || again.Request.State != Approved || again.Request.Decision.Returned != nil {
		t.Errorf("want it approved after all, got %s %v", again.Request.State, err)
	}
}

func TestWordsAreBounded(t *testing.T) {
	if diff := cmp.Diff([]string{"ada", "h100"}, Words("  Ada  H100 ")); diff != "" {
		t.Error(diff)
	}
	if n := len(Words(fmt.Sprint(make([]int, 100)))); n != 8 {
		t.Errorf("want eight words at most, got %d", n)
	}
}

// TestAnExtensionIsTakenBack: one that a rule granted, within ten seconds, as long as the lease is what it made; then
// everything is as before, the warning too.
func TestAnExtensionIsTakenBack(t *testing.T) {
	f, before := facts(t), workload.Workload{ID: "w-1", Tenant: "vision", Owner: dana.Person.ID, Name: "n",
		State: workload.Running, Desired: workload.WantRunning, Size: slice, Version: 3, WarnedAt: now.Add(-time.Minute),
		Lease: workload.Lease{From: now.Add(-time.Hour), Until: now.Add(5 * time.Minute)}}
	granted, err := SubmitExtension(before, hours(1), "", dana, f)
	if err != nil || granted.Request.State != Approved {
		t.Fatalf("want it granted at once, got %+v %v", granted.Request, err)
	}
	r, w := granted.Request, *granted.Workload
	if !w.Lease.Until.Equal(before.Lease.Until.Add(time.Hour)) || !w.WarnedAt.IsZero() {
		t.Fatalf("want an hour more and no warning, got %+v", w)
	}
	late := now.Add(9 * time.Second)
	out, err := UndoExtension(r, w, dana, UndoPeriod, late)
	if err != nil {
		t.Fatal(err)
	}
	want := before
	want.UpdatedAt = late
	if diff := cmp.Diff(want, *out.Workload); diff != "" {
		t.Errorf("the workload (-want +got):\n%s", diff)
	}
	if out.Request.State != Withdrawn || !out.Request.DecidedAt.Equal(late) {
		t.Errorf("want it withdrawn, got %+v", out.Request)
	}
	var kinds []audit.Kind
	for _, e := range out.Events {
		if kinds = append(kinds, e.Kind); e.Actor != dana.Person.ID || e.Request != string(r.ID) || e.Workload != "w-1" {
			t.Errorf("the record: %+v", e)
		}
	}
	if diff := cmp.Diff([]audit.Kind{audit.RequestUndone, audit.WorkloadExtended}, kinds); diff != "" {
		t.Error(diff)
	}
	if again, err := UndoExtension(out.Request, *out.Workload, dana, UndoPeriod, late); err != nil ||
		len(again.Events) > 0 {
		t.Errorf("twice changes nothing, got %+v %v", again, err)
	}

	for name, change := range map[string]func(r *Request, w *workload.Workload, at *time.Time){
		"too late": func(_ *Request, _ *workload.Workload, at *time.Time) { *at = now.Add(UndoPeriod) },
		"extended again": func(_ *Request, w *workload.Workload, _ *time.Time) {
			w.Lease.Until = w.Lease.Until.Add(time.Hour)
		},
		"a person agreed":         func(r *Request, _ *workload.Workload, _ *time.Time) { r.Decision.By = "p-carol" },
		"not an extension":        func(r *Request, _ *workload.Workload, _ *time.Time) { r.Decision.Extended = nil },
		"not granted":             func(r *Request, _ *workload.Workload, _ *time.Time) { r.State = Pending },
		"the workload is deleted": func(_ *Request, w *workload.Workload, _ *time.Time) { w.Desired = workload.WantDeleted },
	} {
		r, w, at := granted.Request, *granted.Workload, late
		change(&r, &w, &at)
		if out, err := UndoExtension(r, w, dana, UndoPeriod, at); !fault.Is(err, fault.Conflict) || out.Workload != nil {
			t.Errorf("%s: want a conflict, got %+v %v", name, out, err)
		}
	}
}
