package workload

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

var (
	now  = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	dana = identity.Actor{Person: identity.Person{ID: "p-dana", Name: "Dana"},
		Tenants: map[string][]identity.Role{"vision": {identity.Developer}}}
)

// running is a valid workload that runs; tests change what matters.
func running() Workload {
	return Workload{ID: "w-1", Name: "nb-dana-x", Tenant: "vision", Owner: "p-dana", Desired: WantRunning, Generation: 1,
		State:    Running,
		PlacedAt: now.Add(-time.Hour), Lease: Lease{From: now.Add(-time.Hour), Until: now.Add(7 * time.Hour)},
		Observed: Observation{At: now, Generation: 1, PodPresent: true, Node: "n1", Ready: true}}
}

func TestAdvanceGivesTheStateOfAnObservation(t *testing.T) {
	cases := map[string]struct {
		desired Desired
		obs     Observation
		want    State
	}{
		"nothing there yet":    {WantRunning, Observation{}, Queued},
		"a pod without a node": {WantRunning, Observation{Generation: 2, PodPresent: true}, Queued},
		"a pod on a node": {WantRunning, Observation{Generation: 2, PodPresent: true, Node: "n"},
			Starting},
		"a ready pod": {WantRunning, Observation{Generation: 2, PodPresent: true, Node: "n",
			Ready: true}, Running},
		"a ready pod of an older spec": {WantRunning, Observation{Generation: 1, PodPresent: true, Node: "n",
			Ready: true}, Starting},
		"a pod that cannot go on": {WantRunning, Observation{Generation: 2, PodPresent: true, Node: "n",
			Failed: true}, Failed},
		"told to stop, pod still there": {WantStopped, Observation{Generation: 2, PodPresent: true, Node: "n",
			Ready: true}, Stopping},
		"told to stop, but the cluster has not heard": {WantStopped, Observation{Generation: 1}, Stopping},
		"told to stop, and gone":                      {WantStopped, Observation{Generation: 2}, Stopped},
		"deleted, pod still there":                    {WantDeleted, Observation{Generation: 2, PodPresent: true}, Stopping},
		"deleted, and gone":                           {WantDeleted, Observation{Generation: 2}, Ended},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := running()
			w.Desired, w.Generation = c.desired, 2
			got, events := Advance(w, c.obs, now)
			if got.State != c.want {
				t.Errorf("want %s, got %s", c.want, got.State)
			}
			if moved := got.State != w.State; moved != (len(events) == 1) {
				t.Errorf("want an event exactly when the state moved, got %d", len(events))
			}
		})
	}
}

func TestTheLeaseIsCountedFromTheFirstNode(t *testing.T) {
	w := running()
	w.PlacedAt, w.State = time.Time{}, Queued
	w.Lease = Lease{From: now.Add(-3 * time.Hour), Until: now.Add(5 * time.Hour)}
	got, _ := Advance(w, Observation{Generation: 1, PodPresent: true, Node: "n"}, now)
	if want := (Lease{From: now, Until: now.Add(8 * time.Hour)}); got.Lease != want {
		t.Errorf("want %v, got %v", want, got.Lease)
	}
	again, _ := Advance(got, Observation{Generation: 1, PodPresent: true, Node: "n", Ready: true}, now.Add(time.Hour))
	if again.Lease != got.Lease {
		t.Errorf("want the lease to be moved once, got %v", again.Lease)
	}
}

func TestEndLease(t *testing.T) {
	w := running()
	if got, events := EndLease(w, LeaseWarnings(), now); len(events) != 0 || got.Desired != WantRunning {
		t.Fatalf("want nothing in the middle of a lease, got %v", events)
	}
	soon := w.Lease.Until.Add(-time.Minute)
	warned, events := EndLease(w, LeaseWarnings(), soon)
	if len(events) != 1 || events[0].Kind != audit.LeaseWarned || !warned.Ending() {
		t.Fatalf("want one warning, got %v", events)
	}
	if _, events := EndLease(warned, LeaseWarnings(), soon.Add(time.Second)); len(events) != 0 {
		t.Fatalf("want no second warning, got %v", events)
	}
	ended, events := EndLease(warned, LeaseWarnings(), w.Lease.Until)
	if len(events) != 1 || events[0].Kind != audit.LeaseEnded || ended.Desired != WantStopped ||
		ended.Generation != w.Generation+1 {
		t.Fatalf("want it stopped at the end, got %+v %v", ended, events)
	}
	if _, _, err := Start(ended, dana, w.Lease.Until); !fault.Is(err, fault.Conflict) {
		t.Errorf("want no resume after the lease, got %v", err)
	}
	longer, _, err := Extend(ended, now.Add(48*time.Hour), dana, now)
	if err != nil || longer.Ending() {
		t.Errorf("want a longer lease whose end is announced anew, got %+v %v", longer, err)
	}
}

