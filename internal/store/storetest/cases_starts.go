package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// start is one with every field set.
func start(id string) forecast.Start {
	return forecast.Start{Workload: workload.ID(id), Generation: 3, Size: "mig-10gb", Kind: catalog.Notebook,
		Cluster: "west", Waited: true, RequestedAt: later(0),
		AtRequest: forecast.Estimate{At: later(1), From: later(10), Until: later(20), Basis: forecast.Leases},
		Placed:    later(12), AtPlacement: forecast.Estimate{At: later(12), From: later(13), Until: later(18),
			Basis: forecast.Placed}, Ready: later(15)}
}

// saveStart saves a workload with the record of its start.
func saveStart(t *testing.T, s *store.Store, w workload.Workload, of forecast.Start) workload.Workload {
	t.Helper()
	must(t, s.SaveObserved(context.Background(), w, nil, nil, of))
	w.Version++
	return w
}

var startCases = cases{
	"the record of a start is kept whole, step by step": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		whole := start("w-1")
		filled(t, whole)
		_, err := s.Start(ctx, "w-1", 3)
		fails(t, fault.NotFound, err)
		told := whole
		told.Placed, told.AtPlacement, told.Ready = time.Time{}, forecast.Estimate{}, time.Time{}
		w := saveStart(t, s, Workload("w-1"), told)
		equal(t, told, got(s.Start(ctx, "w-1", 3))(t))
		later := whole
		// what was given at first stays as it was given
		later.RequestedAt, later.Waited, later.AtRequest = whole.RequestedAt.Add(time.Hour), false,
			forecast.Estimate{At: whole.AtRequest.At.Add(time.Hour)}
		saveStart(t, s, w, later)
		equal(t, whole, got(s.Start(ctx, "w-1", 3))(t))
		_, err = s.Start(ctx, "w-1", 4)
		fails(t, fault.NotFound, err)
	},
	"a start is ready once, and what came with the second time is not saved either": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := saveStart(t, s, Workload("w-1"), start("w-1"))
		again, renamed := start("w-1"), w
		again.Ready = again.Ready.Add(time.Hour)
		renamed.OwnerName = "Eve"
		fails(t, fault.Conflict, s.SaveObserved(ctx, renamed, nil, nil, again))
		equal(t, start("w-1"), got(s.Start(ctx, "w-1", 3))(t))
		equal(t, w.OwnerName, got(s.Workload(ctx, "w-1"))(t).OwnerName)
	},
	"how long starts took is told by size and kind, the newest first": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for id, change := range map[string]func(*forecast.Start){
			"w-1": func(*forecast.Start) {},
			"w-2": func(f *forecast.Start) { f.Ready, f.Waited = later(40), false },
			"w-3": func(f *forecast.Start) { f.Size = "other" },
			"w-4": func(f *forecast.Start) { f.Kind = catalog.Endpoint },
			"w-5": func(f *forecast.Start) { f.Ready = time.Time{} },
			"w-6": func(f *forecast.Start) { f.Ready, f.Placed, f.RequestedAt = later(-1000), later(-1001), later(-1002) },
		} {
			f := start(id)
			change(&f)
			saveStart(t, s, Workload(id), f)
		}
		equal(t, []forecast.StartDuration{{Total: 40 * time.Second, AfterPlacement: 28 * time.Second},
			{Total: 15 * time.Second, AfterPlacement: 3 * time.Second, Waited: true}},
			got(s.StartDurations(ctx, "mig-10gb", catalog.Notebook, later(0)))(t))
	},
	"how long a team's requests waited for people leaves out what rules decided": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for id, change := range map[string]func(*request.Request){
			"r-1": func(r *request.Request) { r.State, r.Decision.Consents = request.Rejected, nil },
			// consented at 6, then waited for a seat
			"r-2": func(r *request.Request) { r.State, r.DecidedAt = request.Approved, later(50) },
			"r-3": func(r *request.Request) { r.State, r.Decision.By = request.Approved, "" },
			"r-4": func(r *request.Request) { r.State = request.Withdrawn },
			"r-5": func(r *request.Request) { r.Kind, r.State = request.ExtendKind, request.Approved },
			"r-6": func(r *request.Request) { r.Spec.Tenant, r.State = "speech", request.Approved },
			"r-7": func(r *request.Request) { r.State, r.DecidedAt = request.Rejected, later(-5) },
		} {
			r := Request(id)
			change(&r)
			saveRequest(t, s, r)
		}
		equal(t, []time.Duration{6 * time.Second, 30 * time.Second}, got(s.DecisionDurations(ctx, "vision", later(0)))(t))
	},
	"how much earlier than its lease a size is given back": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for id, change := range map[string]func(*workload.Workload){
			"w-1": func(w *workload.Workload) { w.State = workload.Stopped },
			"w-2": func(w *workload.Workload) {},
			"w-3": func(w *workload.Workload) { w.State, w.Size.Name = workload.Ended, "other" },
		} {
			w := Workload(id)
			change(&w)
			open := usage.Interval{Tenant: "vision", Size: w.Size.Name, PerHour: w.Size.PricePerHour, From: later(0)}
			must(t, s.SaveObserved(ctx, w, nil, &open))
			w.Version++
			open.Until = later(3000)
			must(t, s.SaveObserved(ctx, w, nil, &open))
		}
		equal(t, []time.Duration{10 * time.Minute}, got(s.EarlyReleases(ctx, "mig-10gb", later(0)))(t))
		equal(t, []time.Duration{}, got(s.EarlyReleases(ctx, "mig-10gb", later(3001)))(t))
	},
	"holders are told with the end of their leases, and those that wait with when they were told to run": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		queued := Workload("w-2")
		queued.State, queued.Lease = workload.Queued, workload.Lease{}
		f := start("w-2")
		f.RequestedAt = later(100)
		stopped, gone := Workload("w-3"), Workload("w-4")
		stopped.Desired, stopped.State = workload.WantStopped, workload.Stopped
		gone.Desired, gone.State = workload.WantDeleted, workload.Stopping
		saveWorkload(t, s, Workload("w-1"))
		saveStart(t, s, queued, f)
		saveWorkload(t, s, stopped)
		saveWorkload(t, s, gone)
		held := forecast.Allocation{Workload: "w-1", Tenant: "vision", Cluster: "west", Size: Size("mig-10gb"), Pool: "rtx",
			Seats: 2, Until: later(3600), RequestedAt: later(7)}
		second, fourth := held, held
		second.Workload, second.Until, second.Queued, second.RequestedAt = "w-2", time.Time{}, true, later(100)
		fourth.Workload = "w-4"
		equal(t, []forecast.Allocation{held, second, fourth}, got(s.Allocations(ctx))(t))
	},
	"records of starts go after half a year": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveStart(t, s, Workload("w-1"), start("w-1"))
		must(t, s.PurgeOld(ctx, later(0).AddDate(0, 0, 179)))
		got(s.Start(ctx, "w-1", 3))(t)
		must(t, s.PurgeOld(ctx, later(0).AddDate(0, 0, 181)))
		_, err := s.Start(ctx, "w-1", 3)
		fails(t, fault.NotFound, err)
	},
}
