package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// who is somebody with roles on the whole platform.
func who(id string, roles ...identity.Role) identity.Actor {
	return identity.Actor{Person: identity.Person{ID: identity.PersonID(id), Name: id}, Global: roles}
}

func given(t *testing.T, r Request, a, to identity.Actor) Request {
	t.Helper()
	out, err := Reassign(r, to, "knows them", 0, a, now)
	if err != nil {
		t.Fatalf("%s to %s: %v", a.Person.ID, to.Person.ID, err)
	}
	return out.Request
}

// TestWhoCanBeGivenARequest, by whom: T-APPR.
func TestWhoCanBeGivenARequest(t *testing.T) {
	one := policy.OneOf(identity.Approver)
	ada, bob, otto := who("ada", identity.Approver), who("bob", identity.Approver), who("otto", identity.Owner)
	shut := who("shut", identity.Approver)
	shut.Person.Disabled = true
	stand := who("stand")
	stand.Delegators = []identity.Actor{who("away", identity.Approver)}
	for name, c := range map[string]struct {
		steps []policy.Step
		from  identity.Actor
		to    identity.Actor
		at    time.Duration
		want  fault.Kind // "" for yes
	}{
		"another approver":                        {one, ada, bob, 0, ""},
		"the asker, though an approver":           {one, ada, who("p-dana", identity.Approver), 0, fault.Invalid},
		"oneself":                                 {one, ada, ada, 0, fault.Invalid},
		"somebody with another role":              {one, ada, otto, 0, fault.Invalid},
		"somebody shut out":                       {one, ada, shut, 0, fault.Invalid},
		"a delegate, who has only others' rights": {one, ada, stand, 0, fault.Invalid},
		"by the asker":                            {one, who("p-dana", identity.Approver), bob, 0, fault.Forbidden},
		"by somebody who decides nothing":         {one, otto, bob, 0, fault.Forbidden},
		"by a delegate":                           {one, stand, bob, 0, fault.Forbidden},
		"when it has expired":                     {one, ada, bob, TTL, fault.Conflict},
		"where all approvers are needed, to one of the same": {
			[]policy.Step{{From: []identity.Approvers{{Role: identity.Approver}, {Role: identity.Owner}}, All: true}}, ada, bob,
			0,
			""},
		"where all approvers are needed, to one of another": {
			[]policy.Step{{From: []identity.Approvers{{Role: identity.Approver}, {Role: identity.Owner}}, All: true}}, ada, otto,
			0,
			fault.Invalid},
		"to one whose turn comes in the next step": {append(policy.OneOf(identity.Approver),
			policy.OneOf(identity.Owner)...), ada, otto, 0, fault.Invalid},
		"to one whom the step reaches later, before that": {[]policy.Step{{From: one[0].From, After: hours(4),
			Then: []identity.Approvers{{Role: identity.Owner}}}}, ada, otto, 0, fault.Invalid},
		"to one whom the step reaches later, when it does": {[]policy.Step{{From: one[0].From, After: hours(4),
			Then: []identity.Approvers{{Role: identity.Owner}}}}, ada, otto, 4 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Reassign(waiting(c.steps), c.to, "on leave", 0, c.from, now.Add(c.at))
			if got := fault.KindOf(err); (err == nil) != (c.want == "") || err != nil && got != c.want {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			if err != nil {
				return
			}
			if e := out.Events; len(e) != 1 || e[0].Kind != audit.RequestReassigned ||
				e[0].Detail.Args["Reason"] != "on leave" ||
				e[0].Changes[0].New != string(c.to.Person.ID) {
				t.Errorf("want one event that names the other one and the reason, got %+v", e)
			}
		})
	}
}

