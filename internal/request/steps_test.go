package request

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	approvers = []identity.Approvers{{Role: identity.Approver}, {Role: identity.Owner}, {Role: identity.Admin},
		{Group: "security"}, {Group: "finance"}}
	odds = rand.New(rand.NewPCG(7, 11))
)

// anyone is a person with roles and groups by chance.
func anyone(i int) identity.Actor {
	a := identity.Actor{Person: identity.Person{ID: identity.PersonID(fmt.Sprintf("p-%d", i)),
		Name: fmt.Sprintf("P%d", i)}, Tenants: map[string][]identity.Role{}}
	for _, p := range approvers {
		if odds.IntN(3) > 0 {
			continue
		}
		switch {
		case p.Group != "":
			a.Person.Groups = append(a.Person.Groups, p.Group)
		case p.Role == identity.Admin || odds.IntN(2) == 0:
			a.Global = append(a.Global, p.Role)
		default:
			a.Tenants["vision"] = append(a.Tenants["vision"], p.Role)
		}
	}
	return a
}

func anySteps() []policy.Step {
	steps := make([]policy.Step, 1+odds.IntN(3))
	for i := range steps {
		from := slices.Clone(approvers)
		odds.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
		steps[i] = policy.Step{From: from[:1+odds.IntN(3)], All: odds.IntN(2) == 0}
		if odds.IntN(4) == 0 {
			steps[i].After, steps[i].Then = hours(4), []identity.Approvers{{Role: identity.Admin}}
		}
	}
	return steps
}

func waiting(steps []policy.Step) Request {
	return Request{ID: "r-1", Kind: StartKind, Asker: "p-dana", AskerName: "Dana", State: Pending, CreatedAt: now,
		ExpiresAt: now.Add(TTL),
		Spec: Spec{Kind: catalog.Notebook, Tenant: "vision", Name: "nb", Size: slice, Image: lab, Cluster: "main",
			Lease: hours(8)}, Decision: Decision{Steps: steps, Since: now}}
}

var yes = Answer{Verb: ApproveVerb}

// enough is one person of each party of each step, and nobody twice: with these every approval can be finished.
func enough(steps []policy.Step) []identity.Actor {
	var people []identity.Actor
	for i, s := range steps {
		for j, p := range s.From {
			a := identity.Actor{Person: identity.Person{ID: identity.PersonID(fmt.Sprintf("p-%d-%d", i, j))}}
			if a.Global = []identity.Role{p.Role}; p.Group != "" {
				a.Global, a.Person.Groups = nil, []string{p.Group}
			}
			people = append(people, a)
		}
	}
	return people
}