// A program that ended by itself ends the stay of a notebook, not of a server that others call.
func TestAProgramThatEnded(t *testing.T) {
	seen := Observation{Generation: 1, PodPresent: true, Node: "n", ProgramEnded: now.Add(-time.Second)}
	cases := map[string]struct {
		change func(*Workload, *Observation)
		want   Desired
	}{
		"a notebook":               {func(*Workload, *Observation) {}, WantStopped},
		"one that was never ready": {func(w *Workload, _ *Observation) { w.State = Starting }, WantStopped},
		"an endpoint":              {func(w *Workload, _ *Observation) { w.Kind = catalog.Endpoint }, WantRunning},
		"of an older spec":         {func(_ *Workload, o *Observation) { o.Generation = 0 }, WantRunning},
		"it goes on":               {func(_ *Workload, o *Observation) { o.ProgramEnded = time.Time{} }, WantRunning},
		"it is to be deleted":      {func(w *Workload, _ *Observation) { w.Desired = WantDeleted }, WantDeleted},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, obs := running(), seen
			w.Kind = catalog.Notebook
			c.change(&w, &obs)
			got, events := Advance(w, obs, now)
			if got.Desired != c.want {
				t.Fatalf("want %s, got %s", c.want, got.Desired)
			}
			if c.want != WantStopped {
				return
			}
			if len(events) != 1 || events[0].Kind != audit.WorkloadExited || got.Generation != w.Generation+1 ||
				got.State != Stopping || got.Reason.ID != "workload.program_ended" {
				t.Errorf("want one event and the reason, got %v %s %+v", events, got.State, got.Reason)
			}
			if back, _, err := Start(got, dana, now); err != nil || back.Desired != WantRunning {
				t.Errorf("want that it can be started again, got %v", err)
			}
		})
	}
}

func TestSpecsSentTwiceChangeNothingTheSecondTime(t *testing.T) {
	for name, change := range map[string]Change{"stop": Stop, "delete": Delete, "share": granting(Grant{To: ToTeam,
		Permission: MayUse})} {
		t.Run(name, func(t *testing.T) {
			once, events, err := change(running(), dana, now)
			if err != nil || len(events) != 1 {
				t.Fatalf("want one event, got %v %v", events, err)
			}
			twice, events, err := change(once, dana, now.Add(time.Second))
			if err != nil || len(events) != 0 || twice.Generation != once.Generation {
				t.Errorf("want no change, got %v %v", events, err)
			}
		})
	}
}

func TestEveryStateButEndedHasAWayOut(t *testing.T) {
	for _, s := range States() {
		if out := len(transitions[s]); (out == 0) != (s == Ended) {
			t.Errorf("%s has %d ways out", s, out)
		}
		for _, to := range transitions[s] {
			if _, known := transitions[to]; !known {
				t.Errorf("%s leads to %s, which is no state", s, to)
			}
		}
	}
}

func TestHoldsFromTheDecisionUntilThePodIsGone(t *testing.T) {
	w := running()
	w.State = Queued
	if !w.Holds() {
		t.Error("want a queued workload to hold its place")
	}
	stopping, _, _ := Stop(w, dana, now)
	if !stopping.Holds() {
		t.Error("want a stopping workload to hold until its pod is gone")
	}
	stopped, _ := Advance(stopping, Observation{Generation: stopping.Generation}, now)
	if stopped.Holds() {
		t.Error("want a stopped workload to hold nothing")
	}
}

// TestTheReasonOfAStopStays: the observations on the way to "stopped" said nothing, and wiped out that the lease had
// ended.
func TestTheReasonOfAStopStays(t *testing.T) {
	w := running()
	ended, _ := EndLease(w, LeaseWarnings(), w.Lease.Until)
	on, _ := Advance(ended, Observation{Generation: ended.Generation, PodPresent: true, Node: "n"}, now)
	gone, _ := Advance(on, Observation{Generation: ended.Generation}, now)
	if gone.State != Stopped || gone.Reason.ID != "workload.lease_ended" {
		t.Errorf("want it stopped because the lease ended, got %s %v", gone.State, gone.Reason)
	}
}

