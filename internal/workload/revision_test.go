package workload_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	begun = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	ada   = identity.Actor{Person: identity.Person{ID: "p-ada", Name: "Ada"}}
)

// served is an endpoint that answers with the first version.
func served() workload.Workload {
	return workload.Workload{ID: "w-1", Name: "ranker", Kind: catalog.Endpoint, Desired: workload.WantRunning,
		State: workload.Running, Generation: 1, OwnerName: "Ada", CreatedAt: begun,
		Image: catalog.Image{Name: "vllm", Port: 8000}, Model: &catalog.Model{Source: catalog.FromHub, Name: "a/one"},
		Replicas: workload.NewReplicas(workload.Range{Min: 1, Max: 2}, autoscale.Policy{}),
		Lease:    workload.Lease{From: begun, Until: begun.Add(8 * time.Hour)}, PlacedAt: begun,
		Observed: workload.Observation{Generation: 1, PodPresent: true, Pod: "ranker-a", Node: "n-1", Ready: true}}
}

func second(stopFirst bool) workload.Update {
	return workload.Update{Image: catalog.Image{Name: "vllm", Port: 9000},
		Model: &catalog.Model{Source: catalog.FromHub, Name: "a/two"}, StopFirst: stopFirst, ReadyWithin: time.Hour}
}

func revised(t *testing.T, w workload.Workload, u workload.Update, at time.Time) workload.Workload {
	t.Helper()
	w, events, err := workload.Revise(u)(w, ada, at)
	if err != nil || len(events) != 1 || events[0].Kind != audit.RevisionStarted {
		t.Fatalf("revise: %v, %v", events, err)
	}
	return w
}

// seen is what the cluster says while the pod of before answers and the new one does what is given.
func seen(w workload.Workload, rollout workload.RolloutObservation) workload.Observation {
	rollout.Revision = w.Revision()
	return workload.Observation{Generation: 1, PodPresent: true, Pod: "ranker-a", Node: "n-1", Ready: true,
		Rollout: &rollout, Pods: []workload.Replica{{Pod: "ranker-a", Node: "n-1", Ready: true},
			{Pod: "ranker-b", Node: "n-2", Revision: 2}}}
}

func TestTheVersionOfBeforeAnswersUntilTheNewOneIsReady(t *testing.T) {
	w := revised(t, served(), second(false), begun)
	if w.Revision() != 2 || w.Model.Name != "a/two" || w.State != workload.Running || w.Replicas.Hold() != 2 {
		t.Fatalf("after it was asked for: %d %s %s, holds %d", w.Revision(), w.Model.Name, w.State, w.Replicas.Hold())
	}
	if old := w.AsRevision(1); old.Model.Name != "a/one" || old.Image.Port != 8000 {
		t.Errorf("the version of before is %v on port %d", old.Model, old.Image.Port)
	}
	w, events := workload.Advance(w, seen(w, workload.RolloutObservation{Reason: i18n.T("explain.pulling")}),
		begun.Add(time.Minute))
	if w.State != workload.Running || w.Revisions.Rollout == nil || len(events) != 0 {
		t.Fatalf("while it starts: %s, rollout %v, events %v", w.State, w.Revisions.Rollout, events)
	}
	ready := seen(w, workload.RolloutObservation{Ready: 1})
	w, _ = workload.Advance(w, ready, begun.Add(2*time.Minute)) // the previous one is still there
	if w.Revisions.Rollout == nil {
		t.Fatal("it took over while pods of before were left")
	}
	ready.Generation, ready.Scaled, ready.Pods = w.Generation, true, ready.Pods[1:]
	w, events = workload.Advance(w, ready, begun.Add(3*time.Minute))
	first, _ := w.RevisionAt(1)
	now, _ := w.RevisionAt(2)
	if w.Revisions.Rollout != nil || w.Revision() != 2 || first.State != workload.RevisionFormer ||
		now.State != workload.RevisionServing || len(events) != 1 || events[0].Kind != audit.RevisionServing {
		t.Fatalf("when it is ready: %+v, events %v", w.Revisions, events)
	}
	if w, _ = workload.Advance(w, ready, begun.Add(4*time.Minute)); w.Replicas.Hold() != 1 {
		t.Errorf("it holds %d replicas when the pod of before is gone", w.Replicas.Hold())
	}
	if w.RollbackTo() != 1 || !w.CanRollBack(1) || w.CanRollBack(2) {
		t.Errorf("it can go back to %d", w.RollbackTo())
	}
}

