package request

import (
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// endpoint is an endpoint of Dana's that runs.
func endpoint() workload.Workload {
	w := stopped()
	w.Kind, w.Desired, w.State = catalog.Endpoint, workload.WantRunning, workload.Running
	return w
}

func rulesOf(t *testing.T, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	p, problems := policy.Compile(rules)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// TestAccessFromOutsideAlwaysNeedsAnApproval: of an administrator, or of whom a rule names that speaks of it; a rule
// that allows everything, or this by name, allows it not.
func TestAccessFromOutsideAlwaysNeedsAnApproval(t *testing.T) {
	own := `request.kind == "external-reach"`
	cases := map[string]struct {
		rule policy.Rule
		by   identity.Role // "" for a refusal
	}{
		"a rule that allows all":         {policy.Rule{Name: "all", When: "true", Outcome: policy.Allow}, identity.Admin},
		"a rule that allows it":          {policy.Rule{Name: "all", When: own, Outcome: policy.Allow}, identity.Admin},
		"a rule that asks for all":       {policy.Rule{Name: "all", When: "true", Outcome: policy.Approve}, identity.Admin},
		"a rule that names an approver":  {policy.Rule{Name: "r", When: own, Outcome: policy.Approve}, identity.Approver},
		"a rule that refuses it by name": {policy.Rule{Name: "r", When: own, Outcome: policy.Refuse}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, f := endpoint(), facts(t)
			f.Policy, f.Extends = rulesOf(t, c.rule), &w
			spec := specOf(w, 0, "for customers")
			spec.Outside = true
			out, err := SubmitReach(w, spec, dana, f)
			if c.by == "" {
				if !fault.Is(err, fault.Forbidden) {
					t.Errorf("want it refused, got %v %v", out.Request.State, err)
				}
				return
			}
			r := out.Request
			if err != nil || r.State != Pending || r.Kind != ReachKind || out.Workload != nil || len(out.Events) != 1 ||
				out.Events[0].Kind != audit.RequestSubmitted || !slices.EqualFunc(r.Steps(), policy.OneOf(c.by),
				func(a, b policy.Step) bool { return slices.Equal(a.From, b.From) }) || r.Estimate.Minor != 0 {
				t.Errorf("want it to wait for %s, got %+v %v", c.by, out, err)
			}
		})
	}
}

// TestAccessFromOutsideIsGranted: an approval opens the endpoint until its day, and changes nothing else of it.
func TestAccessFromOutsideIsGranted(t *testing.T) {
	w, f := endpoint(), facts(t)
	f.Extends = &w
	spec := specOf(w, 0, "for customers")
	spec.Outside, spec.OutsideUntil = true, now.Add(48*time.Hour)
	asked, err := SubmitReach(w, spec, dana, f)
	if err != nil || !asked.Request.ExpiresAt.Equal(spec.OutsideUntil) {
		t.Fatalf("it waits no longer than what it is for: %v %v", asked.Request.ExpiresAt, err)
	}
	boss := identity.Actor{Person: identity.Person{ID: "p-boss", Name: "Boss"}, Global: []identity.Role{identity.Admin}}
	out, err := Decide(asked.Request, Answer{Verb: ApproveVerb, Seen: asked.Request.Version}, boss, f)
	if err != nil || out.Request.State != Approved || out.Workload == nil {
		t.Fatalf("%+v %v", out, err)
	}
	got := out.Workload
	if !got.ReachedFromOutside(now) || got.ReachedFromOutside(spec.OutsideUntil) || got.Reach.By != "Boss" ||
		got.Reach.Request != string(out.Request.ID) || got.Generation != w.Generation || got.State != w.State {
		t.Errorf("got %+v of generation %d", got.Reach, got.Generation)
	}
	if kinds := kindsOf(out.Events); !slices.Equal(kinds, []audit.Kind{audit.RequestApproved, audit.ReachOpened}) {
		t.Errorf("got %v", kinds)
	}

	late := asked.Request
	late.ExpiresAt, f.Now = now.Add(TTL), spec.OutsideUntil
	if _, err := Decide(late, Answer{Verb: ApproveVerb}, boss, f); err == nil {
		t.Error("its day has passed")
	}
	gone := endpoint()
	gone.Desired = workload.WantDeleted
	f.Now, f.Extends = now, &gone
	if _, err := Decide(asked.Request, Answer{Verb: ApproveVerb}, boss, f); err == nil {
		t.Error("the endpoint is gone")
	}
	notebook := stopped()
	notebook.Kind = catalog.Notebook
	f.Extends = &notebook
	if _, err := SubmitReach(notebook, specOf(notebook, 0, "x"), dana, f); !fault.Is(err, fault.Conflict) {
		t.Errorf("a notebook is never reached from outside: %v", err)
	}
}

func kindsOf(events []audit.Event) (kinds []audit.Kind) {
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// TestAStartAsksForAccessFromOutsideBeside: the endpoint starts at once and inside alone, and a request waits for an
// administrator.
func TestAStartAsksForAccessFromOutsideBeside(t *testing.T) {
	f := facts(t)
	f.Policy = rulesOf(t, policy.Rule{Name: "all", When: "true", Outcome: policy.Allow})
	f.ID, f.Beside, f.Workload = "r-1", "r-2", "w-1"
	spec := specOf(endpoint(), catalog.Duration(time.Hour), "for customers")
	spec.Workload, spec.Name, spec.Outside = "", "ep", true
	out, err := Submit(spec, dana, f)
	if err != nil || out.Request.State != Approved || out.Workload == nil || out.Workload.Reach.External ||
		out.Beside == nil {
		t.Fatalf("want it started inside and a request beside, got %+v %v", out, err)
	}
	beside := out.Beside
	if beside.ID != "r-2" || beside.Kind != ReachKind || beside.State != Pending || beside.Workload != "w-1" ||
		beside.Asker != dana.Person.ID || beside.Spec.Reason != "for customers" ||
		policy.FirstRole(beside.Steps()) != identity.Admin {
		t.Errorf("got %+v", beside)
	}
	spec.Outside = false
	if out, err = Submit(spec, dana, f); err != nil || out.Beside != nil {
		t.Errorf("nobody asked for that: %+v %v", out.Beside, err)
	}
}

// TestReachOfADraft: only of an endpoint, with a reason, and where the site has an address for it.
func TestReachOfADraft(t *testing.T) {
	for name, c := range map[string]struct {
		draft  Draft
		spec   Spec
		off    bool
		field  string
		wanted bool
	}{
		"not asked for":       {Draft{}, Spec{Kind: catalog.Notebook}, true, "", false},
		"from inside":         {Draft{Reach: Internal}, Spec{Kind: catalog.Notebook}, true, "", false},
		"from outside":        {Draft{Reach: External}, Spec{Kind: catalog.Endpoint, Reason: "x"}, false, "", true},
		"without a reason":    {Draft{Reach: External}, Spec{Kind: catalog.Endpoint}, false, "reason", true},
		"of a notebook":       {Draft{Reach: External}, Spec{Kind: catalog.Notebook, Reason: "x"}, false, "reach", true},
		"where there is none": {Draft{Reach: External}, Spec{Kind: catalog.Endpoint, Reason: "x"}, true, "reach", true},
		"something else":      {Draft{Reach: "moon"}, Spec{Kind: catalog.Endpoint, Reason: "x"}, false, "reach", false},
	} {
		check := checker{offering: Offering{External: !c.off}}
		got, field := check.outside(c.draft, c.spec), ""
		if len(check.fields) > 0 {
			field = check.fields[0].Name
		}
		if got != c.wanted || field != c.field {
			t.Errorf("%s: want %t and a problem with %q, got %t, %v", name, c.wanted, c.field, got, check.fields)
		}
	}
}

func TestUntilADay(t *testing.T) {
	for text, want := range map[string]time.Time{"": {}, " ": {},
		now.AddDate(0, 0, 1).Format(time.DateOnly): now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 2),
		now.Add(time.Hour).Format(time.RFC3339):    now.Add(time.Hour).UTC().Truncate(time.Second)} {
		var c checker
		if got := c.until(text, now); !got.Equal(want) || len(c.fields) > 0 {
			t.Errorf("%q: want %v, got %v %v", text, want, got, c.fields)
		}
	}
	for _, text := range []string{"tomorrow", now.Add(-time.Hour).Format(time.RFC3339), "2020-01-01", "9999-01-01"} {
		var c checker
		if got := c.until(text, now); !got.IsZero() || len(c.fields) != 1 || c.fields[0].Name != "until" {
			t.Errorf("%q: %v %v", text, got, c.fields)
		}
	}
}