// TestReassignment takes the word from who gave it away alone, comes back when they want, and ends with the step and with
// the spec.
func TestReassignment(t *testing.T) {
	ada, bob, eve := who("ada", identity.Approver), who("bob", identity.Approver), who("eve", identity.Approver)
	stand := who("stand")
	stand.Delegators = []identity.Actor{ada}
	r := given(t, waiting(append(policy.OneOf(identity.Approver), policy.OneOf(identity.Approver)...)), ada, bob)
	f := facts(t)
	for who, want := range map[string]struct {
		a      identity.Actor
		awaits bool
	}{"the giver": {ada, false}, "the giver's delegate": {stand, false}, "the receiver": {bob, true},
		"a third one": {eve, true}} {
		in := Inbox{Self: want.a.Person.ID, Approvers: []ApproverID{ApproverOf(want.a)}, Now: now}
		for _, s := range want.a.Delegators {
			in.Approvers = append(in.Approvers, ApproverOf(s))
		}
		if Awaits(r, want.a, now) != want.awaits || in.Holds(r) != want.awaits {
			t.Errorf("%s: want %v, got %v, in the inbox %v", who, want.awaits, Awaits(r, want.a, now), in.Holds(r))
		}
	}
	if _, err := Decide(r, yes, ada, f); !fault.Is(err, fault.Conflict) {
		t.Errorf("who gave it away does not decide, got %v", err)
	}
	if _, err := Reassign(r, eve, "again", 0, ada, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("nor gives it away twice, got %v", err)
	}
	back, err := Reclaim(r, ada, now)
	if err != nil || len(back.Events) != 1 || back.Events[0].Kind != audit.RequestTakenBack ||
		!Awaits(back.Request, ada, now) {
		t.Fatalf("want it back, got %+v %v", back.Events, err)
	}
	if again, err := Reclaim(back.Request, ada, now); err != nil || len(again.Events) > 0 {
		t.Errorf("the same form twice does nothing more, got %+v %v", again.Events, err)
	}
	if _, err := Reclaim(r, who("otto", identity.Owner), now); !fault.Is(err, fault.Forbidden) {
		t.Errorf("want nobody else to take it back, got %v", err)
	}
	lost := ada
	lost.Global = nil
	if _, err := Reclaim(r, lost, now); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nor one who lost the role, got %v", err)
	}
	if returned := given(t, r, bob, ada); !Awaits(returned, ada, now) || Awaits(returned, bob, now) {
		t.Error("what is given to who gave it away comes back to them")
	}
	next, err := Decide(r, yes, bob, f)
	if err != nil || !Awaits(next.Request, ada, now) || len(next.Request.Reassigned()) != 0 {
		t.Errorf("it counts for one step, got %+v %v", next.Request.Reassigned(), err)
	}
	done, err := Decide(next.Request, yes, ada, f)
	if err != nil || done.Request.State != Approved {
		t.Fatal(done.Request.State, err)
	}
	if _, err := Reclaim(done.Request, ada, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("what is decided is not taken back, got %v", err)
	}
	edited, err := Edit(r, r.Spec, who("p-dana", identity.Developer), f)
	if err == nil && len(edited.Request.Reassigned()) > 0 {
		t.Error("another spec is given to nobody")
	}
	if _, err := Reassign(r, eve, "old page", r.Version+1, bob, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("want a page of before to give nothing away, got %v", err)
	}
}

// TestHandingOverIsNoDeadEnd: whoever gives it to whom, others who are there can finish it, and it is never the asker
// who does.
func TestHandingOverIsNoDeadEnd(t *testing.T) {
	for range tries(1000) {
		steps := anySteps()
		r, f := waiting(steps), facts(t)
		people := make([]identity.Actor, 6)
		for i := range people {
			people[i] = anyone(i)
		}
		people[0].Person.ID = r.Asker
		for range 12 {
			a, b := people[odds.IntN(len(people))], people[odds.IntN(len(people))]
			if out, err := Reassign(r, b, "why", 0, a, now); err == nil {
				r = out.Request
			}
			if out, err := Decide(r, yes, people[odds.IntN(len(people))], f); err == nil {
				r = out.Request
			}
		}
		for _, p := range enough(steps) {
			if out, err := Decide(r, yes, p, f); err == nil {
				r = out.Request
			}
		}
		if r.State != Approved {
			t.Fatalf("want it approved, it is %s: %+v", r.State, r.Decision)
		}
		for _, c := range r.Decision.Consents {
			if c.By == r.Asker {
				t.Fatal("the asker decided")
			}
		}
	}
}