func TestAVersionThatCannotGetReadyTakesNoTraffic(t *testing.T) {
	missing := i18n.T("explain.image_missing", "Image", "vllm")
	for name, c := range map[string]struct {
		stopFirst bool
		seen      workload.RolloutObservation
		at        time.Time
		why       string
	}{
		"its image is missing": {seen: workload.RolloutObservation{Failed: true, Reason: missing}, why: missing.ID},
		"late, with the cluster's word": {seen: workload.RolloutObservation{Reason: missing}, at: begun.Add(time.Hour),
			why: missing.ID},
		"late, and nobody knows why": {at: begun.Add(time.Hour), why: "versions.late"},
		"the one of before was stopped": {stopFirst: true, why: missing.ID,
			seen: workload.RolloutObservation{Failed: true, Reason: missing}},
	} {
		t.Run(name, func(t *testing.T) {
			w := revised(t, served(), second(c.stopFirst), begun)
			obs := seen(w, c.seen)
			if c.stopFirst {
				obs.Ready, obs.Failed, obs.Pods = false, true, obs.Pods[1:]
			}
			generation := w.Generation
			w, events := workload.Advance(w, obs, c.at)
			r, _ := w.RevisionAt(2)
			if w.Revisions.Rollout != nil || w.Revision() != 1 || w.Model.Name != "a/one" || w.Generation != generation+1 {
				t.Fatalf("it goes on with version %d, %s", w.Revision(), w.Model.Name)
			}
			if r.State != workload.RevisionFailed || r.Reason.ID != c.why {
				t.Errorf("version 2 is %s: %q", r.State, r.Reason.ID)
			}
			if len(events) == 0 || events[0].Kind != audit.RevisionFailed {
				t.Errorf("events %v", events)
			}
			want := workload.Running
			if c.stopFirst {
				want = workload.Starting
			}
			if w.State != want {
				t.Errorf("the endpoint is %s, want %s", w.State, want)
			}
			if again := revised(t, w, second(false), c.at.Add(time.Minute)); again.Revision() != 3 {
				t.Errorf("the next version has number %d", again.Revision())
			}
		})
	}
}

