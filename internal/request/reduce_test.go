package request

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// big is a pending request of Dana's for a whole card for a hundred hours.
func big(t *testing.T) (Request, Facts) {
	t.Helper()
	d := draft()
	d.Size, d.Lease = "whole", "100h"
	w, fields := Check(d, offering())
	if len(fields) > 0 {
		t.Fatal(fields)
	}
	f := facts(t)
	out, err := Submit(w, dana, f)
	if err != nil || out.Request.State != Pending {
		t.Fatal(out.Request.State, err)
	}
	return out.Request, f
}

// TestYesBut: what was approved is what is applied.
func TestYesBut(t *testing.T) {
	r, f := big(t)
	out, err := Decide(r, Answer{Verb: ApproveVerb, Reduced: Reduction{Lease: hours(24), Size: slice}}, ada, f)
	if err != nil {
		t.Fatal(err)
	}
	got := out.Request
	if w := out.Workload; w.Size.Name != "slice" || w.Lease.Until.Sub(w.Lease.From) != hours(24).Std() ||
		got.Estimate.Minor != 2400 {
		t.Errorf("want a slice for a day, got %s until %v, %v", w.Size.Name, w.Lease, got.Estimate)
	}
	if c := got.Decision.Consents[0].Change; c == nil || *c != (policy.Change{Size: "whole", Lease: hours(100)}) {
		t.Errorf("want to know what was asked, got %+v", c)
	}
	if r.Spec.Size.Name != "whole" || r.Spec.Lease != hours(100) {
		t.Error("the request that was handed in stays as it is")
	}
}

func TestAnApprovalGivesNoMore(t *testing.T) {
	strict, problems := policy.Compile([]policy.Rule{{Name: "no-slices", When: `request.size == "slice"`,
		Outcome: policy.Refuse}, {Name: "rest", When: "true", Outcome: policy.Approve}})
	if problems != nil {
		t.Fatal(problems)
	}
	larger := whole
	larger.Name, larger.PricePerHour.Minor = "larger", 701
	cases := map[string]struct {
		less   Reduction
		change func(*Facts)
		kind   fault.Kind
	}{
		"a longer lease":        {Reduction{Lease: hours(101)}, func(*Facts) {}, fault.Invalid},
		"a dearer size":         {Reduction{Size: larger}, func(*Facts) {}, fault.Invalid},
		"what the rules refuse": {Reduction{Size: slice}, func(f *Facts) { f.Policy = strict }, fault.Conflict},
		"a size of which the quota is used up": {Reduction{Size: slice}, func(f *Facts) {
			f.Quota = Quota{Used: 2, Limit: 2}
		},
			fault.Conflict},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, f := big(t)
			c.change(&f)
			if _, err := Decide(r, Answer{Verb: ApproveVerb, Reduced: c.less}, ada, f); !fault.Is(err, c.kind) {
				t.Errorf("want %s, got %v", c.kind, err)
			}
		})
	}
}

// TestAnEditIsDecidedAnew: nothing that was said to the former spec counts (T-APPR).
func TestAnEditIsDecidedAnew(t *testing.T) {
	r, f := big(t)
	r.Version = 1
	r.Decision.Steps = append(r.Decision.Steps, policy.OneOf(identity.Admin)...)
	first, err := Decide(r, yes, ada, f)
	if err != nil || first.Request.State != Pending {
		t.Fatal(err)
	}
	w := r.Spec
	w.Lease = hours(90)
	out, err := Edit(first.Request, w, dana, f)
	if err != nil || out.Request.State != Pending || len(out.Request.Decision.Consents) != 0 ||
		out.Request.Spec.Lease != hours(90) || out.Events[0].Kind != "request.edited" {
		t.Fatalf("want it to wait for everybody again, got %+v %v", out.Request, err)
	}
	edited := out.Request
	edited.Version = 2
	if _, err := Decide(edited, Answer{Verb: ApproveVerb, Seen: 1}, ada, f); !fault.Is(err, fault.Conflict) {
		t.Errorf("who saw the one of before decides nothing, got %v", err)
	}
	w.Size, w.Lease = slice, hours(8)
	if out, err := Edit(first.Request, w, dana, f); err != nil || out.Request.State != Approved || out.Workload == nil ||
		out.Workload.Size.Name != "slice" {
		t.Errorf("a slice for a day starts at once, got %+v %v", out.Request.State, err)
	}
	done := first.Request
	done.State = Rejected
	if _, err := Edit(done, w, dana, f); !fault.Is(err, fault.Conflict) {
		t.Errorf("what is decided stays, got %v", err)
	}
}

func TestSmaller(t *testing.T) {
	r, _ := big(t)
	list := Smaller(catalog.Catalog{Sizes: []catalog.Size{slice, whole}}, r)
	if len(list) != 1 || list[0].Name != "slice" {
		t.Errorf("want the slice, got %v", list)
	}
}
