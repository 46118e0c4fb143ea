package workload_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func endpoint(wanted int) workload.Workload {
	r := workload.NewReplicas(workload.Range{Min: 1, Max: 4}, autoscale.Policy{})
	r.Wanted, r.Held = wanted, wanted
	return workload.Workload{Kind: catalog.Endpoint, Desired: workload.WantRunning, State: workload.Running, Generation: 1,
		Replicas: r}
}

func pods(nodes ...string) workload.Observation {
	o := workload.Observation{Generation: 1, PodPresent: true, Scaled: true}
	for _, n := range nodes {
		o.Pods = append(o.Pods, workload.Replica{Pod: "p-" + n, Node: n, Ready: n != ""})
	}
	o.Node, o.Ready = nodes[0], nodes[0] != ""
	return o
}

// What is deleted counts until its pod is gone: somebody else cannot have its GPU before.
func TestAScaleDownCountsUntilThePodsAreGone(t *testing.T) {
	now := time.Now()
	w, events, err := workload.Scale(1)(endpoint(3), identity.System(), now)
	if err != nil || len(events) != 1 || w.Replicas.Want() != 1 || w.Replicas.Hold() != 3 {
		t.Fatalf("want 1 wanted and 3 held, got %+v %v", w.Replicas, err)
	}
	waits := pods("a", "b", "c")
	waits.Scaled = false // its controller has not looked yet
	for what, step := range map[string]struct {
		seen          workload.Observation
		held, metered int
	}{
		"nothing has happened yet": {waits, 3, 3},
		"all are there still":      {pods("a", "b", "c"), 3, 3},
		"one is gone":              {pods("a", "b"), 2, 2},
		"two are gone":             {pods("a"), 1, 1},
	} {
		next, _ := workload.Advance(w, step.seen, now)
		if next.Replicas.Hold() != step.held || next.Metered() != step.metered {
			t.Errorf("%s: want %d held and %d metered, got %d and %d", what, step.held, step.metered, next.Replicas.Hold(),
				next.Metered())
		}
	}
}

func TestMetered(t *testing.T) {
	for what, c := range map[string]struct {
		wanted int
		seen   workload.Observation
		want   int
	}{
		"both are on nodes":                             {2, pods("a", "b"), 2},
		"one waits for a node":                          {2, pods("a", ""), 1},
		"a pod stands in for one that is being deleted": {1, pods("a", "b"), 1},
		"without a list of pods":                        {1, workload.Observation{PodPresent: true, Node: "a"}, 1},
		"nothing is there":                              {2, workload.Observation{}, 0},
	} {
		w := endpoint(c.wanted)
		w.Observed = c.seen
		if got := w.Metered(); got != c.want {
			t.Errorf("%s: want %d, got %d", what, c.want, got)
		}
	}
}

func TestScaleRefusesWhatCannotBe(t *testing.T) {
	notebook, deleted := endpoint(1), endpoint(1)
	notebook.Kind, deleted.Desired = catalog.Notebook, workload.WantDeleted
	for what, c := range map[string]struct {
		w      workload.Workload
		wanted int
		kind   fault.Kind
	}{
		"below the least": {endpoint(1), 0, fault.Invalid},
		"above the most":  {endpoint(1), 5, fault.Invalid},
		"a notebook":      {notebook, 2, fault.Conflict},
		"one that goes":   {deleted, 2, fault.Conflict},
	} {
		if _, _, err := workload.Scale(c.wanted)(c.w, identity.System(), time.Now()); !fault.Is(err, c.kind) {
			t.Errorf("%s: want %v, got %v", what, c.kind, err)
		}
	}
	if _, events, err := workload.Scale(3)(endpoint(3), identity.System(), time.Now()); err != nil || len(events) > 0 {
		t.Errorf("what is set already: want no change, got %v %v", events, err)
	}
}

// A stopped endpoint that is scaled and resumed holds what is wanted then.
func TestAStoppedEndpointScales(t *testing.T) {
	now := time.Now()
	w := endpoint(3)
	w.Lease.Until, w.Desired, w.State = now.Add(time.Hour), workload.WantStopped, workload.Stopped
	w, _, err := workload.Scale(2)(w, identity.System(), now)
	if err == nil {
		w, _, err = workload.Start(w, identity.System(), now)
	}
	if err != nil || w.Replicas.Want() != 2 || w.Replicas.Hold() != 2 {
		t.Errorf("want two, got %+v %v", w.Replicas, err)
	}
}

// TestUnready: of an endpoint that answers, the pods that shall answer and do not; nothing of what leaves, of workers,
// of jobs, or while nobody answers.
func TestUnready(t *testing.T) {
	w := workload.Workload{Kind: catalog.Endpoint, Desired: workload.WantRunning}
	w.Observed.Pods = []workload.Replica{{Pod: "a", Ready: true}, {Pod: "b"}, {Pod: "c", Leaving: true},
		{Pod: "d", Worker: true}}
	if got := w.Unready(); len(got) != 1 || got[0].Pod != "b" {
		t.Errorf("want b alone, got %+v", got)
	}
	job, stopped, silent := w, w, w
	job.Kind, stopped.Desired = catalog.Job, workload.WantStopped
	silent.Observed.Pods = w.Observed.Pods[1:]
	for name, other := range map[string]workload.Workload{"a job": job, "stopped": stopped, "silent": silent} {
		if got := other.Unready(); len(got) > 0 {
			t.Errorf("%s: want none, got %+v", name, got)
		}
	}
}