// tries is how many generated requests a test looks at; a tenth when tests are to be short, as in make check.
func tries(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestNoStepIsADeadEnd: whoever spoke before and in whatever order, a request that waits can be finished by people who
// are there, and each yes brings it nearer.
func TestNoStepIsADeadEnd(t *testing.T) {
	for range tries(2000) {
		r := waiting(anySteps())
		f := facts(t)
		for i := range odds.IntN(6) {
			if out, err := Decide(r, yes, anyone(i), f); err == nil {
				r = out.Request
			}
		}
		need := 0
		for _, s := range r.Decision.Steps {
			need += len(s.From)
		}
		for _, p := range enough(r.Decision.Steps) {
			if r.State != Pending {
				break
			}
			if out, err := Decide(r, yes, p, f); err == nil {
				r = out.Request
			}
		}
		if r.State != Approved || len(r.Decision.Consents) > need {
			t.Fatalf("want it approved after at most %d words, it is %s after %+v", need, r.State, r.Decision.Consents)
		}
	}
}

// TestNobodyCountsTwiceNorForThemselves: whoever tries whatever, in any order, also for others.
func TestNobodyCountsTwiceNorForThemselves(t *testing.T) {
	for range tries(2000) {
		r, f := waiting(anySteps()), facts(t)
		people := make([]identity.Actor, 5)
		for i := range people {
			people[i] = anyone(i)
		}
		people[0].Person.ID = r.Asker
		people[odds.IntN(5)].Delegators = []identity.Actor{people[odds.IntN(5)], people[0]}
		for range 20 {
			out, err := Decide(r, yes, people[odds.IntN(5)], f)
			if err == nil {
				r = out.Request
			}
			if r.State != Pending {
				break
			}
		}
		seen := map[identity.PersonID]bool{r.Asker: true}
		for _, c := range r.Decision.Consents {
			for _, p := range []identity.PersonID{c.By, c.For} {
				if p != "" && seen[p] {
					t.Fatalf("%s counted twice or for themselves: %+v", p, r.Decision.Consents)
				}
				seen[p] = true
			}
		}
	}
}

// tightened is the same with one thing more asked for.
func tightened(steps []policy.Step) []policy.Step {
	tight := slices.Clone(steps)
	i := odds.IntN(len(tight))
	switch s := tight[i]; odds.IntN(4) {
	case 0:
		return slices.Insert(tight, i, policy.Step{From: approvers[odds.IntN(len(approvers)):][:1]})
	case 1:
		s.All = true
		tight[i] = s
	case 2:
		if s.From = slices.Clone(s.From); s.All {
			for _, p := range approvers {
				if !slices.Contains(s.From, p) {
					s.From = append(s.From, p)
					break
				}
			}
		} else if len(s.From) > 1 {
			s.From = s.From[1:]
		}
		tight[i] = s
	default:
		s.After, s.Then = 0, nil
		tight[i] = s
	}
	return tight
}

// TestTighteningNeverApprovesMore: what the same people in the same order get through under stricter steps, they get
// through under the others. Every run draws seeds of its own; one that fails says its seed, which REQUEST_SEED takes up
// again.
func TestTighteningNeverApprovesMore(t *testing.T) {
	before := odds
	t.Cleanup(func() { odds = before })
	approved := func(steps []policy.Step, people []identity.Actor, f Facts) bool {
		r := waiting(steps)
		for _, p := range people {
			if out, err := Decide(r, yes, p, f); err == nil {
				r = out.Request
			}
		}
		return r.State == Approved
	}
	both := 0
	holds := func(seed uint64) bool {
		odds = rand.New(rand.NewPCG(seed, 11))
		steps := anySteps()
		people := make([]identity.Actor, 1+odds.IntN(8))
		for i := range people {
			people[i] = anyone(i)
		}
		f := facts(t)
		f.Now = now.Add(time.Duration(odds.IntN(8)) * time.Hour)
		tight := tightened(steps)
		strict := approved(tight, people, f)
		if strict {
			both++
		}
		if strict && !approved(steps, people, f) {
			t.Errorf("REQUEST_SEED=%d: approved under %+v and not under %+v by %+v", seed, tight, steps, people)
			return false
		}
		return true
	}
	if again, err := strconv.ParseUint(os.Getenv("REQUEST_SEED"), 10, 64); err == nil {
		holds(again)
		return
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: tries(4000)}); err != nil {
		t.Fatal(err)
	}
	if both < tries(100) {
		t.Errorf("only %d were approved under stricter steps: this proves nothing", both)
	}
}

func TestTwoSteps(t *testing.T) {
	steps := []policy.Step{{From: []identity.Approvers{{Role: identity.Owner}}, After: hours(4),
		Then: []identity.Approvers{{Role: identity.Admin}}}, {From: []identity.Approvers{{Group: "security"}}}}
	olga := identity.Actor{Person: identity.Person{ID: "p-olga", Name: "Olga", Groups: []string{"security"}},
		Tenants: map[string][]identity.Role{"vision": {identity.Owner}}}
	sam := identity.Actor{Person: identity.Person{ID: "p-sam", Name: "Sam", Groups: []string{"security"}}}
	root := identity.Actor{Person: identity.Person{ID: "p-root", Name: "Root"}, Global: []identity.Role{identity.Admin}}
	other := identity.Actor{Person: identity.Person{ID: "p-x"},
		Tenants: map[string][]identity.Role{"speech": {identity.Owner}}}
	r, f := waiting(steps), facts(t)
	refused := func(who identity.Actor, kind fault.Kind, sentence string) {
		t.Helper()
		if _, err := Decide(r, yes, who, f); !fault.Is(err, kind) || fault.As(err).Sentence.ID != sentence {
			t.Errorf("%s: want %s %s, got %v", who.Person.ID, kind, sentence, err)
		}
	}
	refused(sam, fault.Forbidden, "request.not_now")
	refused(other, fault.Forbidden, "request.not_approver")
	refused(ada, fault.Forbidden, "request.not_approver")
	refused(root, fault.Forbidden, "request.not_now")
	first, err := Decide(r, Answer{Verb: ApproveVerb, Note: "yes"}, olga, f)
	if err != nil || first.Request.State != Pending || first.Workload != nil || len(first.Events) != 1 ||
		first.Events[0].Kind != "request.consented" {
		t.Fatalf("want one step done, got %+v %v", first, err)
	}
	late := f
	late.Now = now.Add(4 * time.Hour)
	if out, err := Decide(r, yes, root, late); err != nil || out.Request.State != Pending {
		t.Errorf("after four hours it escalates, got %v", err)
	}
	r = first.Request
	refused(olga, fault.Conflict, "request.decided_by_you")
	done, err := Decide(r, yes, sam, f)
	if err != nil || done.Request.State != Approved || done.Workload == nil || done.Request.Decision.ByName != "Sam" {
		t.Fatalf("want it approved by the second, got %+v %v", done.Request, err)
	}
	if out, err := Decide(r, Answer{Verb: RejectVerb}, sam, f); err != nil || out.Request.State != Rejected {
		t.Errorf("one no ends it, got %v", err)
	}
}

