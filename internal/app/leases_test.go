package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const day = 24 * time.Hour

func everywhere(string) bool { return true }

// volumeEvents are the events about storage, oldest first, with how long before the end they came.
func (w *world) volumeEvents(volume string) []string {
	w.t.Helper()
	events, _, err := w.store.Events(w.t.Context(), audit.Filter{Limit: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		if e.Volume != volume {
			continue
		}
		text := string(e.Kind)
		if left, ok := e.Detail.Args["Left"]; ok {
			text += fmt.Sprint(" ", left)
		}
		list = append([]string{text}, list...)
	}
	return list
}

// TestStorageThatNobodyUsesGoes: announced twice, kept for longer once, and then gone; what is used or cannot be seen
// stays.
func TestStorageThatNobodyUsesGoes(t *testing.T) {
	w := newWorld(t)
	w.workloads.Retention = workload.Retention{Period: 30 * day}
	left, other := w.unusedVolume(developer, "vision"), w.unusedVolume(developer, "vision")
	item := w.running(developer, "vision")
	look := func(after time.Duration) {
		t.Helper()
		w.clock.pass(after)
		for range 2 { // the second time there is nothing to do
			if err := w.workloads.EnforceRetention(t.Context(), everywhere); err != nil {
				t.Fatal(err)
			}
		}
	}
	look(0)
	look(24 * day)
	if _, err := w.workloads.ExtendRetention(t.Context(), w.actorOf(developer), other.Name); err != nil {
		t.Fatal(err)
	}
	look(5 * day)
	look(day + time.Minute)
	w.clock.pass(day)
	if err := w.workloads.EnforceRetention(t.Context(), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if v, err := w.store.Volume(t.Context(), left.Name); err != nil || v.Deleted {
		t.Errorf("want nothing to go of a cluster that does not answer, got %+v %v", v, err)
	}
	look(0)
	if v, err := w.store.Volume(t.Context(), left.Name); err != nil || !v.Deleted {
		t.Errorf("want it gone, got %+v %v", v, err)
	}
	if diff := cmp.Diff([]string{"volume.warned 7d", "volume.warned 1d", "volume.reclaimed"},
		w.volumeEvents(left.Name)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"volume.warned 7d", "volume.kept"}, w.volumeEvents(other.Name)); diff != "" {
		t.Error(diff)
	}
	if v, err := w.store.Volume(t.Context(), item.Volume); err != nil || v.Deleted || !v.UnusedFrom.IsZero() {
		t.Errorf("want what is used to stay, got %+v %v", v, err)
	}
	if _, err := w.workloads.ExtendRetention(t.Context(), w.actorOf(developer), left.Name); !fault.Is(err,
		fault.Conflict) {
		t.Errorf("want nothing to keep any more, got %v", err)
	}
}

// TestAStoppedWorkloadGoesWithItsStorage: until then it can be resumed, and whoever resumes it starts the time anew.
func TestAStoppedWorkloadGoesWithItsStorage(t *testing.T) {
	w := newWorld(t)
	w.workloads.Retention = workload.Retention{Period: 10 * day}
	item := w.running(developer, "vision")
	put := func(wanted workload.Desired, state workload.State) {
		t.Helper()
		now, err := w.store.Workload(t.Context(), item.ID)
		if err != nil {
			t.Fatal(err)
		}
		now.Desired, now.State, now.UpdatedAt = wanted, state, w.clock.now()
		w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), now) })
	}
	look := func(after time.Duration) {
		t.Helper()
		w.clock.pass(after)
		if err := w.workloads.EnforceRetention(t.Context(), everywhere); err != nil {
			t.Fatal(err)
		}
	}
	put(workload.WantStopped, workload.Stopping)
	look(99 * day) // its pod is still there
	put(workload.WantStopped, workload.Stopped)
	look(0)
	look(9 * day)
	put(workload.WantRunning, workload.Running)
	put(workload.WantStopped, workload.Stopped)
	look(day) // nobody looked while it ran
	look(8 * day)
	look(day)
	if got, err := w.store.Volume(t.Context(), item.Volume); err != nil || got.Deleted {
		t.Fatalf("want it kept, got %+v %v", got, err)
	}
	look(day)
	if got, err := w.store.Workload(t.Context(), item.ID); err != nil || got.Desired != workload.WantDeleted {
		t.Errorf("want the workload to go with it, got %v %v", got.Desired, err)
	}
	if got, err := w.store.Volume(t.Context(), item.Volume); err != nil || !got.Deleted || got.Workload != "" {
		t.Errorf("want it gone, got %+v %v", got, err)
	}
}

// TestLeasesThatBecomeLongerByThemselves: where the size says so, late, while nobody waits, and up to the longest.
func TestLeasesThatBecomeLongerByThemselves(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	size := item.Size
	size.AutoExtend, size.DefaultLease, size.MaxLease = true, catalog.Duration(4*time.Hour), catalog.Duration(10*time.Hour)
	on := size
	w.workloads.Sizes = func(string) (catalog.Size, bool) { return on, true }
	until := func(at time.Time) time.Duration {
		t.Helper()
		w.clock.pass(at.Sub(w.clock.now()))
		for range 2 {
			if err := w.workloads.ExtendDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		now, err := w.store.Workload(t.Context(), item.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.Lease.Until.Sub(now.Lease.From)
	}
	from := item.Lease.From
	if got := until(from.Add(3 * time.Hour)); got != 4*time.Hour {
		t.Errorf("want nothing an hour before the end, got %s", got)
	}
	on.AutoExtend = false
	if got := until(from.Add(3*time.Hour + 50*time.Minute)); got != 4*time.Hour {
		t.Errorf("want nothing where the size does not say so, got %s", got)
	}
	on.AutoExtend = true
	waiting := w.running(developer, "vision")
	waiting.State = workload.Queued
	w.save(func(tx request.Tx) error {
		now, err := tx.Workload(t.Context(), waiting.ID)
		if err != nil {
			return err
		}
		now.State = workload.Queued
		return tx.SaveWorkload(t.Context(), now)
	})
	if got := until(from.Add(3*time.Hour + 51*time.Minute)); got != 4*time.Hour {
		t.Errorf("want nothing while somebody waits, got %s", got)
	}
	if _, err := w.workloads.Stop(t.Context(), w.actorOf(developer), waiting.ID); err != nil {
		t.Fatal(err)
	}
	if got := until(from.Add(3*time.Hour + 52*time.Minute)); got != 8*time.Hour {
		t.Errorf("want four hours more, once, got %s", got)
	}
	if got := until(from.Add(7*time.Hour + 50*time.Minute)); got != 10*time.Hour {
		t.Errorf("want no more than the longest, got %s", got)
	}
	if got := until(from.Add(9*time.Hour + 50*time.Minute)); got != 10*time.Hour {
		t.Errorf("want an end, got %s", got)
	}
	events, err := w.workloads.History(t.Context(), w.actorOf(developer), item.ID)
	if err != nil {
		t.Fatal(err)
	}
	extended := 0
	for _, e := range events {
		if e.Kind == audit.WorkloadExtended && e.Detail.ID == "workload.extended_alone" && len(e.Changes) > 0 {
			extended++
		}
	}
	if extended != 2 {
		t.Errorf("want both on record, got %d of %d", extended, len(events))
	}
}
