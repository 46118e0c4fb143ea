package request

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// stopped is a slice of Dana's that gave its GPU back with four hours of its lease left.
func stopped() workload.Workload {
	return workload.Workload{ID: "w-1", Name: "nb", Tenant: "vision", Owner: dana.Person.ID, OwnerName: "Dana",
		Size: slice, Image: lab, Cluster: "main", Desired: workload.WantStopped, Generation: 2,
		State: workload.Stopped, Lease: workload.Lease{From: now.Add(-4 * time.Hour), Until: now.Add(4 * time.Hour)}}
}

// short is a budget that has one euro left of ten where four are asked for.
func short(limit budget.Limit) budget.Ask {
	return budget.Ask{Budget: budget.Budget{Tenant: "vision", Unit: "EUR", Amount: 1000, AtLimit: limit}, Left: 100,
		Cost: 400}
}

func TestAResumeThatTheBudgetHasNotEnoughFor(t *testing.T) {
	cases := map[string]struct {
		change func(*workload.Workload, *Facts)
		reason string
		want   string // id of the sentence; "" for a request that waits
	}{
		"an approver is asked": {reason: "the last epoch"},
		"a reason is needed":   {want: "request.reason_needed"},
		"it runs already": {change: func(w *workload.Workload, _ *Facts) { w.Desired = workload.WantRunning },
			reason: "x", want: "request.runs_already"},
		"it has been deleted": {change: func(w *workload.Workload, _ *Facts) { w.Desired = workload.WantDeleted },
			reason: "x", want: "workload.gone"},
		"its lease is over": {change: func(w *workload.Workload, _ *Facts) { w.Lease.Until = now }, reason: "x",
			want: "workload.start_after_lease"},
		"its team holds all it may": {change: func(_ *workload.Workload, f *Facts) { f.Quota.Used = 2 }, reason: "x",
			want: "request.quota_full"},
		"no seat is free": {change: func(_ *workload.Workload, f *Facts) {
			f.Seats = &license.Seats{Pool: license.Pool{Name: "p", Seats: 1, OnExhaustion: license.RefuseStarts}, Used: 1}
		}, reason: "x", want: "request.no_seat"},
		"the budget lets nobody agree": {change: func(_ *workload.Workload, f *Facts) { f.Budget = short(budget.Stop) },
			reason: "x", want: "budget.over"},
		"its own pod holds the last one": {change: func(w *workload.Workload, f *Facts) {
			w.State, f.Quota.Used = workload.Stopping, 2
		}, reason: "x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, f := stopped(), facts(t)
			f.Budget = short(budget.Approval)
			if c.change != nil {
				c.change(&w, &f)
			}
			out, err := SubmitResume(w, c.reason, dana, f)
			if c.want == "" {
				if err != nil || out.Request.State != Pending || out.Request.Kind != ResumeKind ||
					out.Request.Decision.Rule != BudgetRule || out.Workload != nil || out.Request.Estimate.Minor != 400 {
					t.Errorf("want a request that waits, got %+v %v", out, err)
				}
				return
			}
			got := fault.As(err).Sentence.ID
			if fields := fault.As(err).Fields; len(fields) > 0 {
				got = fields[0].Reason.ID
			}
			if got != c.want || len(out.Events) > 0 {
				t.Errorf("want %s, got %s: %v", c.want, got, err)
			}
		})
	}
}

func TestAResumeIsDecided(t *testing.T) {
	w, f := stopped(), facts(t)
	f.Budget = short(budget.Approval)
	out, err := SubmitResume(w, "the last epoch", dana, f)
	if err != nil {
		t.Fatal(err)
	}
	r := out.Request
	f.Extends, f.Now = &w, now.Add(time.Hour)
	if _, err := Decide(r, Answer{Verb: ApproveVerb}, dana, f); !fault.Is(err, fault.Forbidden) {
		t.Errorf("want nobody to decide their own, got %v", err)
	}
	if _, err := Decide(r, Answer{Verb: ApproveVerb, Reduced: Reduction{Lease: hours(1)}}, ada, f); !fault.Is(err,
		fault.Invalid) {
		t.Errorf("want no part of a lease granted, got %v", err)
	}
	out, err = Decide(r, Answer{Verb: ApproveVerb, Note: "go on"}, ada, f)
	if err != nil || out.Request.State != Approved || out.Workload == nil ||
		out.Workload.Desired != workload.WantRunning || out.Workload.Lease != w.Lease || out.Workload.Generation != 3 ||
		len(out.Events) != 2 {
		t.Errorf("want it to go on with the lease that it has, got %+v %v", out, err)
	}
	full := f
	full.Quota.Used = 2
	if _, err := Decide(r, Answer{Verb: ApproveVerb}, ada, full); !fault.Is(err, fault.Conflict) {
		t.Errorf("want what went meanwhile to stand in the way, got %v", err)
	}
	late := f
	late.Now = now.Add(5 * time.Hour)
	if _, err := Decide(r, Answer{Verb: ApproveVerb}, ada, late); !fault.Is(err, fault.Conflict) {
		t.Errorf("want a lease that is over to stay over, got %v", err)
	}
	running := w
	running.Desired = workload.WantRunning
	again := f
	again.Extends = &running
	if out, err := Decide(r, Answer{Verb: ApproveVerb}, ada, again); err != nil || out.Workload.Generation != 2 ||
		len(out.Events) != 1 {
		t.Errorf("want a yes to what runs already to change nothing, got %+v %v", out, err)
	}
	rich := f
	rich.Budget.Left, rich.Now = 500, now
	if out, err := SubmitResume(w, "", dana, rich); err != nil || out.Request.State != Approved ||
		out.Workload.Desired != workload.WantRunning {
		t.Errorf("want what the budget has enough for to go on at once, got %+v %v", out, err)
	}
}