func TestAStopEndsAVersionOnItsWay(t *testing.T) {
	w := revised(t, served(), second(false), begun)
	w, _, err := workload.Stop(w, ada, begun.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	w, events := workload.Advance(w, workload.Observation{Generation: 1, PodPresent: true}, begun.Add(2*time.Minute))
	if w.Revisions.Rollout != nil || w.Revision() != 1 || w.Desired != workload.WantStopped || w.Replicas.Surge != 0 {
		t.Errorf("after the stop: %+v, %s", w.Revisions, w.Desired)
	}
	if len(events) == 0 || events[0].Kind != audit.RevisionAborted {
		t.Errorf("events %v", events)
	}
}

func TestAVersionIsRefusedWhereItMakesNoSense(t *testing.T) {
	notebook, stopped, asleep, busy := served(), served(), served(), revised(t, served(), second(false), begun)
	notebook.Kind = catalog.Notebook
	stopped.Desired, stopped.State = workload.WantStopped, workload.Stopped
	asleep.Replicas.Asleep = true
	same := workload.Update{Image: served().Image, Model: served().Model}
	for want, c := range map[string]struct {
		w workload.Workload
		u workload.Update
	}{
		"versions.endpoints_only": {notebook, second(false)},
		"versions.not_running":    {stopped, second(false)},
		"versions.busy":           {busy, second(true)},
		"versions.same":           {served(), same},
	} {
		_, _, err := workload.Revise(c.u)(c.w, ada, begun)
		if !fault.Is(err, fault.Conflict) || fault.As(err).Sentence.ID != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if _, _, err := workload.Revise(second(false))(asleep, ada, begun); !fault.Is(err, fault.Conflict) {
		t.Errorf("asleep: %v", err)
	}
}

func TestManyVersionsAreForgottenButNotTheOneThatServes(t *testing.T) {
	w := served()
	for i := range 30 {
		u := second(false)
		u.Image.Port = int32(9000 + i)
		w = revised(t, w, u, begun)
		w, _ = workload.Advance(w, seen(w, workload.RolloutObservation{Failed: true}), begun)
	}
	if _, ok := w.RevisionAt(1); !ok || len(w.RevisionList()) != 10 || w.Revision() != 1 {
		t.Errorf("%d are remembered, version 1 among them: %t", len(w.RevisionList()), ok)
	}
	if next := revised(t, w, second(false), begun); next.Revision() != 32 {
		t.Errorf("the next has number %d", next.Revision())
	}
}

func TestAbort(t *testing.T) {
	w := revised(t, served(), second(false), begun)
	w, events, err := workload.Abort(w, ada, begun)
	r, _ := w.RevisionAt(2)
	if err != nil || len(events) != 1 || r.State != workload.RevisionAborted || w.Model.Name != "a/one" {
		t.Errorf("aborted: %s, %v, %v", r.State, events, err)
	}
	if w, _ = workload.Advance(w, workload.Observation{Generation: 1, PodPresent: true, Ready: true, Node: "n-1"},
		begun); w.State != workload.Running {
		t.Errorf("it is %s while the new pods go", w.State)
	}
}

func TestACanaryStaysUntilItIsPromoted(t *testing.T) {
	u, ten := second(false), 10
	if beside := revised(t, served(), u, begun).Claim(nil); beside.Replicas != 1 {
		t.Errorf("the budget holds %d replicas while a version takes over", beside.Replicas)
	}
	u.Percent = &ten
	w := revised(t, served(), u, begun)
	if n := w.Claim(nil).Replicas; n != 2 {
		t.Errorf("the budget holds %d replicas beside a canary", n)
	}
	if w.CanPromote() {
		t.Error("it can be promoted before it is ready")
	}
	if _, _, err := workload.Split(20)(w, ada, begun); !fault.Is(err, fault.Conflict) {
		t.Errorf("split before it is ready: %v", err)
	}
	ready := seen(w, workload.RolloutObservation{Ready: 1})
	ready.Generation = w.Generation
	w, events := workload.Advance(w, ready, begun.Add(time.Minute))
	if w.Revisions.Rollout == nil || !w.CanPromote() || len(events) != 1 || w.Replicas.Hold() != 2 {
		t.Fatalf("when it is ready: %+v, %v", w.Revisions.Rollout, events)
	}
	w, events = workload.Advance(w, ready, begun.Add(24*time.Hour)) // the deadline is long over
	if w.Revisions.Rollout == nil || len(events) != 0 {
		t.Fatalf("a day later: %+v, %v", w.Revisions.Rollout, events)
	}
	for percent, ok := range map[int]bool{-1: false, 0: true, 50: true, 100: false} {
		if _, _, err := workload.Split(percent)(w, ada, begun); (err == nil) != ok {
			t.Errorf("%d %%: %v", percent, err)
		}
	}
	failed := seen(w, workload.RolloutObservation{Failed: true, Reason: i18n.T("explain.crash")})
	if back, _ := workload.Advance(w, failed, begun.Add(25*time.Hour)); back.Revision() != 1 {
		t.Error("a canary that cannot go on stays")
	}
	w, events, err := workload.Promote(w, ada, begun.Add(25*time.Hour))
	if err != nil || len(events) != 1 || w.State != workload.Running {
		t.Fatal(err, events)
	}
	ready.Generation, ready.Pods = w.Generation, ready.Pods[1:]
	if w, _ = workload.Advance(w, ready, begun.Add(26*time.Hour)); w.Revisions.Rollout != nil || w.Revision() != 2 {
		t.Errorf("after the promotion: %+v", w.Revisions)
	}
}