// TestAWordGivenEarlyDoesNotBlock: somebody of both approvers speaks first; the other seat is then open to either
// party.
func TestAWordGivenEarlyDoesNotBlock(t *testing.T) {
	r := waiting([]policy.Step{{From: []identity.Approvers{{Role: identity.Approver}, {Group: "security"}}, All: true}})
	f := facts(t)
	both := ada
	both.Person.Groups = []string{"security"}
	out, err := Decide(r, yes, both, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, second := range []identity.Actor{{Person: identity.Person{ID: "p-1", Groups: []string{"security"}}},
		{Person: identity.Person{ID: "p-2"}, Global: []identity.Role{identity.Approver}}} {
		if done, err := Decide(out.Request, yes, second, f); err != nil || done.Request.State != Approved {
			t.Errorf("%s: want it approved, got %v", second.Person.ID, err)
		}
	}
}

func TestStandingIn(t *testing.T) {
	r, f := waiting(policy.OneOf(identity.Approver)), facts(t)
	bea := identity.Actor{Person: identity.Person{ID: "p-bea", Name: "Bea"}, Delegators: []identity.Actor{ada}}
	out, err := Decide(r, yes, bea, f)
	if c := out.Request.Decision.Consents; err != nil || out.Request.State != Approved || c[0].By != "p-bea" ||
		c[0].For != "p-ada" {
		t.Fatalf("want Bea to speak for Ada, got %+v %v", c, err)
	}
	if e := out.Events[0]; e.Actor != "p-bea" || e.Behalf != "p-ada" {
		t.Errorf("the record: want Bea in place of Ada, got %s in place of %q", e.Actor, e.Behalf)
	}
	r.Asker = ada.Person.ID
	if _, err := Decide(r, yes, bea, f); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nobody's delegate approves for them, got %v", err)
	}
	r.Asker = "p-bea"
	if _, err := Decide(r, yes, bea, f); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nor does one approve one's own as a delegate, got %v", err)
	}
}

// TestBeforeItEscalatesNobodyCountsForAll: an administrator may speak at once where an approver is asked, and for the
// other approvers only when the step has escalated. It was otherwise: one yes of an administrator counted for finance
// as well, hours before.
func TestBeforeItEscalatesNobodyCountsForAll(t *testing.T) {
	step := policy.Step{From: []identity.Approvers{{Group: "finance"}, {Role: identity.Approver}}, All: true,
		After: hours(4),
		Then:  []identity.Approvers{{Role: identity.Admin}}}
	for after, want := range map[time.Duration]State{time.Hour: Pending, 4 * time.Hour: Approved} {
		r, f := waiting([]policy.Step{step}), facts(t)
		f.Now = f.Now.Add(after)
		for _, a := range []identity.Actor{who("pat", identity.Admin), who("ada", identity.Approver)} {
			if out, err := Decide(r, yes, a, f); err == nil {
				r = out.Request
			}
		}
		if r.State != want {
			t.Errorf("after %v: want %s, got %s", after, want, r.State)
		}
	}
}

