package reconcile_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// A leader that was asleep does not know what the other one opened and closed meanwhile; whoever saves that a pod came
// or went moves the meter all the same.
func TestTwoMeters(t *testing.T) {
	type save struct {
		by     int // which controller
		placed bool
	}
	for name, saves := range map[string][]save{
		"opened by one, closed by the other":         {{0, true}, {1, false}},
		"opened again by the one that had missed it": {{0, true}, {0, false}, {1, true}, {1, false}, {0, true}},
		"in turns":     {{0, true}, {1, false}, {0, true}, {1, false}, {1, true}, {0, false}},
		"one looks on": {{0, true}, {1, true}, {0, false}, {1, false}, {0, true}, {1, true}},
	} {
		t.Run(name, func(t *testing.T) {
			store, ctx := reconciletest.NewStore(), context.Background()
			now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
			w := reconciletest.Notebook("nb", "gpu-vision", reconciletest.CPU, now)
			store.Put(w)
			meters := []reconcile.Meter{reconcile.NewMeter(store), reconcile.NewMeter(store)}
			for _, m := range meters { // both have read what is open: nothing
				if _, err := m.Change(ctx, w, w, now); err != nil {
					t.Fatal(err)
				}
			}
			opened := 0
			for _, s := range saves {
				now = now.Add(time.Minute)
				before := store.Get(w.ID)
				after := before
				after.Observed = workload.Observation{At: now, PodPresent: s.placed}
				if s.placed {
					after.Observed.Node = "node-1"
				}
				if s.placed && before.Observed.Node == "" {
					opened++
				}
				change, err := meters[s.by].Change(ctx, before, after, now)
				if err != nil {
					t.Fatal(err)
				}
				err = store.SaveObserved(ctx, after, nil, change)
				meters[s.by].Saved(after, change, err)
				if err != nil {
					t.Fatal(err)
				}
				intervals := store.Meter(w.ID)
				if len(intervals) != opened || isOpen(intervals) != s.placed {
					t.Fatalf("after %+v: want %d intervals, the last one open: %t; got %+v", s, opened, s.placed, intervals)
				}
			}
		})
	}
}

func isOpen(list []usage.Interval) bool { return len(list) > 0 && list[len(list)-1].Until.IsZero() }

// A resize that another controller has metered is not metered once more by one that still knows the old size.
func TestTwoMetersAndAResize(t *testing.T) {
	store, ctx := reconciletest.NewStore(), context.Background()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	w := reconciletest.Notebook("nb", "gpu-vision", reconciletest.CPU, now)
	w.Observed = workload.Observation{At: now, PodPresent: true, Node: "node-1"}
	store.Put(w)
	one, other := reconcile.NewMeter(store), reconcile.NewMeter(store)
	look := func(m reconcile.Meter) {
		t.Helper()
		now = now.Add(time.Minute)
		w := store.Get(w.ID)
		change, err := m.Change(ctx, w, w, now)
		if err == nil {
			err = store.SaveObserved(ctx, w, nil, change)
		}
		m.Saved(w, change, err)
		if err != nil {
			t.Fatal(err)
		}
	}
	look(one)
	look(other)
	w = store.Get(w.ID)
	w.Size = reconciletest.Slice
	store.Put(w)
	look(one)
	look(other)
	if got := store.Meter(w.ID); len(got) != 2 || got[0].Until.IsZero() || !isOpen(got) ||
		got[1].Size != reconciletest.Slice.Name {
		t.Errorf("want one interval for each size, got %+v", got)
	}
}

// TestTheMeterKnowsTheMachineOfASharedSeat: turns on one vGPU take one license of its machine together, so the meter
// writes down the machine; where the workload is found on another one it is cut.
func TestTheMeterKnowsTheMachineOfASharedSeat(t *testing.T) {
	store, ctx := reconciletest.NewStore(), context.Background()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	w := reconciletest.Notebook("nb", "gpu-vision", reconciletest.CPU, now)
	w.Size.Technology, w.Size.LicensePool, w.LicenseSeats = catalog.TimeSlicing, "vws", 1
	w.Size.Accelerator = catalog.Accelerator{Profile: "A40-12Q", Count: 1, Share: 0.25}
	store.Put(w)
	pools := []license.Pool{{Name: "vws", Product: license.VWS, Seats: 4}}
	meter := reconcile.NewSeatMeter(store, func(w workload.Workload) usage.Seats { return w.SeatsAmong(pools) })
	for _, node := range []string{"vm-1", "vm-1", "vm-2"} {
		now = now.Add(time.Minute)
		before := store.Get(w.ID)
		after := before
		after.Observed = workload.Observation{At: now, PodPresent: true, Node: node}
		change, err := meter.Change(ctx, before, after, now)
		if err != nil {
			t.Fatal(err)
		}
		if err = store.SaveObserved(ctx, after, nil, change); err != nil {
			t.Fatal(err)
		}
		meter.Saved(after, change, err)
	}
	var got []usage.Seats
	for _, i := range store.Meter(w.ID) {
		got = append(got, i.Seats)
	}
	cluster := store.Get(w.ID).Cluster
	want := []usage.Seats{{Pool: "vws", Count: 1, Group: "vgpu/A40-12Q/" + cluster + "/vm-1", Most: 1},
		{Pool: "vws", Count: 1, Group: "vgpu/A40-12Q/" + cluster + "/vm-2", Most: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("want the seats of two machines in turn %+v, got %+v", want, got)
	}
	if own := w.SeatsAmong(nil); own != (usage.Seats{Pool: "vws", Count: 1}) {
		t.Errorf("of a pool that is gone: want a seat of its own, got %+v", own)
	}
}
