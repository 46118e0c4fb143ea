package workload

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
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

func TestSpecsSentTwiceChangeNothingTheSecondTime(t *testing.T) {
	for name, change := range map[string]Change{"stop": Stop, "delete": Delete, "share": Share(true)} {
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