// TestTwoPersonsOverTheWholeChain: asker, who granted the approver's role, and approver are different people, however
// long the chain of grants. A role of the sign-in provider's groups has no such chain, and a role on another way
// counts.
func TestTwoPersonsOverTheWholeChain(t *testing.T) {
	byHand := func(role identity.Role, chain ...identity.PersonID) identity.Actor {
		return identity.Actor{Person: identity.Person{ID: "p-otto", Name: "Otto"},
			Tenants: map[string][]identity.Role{"vision": {role}},
			Granted: map[string][]identity.PersonID{identity.RolePrincipal(role, "vision"): chain}}
	}
	group := byHand(identity.Approver)
	group.Granted = nil
	delegation := identity.Actor{Person: identity.Person{ID: "p-bea"},
		Delegators: []identity.Actor{byHand(identity.Approver, "p-dana")}}
	platform := byHand(identity.Approver, "p-dana")
	platform.Global = []identity.Role{identity.Approver}
	const byAsker = "request.granted_by_asker"
	one, owners := policy.OneOf(identity.Approver), []policy.Step{{From: []identity.Approvers{{Role: identity.Owner}}}}
	outside := []policy.Step{{From: []identity.Approvers{{Role: identity.Approver, Scope: identity.PlatformScope}}}}
	for name, c := range map[string]struct {
		who   identity.Actor
		steps []policy.Step
		want  string // id of the refusal; "" where it counts
	}{
		"by group":                       {group, one, ""},
		"by hand, by a third person":     {byHand(identity.Approver, "p-pat"), one, ""},
		"by hand, by the asker":          {byHand(identity.Approver, "p-dana"), one, byAsker},
		"by who was put in by the asker": {byHand(identity.Approver, "p-x", "p-dana"), one, byAsker},
		"by themself":                    {byHand(identity.Approver, "p-otto"), one, byAsker},
		"an owner by the asker":          {byHand(identity.Owner, "p-dana"), owners, byAsker},
		"a platform approver as well":    {platform, one, ""},
		"who stands in for such a one":   {delegation, one, "request.not_approver"},
		"a tenant approver, where the rule wants the platform's": {group, outside, "request.not_approver"},
		"a platform approver, where the rule wants one":          {platform, outside, ""},
	} {
		r, f := waiting(c.steps), facts(t)
		out, err := Decide(r, yes, c.who, f)
		in := Inbox{Self: c.who.Person.ID, Now: now}
		for _, v := range append([]identity.Actor{c.who}, c.who.Delegators...) {
			in.Approvers = append(in.Approvers, ApproverOf(v))
		}
		switch {
		case c.want == "" && (err != nil || out.Request.State != Approved):
			t.Errorf("%s: want it to count, got %v", name, err)
		case c.want != "" && (!fault.Is(err, fault.Forbidden) || fault.As(err).Sentence.ID != c.want):
			t.Errorf("%s: want %s, got %v", name, c.want, err)
		}
		if in.Holds(r) != (c.want == "") || Awaits(r, c.who, now) != (c.want == "") {
			t.Errorf("%s: inbox and notices say something else than the decision", name)
		}
	}
}

// TestTheRecordNeverReadsAsSelfApproval: what a rule allows is the rule's, on behalf of the asker; what a person
// approves is theirs; what follows is the portal's.
func TestTheRecordNeverReadsAsSelfApproval(t *testing.T) {
	f := facts(t)
	w, _ := Check(draft(), offering())
	auto, err := Submit(w, dana, f)
	if err != nil {
		t.Fatal(err)
	}
	line := func(out Outcome) (all []string) {
		for _, e := range out.Events {
			all = append(all, string(e.Kind)+" by "+string(e.Actor)+" for "+string(e.Behalf))
		}
		return all
	}
	if diff := cmp.Diff([]string{"request.submitted by p-dana for ",
		"request.auto_approved by rule:shares-and-slices for p-dana",
		"workload.created by system for p-dana"}, line(auto)); diff != "" {
		t.Errorf("a rule (-want +got):\n%s", diff)
	}
	if e := auto.Events[1]; e.ActorName != "Rule shares-and-slices" || e.Address != "" || e.Rule != "shares-and-slices" {
		t.Errorf("want the rule by name and nobody's address, got %+v", e)
	}
	person, err := Decide(waiting(policy.OneOf(identity.Approver)), yes, ada, f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"request.approved by p-ada for ", "workload.created by system for p-dana"},
		line(person)); diff != "" {
		t.Errorf("a person (-want +got):\n%s", diff)
	}
	longer := workload.Workload{ID: "w-1", Tenant: "vision", Owner: "p-dana", Size: slice, State: workload.Running,
		Desired: workload.WantRunning, Lease: workload.Lease{From: now, Until: now.Add(time.Hour)}}
	extended, err := SubmitExtension(longer, hours(1), "more", dana, f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"request.submitted by p-dana for ",
		"request.auto_approved by rule:shares-and-slices for p-dana",
		"workload.extended by system for p-dana"}, line(extended)); diff != "" {
		t.Errorf("an extension (-want +got):\n%s", diff)
	}
}

// TestADecidedRequestAwaitsNobody: notices ask after a request whose steps are all done, for everybody.
func TestADecidedRequestAwaitsNobody(t *testing.T) {
	out, err := Decide(waiting(policy.OneOf(identity.Approver)), yes, ada, facts(t))
	if err != nil || out.Request.State != Approved {
		t.Fatal(err)
	}
	for _, a := range []identity.Actor{ada, dana, who("pat", identity.Admin), who("otto", identity.Approver)} {
		if Awaits(out.Request, a, now) || Reached(out.Request, a, now) {
			t.Errorf("%s: want nothing that waits", a.Person.ID)
		}
	}
}