// job is a job that runs.
func job() Workload {
	w := running()
	w.Kind, w.Job = catalog.Job, &Job{Command: []string{"train"}, TimeLimit: catalog.Duration(2 * time.Hour)}
	return w
}

func TestAJobEndsAndGivesEverythingBack(t *testing.T) {
	code := func(n int32) *int32 { return &n }
	cases := map[string]struct {
		result Result
		want   State
	}{
		"success":                {Result{Succeeded: true, ExitCode: code(0), At: now}, Succeeded},
		"failure":                {Result{ExitCode: code(3), At: now}, Failed},
		"the time limit, no end": {Result{At: now}, Failed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obs := Observation{At: now, Generation: 1, Result: &c.result, Reason: i18n.T("explain.job_failed")}
			w, events := Advance(job(), obs, now)
			if w.State != c.want || w.Desired != Finished || w.Result == nil || w.Result.ExitCode != c.result.ExitCode {
				t.Fatalf("want %s, got %s %s %v", c.want, w.State, w.Desired, w.Result)
			}
			if w.Holds() || w.CanStop() || w.CanStart() || w.CanExtend() || w.CanOpen() || !w.CanDelete() || !w.CanRepeat() {
				t.Errorf("want nothing held and nothing to do but delete and repeat: %+v", w)
			}
			if len(events) != 1 || w.Reason.IsZero() != (c.want == Succeeded) {
				t.Errorf("want one event and a reason for a failure, got %d and %v", len(events), w.Reason)
			}
			reason := w.Reason
			w, events = Advance(w, Observation{At: now, Generation: 1, PodPresent: true, Node: "n", Ready: true}, now)
			if w.State != c.want || len(events) != 0 || w.Result == nil || w.Reason.ID != reason.ID {
				t.Errorf("what the cluster has afterwards changes nothing, got %s %v", w.State, w.Reason)
			}
			if after, events := EndLease(w, Warnings{}, w.Lease.Until.Add(time.Hour)); len(events) != 0 ||
				after.State != c.want {
				t.Errorf("its lease is over with it, got %s", after.State)
			}
		})
	}
}

func TestAnExitCodeIsSeenLater(t *testing.T) {
	w, _ := Advance(job(), Observation{Generation: 1, Result: &Result{At: now}}, now)
	code := int32(3)
	w, _ = Advance(w, Observation{Generation: 1, Result: &Result{At: now, ExitCode: &code}}, now)
	if w.Result.ExitCode == nil || *w.Result.ExitCode != 3 {
		t.Errorf("want 3, got %v", w.Result)
	}
}

func TestAJobThatWasStoppedIsOver(t *testing.T) {
	w, _, err := Stop(job(), dana, now)
	if err != nil || w.Over() {
		t.Fatalf("want it on its way, got %v %v", w.State, err)
	}
	w, _ = Advance(w, Observation{Generation: 2}, now)
	if w.State != Stopped || !w.Over() || w.CanStart() || w.CanExtend() || !w.CanRepeat() {
		t.Errorf("want it over, got %s", w.State)
	}
	if _, _, err := Start(w, dana, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("a job is not resumed, got %v", err)
	}
	ended, _ := Advance(job(), Observation{Generation: 1, Result: &Result{Succeeded: true, At: now}}, now)
	if _, _, err := Stop(ended, dana, now); !fault.Is(err, fault.Conflict) {
		t.Errorf("what has ended cannot be stopped, got %v", err)
	}
	if gone, _, err := Delete(ended, dana, now); err != nil || gone.Desired != WantDeleted {
		t.Errorf("what has ended can be deleted, got %v", err)
	}
}

// TestAJobBetweenTwoAttempts: while Kubernetes waits before the next one, no GPU is held.
func TestAJobBetweenTwoAttempts(t *testing.T) {
	w, _ := Advance(job(), Observation{Generation: 1, Pod: "train-x", Reason: i18n.T("explain.again", "Code", 3)}, now)
	if w.State != Queued || !w.Holds() || w.Reason.IsZero() {
		t.Errorf("want it to wait for its next attempt, with the reason, got %s %v", w.State, w.Reason)
	}
	if want := w.PlacedAt.Add(2 * time.Hour); !w.Deadline().Equal(want) {
		t.Errorf("want the time limit to count from the first place, got %s", w.Deadline())
	}
}
