package workload_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestAStopAsksWhereWorkIsLost: memory that a stop ends is asked for, unless a notebook server just said that it has
// none.
func TestAStopAsksWhereWorkIsLost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	said := func(at time.Time, states ...string) *workload.Activity {
		a := &workload.Activity{At: at}
		for _, s := range states {
			a.Kernels = append(a.Kernels, workload.Kernel{State: s})
		}
		return a
	}
	for name, c := range map[string]struct {
		state    workload.State
		activity *workload.Activity
		want     bool
	}{
		"a busy kernel":                    {workload.Running, said(now, "idle", "busy"), true},
		"an idle kernel has its variables": {workload.Running, said(now, "idle"), true},
		"no kernel":                        {workload.Running, said(now.Add(-time.Minute)), false},
		"no kernel, an hour ago":           {workload.Running, said(now.Add(-time.Hour)), true},
		"no kernel, by another clock":      {workload.Running, said(now.Add(time.Hour)), true},
		"it says nothing of itself":        {workload.Running, nil, true},
		"it does not run yet":              {workload.Starting, nil, false},
		"it waits for a GPU":               {workload.Queued, nil, false},
	} {
		w := workload.Workload{Desired: workload.WantRunning, State: c.state}
		w.Observed.Activity = c.activity
		if got := w.StopLoses(now); got != c.want {
			t.Errorf("%s: want asked %t, got %t", name, c.want, got)
		}
	}
	if (workload.Workload{Desired: workload.WantStopped, State: workload.Running}).StopLoses(now) {
		t.Error("what is stopped already is asked for again")
	}
}
