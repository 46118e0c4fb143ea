package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const slice = "nvidia.com/mig-1g.10gb"

// small takes one slice and four CPUs, big two of each.
func small() catalog.Size {
	return catalog.Size{Name: "small", Technology: catalog.MIG, CPU: "4", Memory: "1Gi",
		Accelerator: catalog.Accelerator{Resource: slice, Count: 1, Profile: "1g.10gb"}}
}

func big() catalog.Size {
	s := small()
	s.Name, s.CPU, s.Accelerator.Count = "big", "8", 2
	return s
}

// world is a store and a cluster: one node with two slices, both held.
type world struct {
	now     time.Time
	taken   time.Time
	took    []forecast.StartDuration
	decided []time.Duration
	early   []time.Duration
	held    []forecast.Allocation
	line    []request.Waiting
	seats   []license.Seats
	cpu     int64 // of the node, in thousandths
	// elsewhere is a workload that holds a card of another node.
	elsewhere workload.ID
	// unseen is a workload that has a place which the picture of the cluster does not show yet.
	unseen workload.ID
	down   error
}

func newWorld() *world {
	w := &world{now: noon, taken: noon, cpu: 64_000}
	for _, s := range []int{10, 10, 12, 20, 40} {
		w.took = append(w.took, forecast.StartDuration{Total: time.Duration(s) * time.Second,
			AfterPlacement: time.Duration(s/2) * time.Second})
	}
	w.hold("w-1", small(), 600)
	w.hold("w-2", small(), 1200)
	return w
}

func (w *world) hold(id string, size catalog.Size, until int) {
	w.held = append(w.held, forecast.Allocation{Workload: workload.ID(id), Tenant: "vision", Cluster: "west", Size: size,
		Until: in(until), RequestedAt: in(-100)})
}

func (w *world) queue(id string, size catalog.Size, told int) {
	w.held = append(w.held, forecast.Allocation{Workload: workload.ID(id), Tenant: "vision", Cluster: "west", Size: size,
		Queued: true, RequestedAt: in(told)})
}

// lease gives the workload that was queued last a lease.
func (w *world) lease(until int) { w.held[len(w.held)-1].Until = in(until) }

func (w *world) StartDurations(context.Context, string, catalog.WorkloadKind,
	time.Time) ([]forecast.StartDuration, error) {
	return w.took, w.down
}
func (w *world) DecisionDurations(context.Context, string, time.Time) ([]time.Duration, error) {
	return w.decided, w.down
}
func (w *world) EarlyReleases(context.Context, string, time.Time) ([]time.Duration, error) {
	return w.early, w.down
}
func (w *world) Allocations(context.Context) ([]forecast.Allocation, error) { return w.held, w.down }
func (w *world) SeatLine(context.Context) ([]request.Waiting, error) {
	return w.line, w.down
}

func (w *world) Snapshot(_ context.Context, cluster string) (inventory.Snapshot, bool) {
	node := inventory.Node{Name: "node-1", Ready: true, Memory: inventory.Amount{Allocatable: 1 << 40},
		CPU:       inventory.Amount{Allocatable: w.cpu},
		Resources: []inventory.Resource{{Name: slice, Capacity: 2, Allocatable: 2}}}
	other := inventory.Node{Name: "node-2", Ready: true, CPU: node.CPU, Memory: node.Memory,
		Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 1, Allocatable: 1}}}
	for _, h := range w.held {
		if !h.Queued && h.Workload == w.elsewhere {
			other.Resources[0].Holders = []inventory.Holder{{Workload: string(h.Workload), Count: 1}}
		} else if !h.Queued && h.Workload != w.unseen {
			n := int64(h.Size.Accelerator.Count)
			node.Resources[0].Holders = append(node.Resources[0].Holders, inventory.Holder{Workload: string(h.Workload),
				Pod: string(h.Workload), Count: n})
			node.CPU.Requested += 4000 * n
		}
	}
	return inventory.Snapshot{Cluster: cluster, TakenAt: w.taken, Nodes: []inventory.Node{other, node}}, cluster == "west"
}

func (w *world) service() *forecast.Service {
	return forecast.New(forecast.Options{Store: w, Snapshots: w, Now: func() time.Time { return w.now },
		Seats: func(context.Context) ([]license.Seats, error) { return w.seats, w.down }})
}

func queued(id string, size catalog.Size) workload.Workload {
	return workload.Workload{ID: workload.ID(id), Tenant: "vision", Cluster: "west", Kind: catalog.Notebook, Size: size,
		Desired: workload.WantRunning, State: workload.Queued,
		UpdatedAt: noon, Observed: workload.Observation{At: noon}}
}

func TestForWorkload(t *testing.T) {
	for name, c := range map[string]struct {
		given func(w *world, item *workload.Workload)
		want  forecast.Estimate
	}{
		"the first in the line waits for the first lease": {nil,
			forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
				Lease: in(600)}},
		"the second waits for the second": {func(w *world, _ *workload.Workload) { w.queue("w-8", small(), -10) },
			forecast.Estimate{At: noon, From: in(1206), Until: in(1220), Basis: forecast.Leases, Count: 2, Position: 2,
				Lease: in(1200)}},
		"who asked later does not stand before it": {func(w *world, _ *workload.Workload) { w.queue("w-8", small(), 10) },
			forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
				Lease: in(600)}},
		"the third has nobody to wait for": {func(w *world, _ *workload.Workload) {
			w.queue("w-7", small(), -10)
			w.queue("w-8", small(), -10)
		},
			forecast.Estimate{At: noon, Missing: forecast.Stuck, Position: 3}},
		"the third waits for one of those before it": {func(w *world, _ *workload.Workload) {
			w.queue("w-7", small(), -10)
			w.lease(3000)
			w.queue("w-8", small(), -10)
			w.lease(2500)
		}, forecast.Estimate{At: noon, From: in(2506), Until: in(2520), Basis: forecast.Leases, Count: 3, Position: 3,
			Lease: in(2500)}},
		"the second behind one unit": {func(w *world, _ *workload.Workload) {
			w.held = w.held[:1]
			w.hold("w-2", small(), 0)
			w.held[1].Until = time.Time{} // never gives back: one unit is left
			w.queue("w-8", small(), -10)
			w.lease(4000)
		}, forecast.Estimate{At: noon, From: in(4006), Until: in(4020), Basis: forecast.Leases, Count: 2, Position: 2,
			Lease: in(4000)}},
		"one whose lease ends while it waits takes no place": {func(w *world, _ *workload.Workload) {
			w.queue("w-8", small(), -10)
			w.lease(-1)
		}, forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 2,
			Lease: in(600)}},
		"what was placed after the picture was taken holds its place": {func(w *world, _ *workload.Workload) {
			w.unseen, w.held[1].RequestedAt = "w-2", in(-1)
		}, forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
			Lease: in(600)}},
		"what takes two waits until both are given back": {func(_ *world, item *workload.Workload) { item.Size = big() },
			forecast.Estimate{At: noon, From: in(1206), Until: in(1220), Basis: forecast.Leases, Count: 2, Position: 1,
				Lease: in(1200)}},
		"a lease that gives back something else does not count": {func(w *world, _ *workload.Workload) {
			w.hold("w-0", small(), 60)
			w.elsewhere = "w-0"
		}, forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
			Lease: in(600)}},
		"a free slice without CPU comes with the CPU of the one that ends": {func(w *world, _ *workload.Workload) {
			w.held, w.cpu = w.held[:1], 6000
		},
			forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
				Lease: in(600)}},
		"with room it starts as others did": {func(w *world, _ *workload.Workload) { w.held = w.held[:1] },
			forecast.Estimate{At: noon, From: in(12), Until: in(40), Basis: forecast.Starts, Count: 5, Median: 12 * time.Second,
				P90: 40 * time.Second}},
		"those that waited say nothing of one that need not": {func(w *world, _ *workload.Workload) {
			w.held, w.took[0].Waited = w.held[:1], true
		},
			forecast.Estimate{At: noon, Missing: forecast.FewStarts, Count: 4}},
		"holders give back ten minutes early": {func(w *world, _ *workload.Workload) {
			for range 5 {
				w.early = append(w.early, 9*time.Minute)
			}
		}, forecast.Estimate{At: noon, From: in(66), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
			Lease: in(600), EarlyRelease: 9 * time.Minute}},
		"on its node": {func(_ *world, item *workload.Workload) {
			item.State, item.Observed.Steps = workload.Starting, []workload.Step{{Name: workload.StepPlaced, At: in(-5)}}
		}, forecast.Estimate{At: noon, From: in(1), Until: in(15), Basis: forecast.Placed, Count: 5, Median: 6 * time.Second,
			P90: 20 * time.Second}},
		"an old picture": {func(w *world, _ *workload.Workload) { w.taken = in(-181) },
			forecast.Estimate{At: noon, Missing: forecast.Silent}},
		"an old observation": {func(_ *world, item *workload.Workload) { item.Observed.At = in(-181) },
			forecast.Estimate{At: noon, Missing: forecast.Silent}},
		"a cluster that nobody has seen": {func(_ *world, item *workload.Workload) { item.Cluster = "east" },
			forecast.Estimate{At: noon, Missing: forecast.Silent}},
		"something that somebody has to mend": {func(_ *world, item *workload.Workload) {
			item.Reason = i18n.T("explain.nodes_down")
		},
			forecast.Estimate{At: noon, Missing: forecast.Stuck}},
		"nobody has the size any more": {func(_ *world, item *workload.Workload) {
			item.Size.Accelerator.Resource = "nvidia.com/mig-2g.20gb"
		},
			forecast.Estimate{At: noon, Missing: forecast.Stuck, Position: 1}},
		"its team's limit is used up by a lease that ends later": {func(w *world, item *workload.Workload) {
			item.Reason, w.held[0].Tenant = i18n.T("explain.quota_full"), "speech"
		}, forecast.Estimate{At: noon, From: in(1206), Until: in(1220), Basis: forecast.Leases, Count: 1, Position: 1,
			Lease: in(1200)}},
		"a lease without end is never given back": {func(w *world, _ *workload.Workload) {
			w.held[0].Until, w.held[1].Until = time.Time{}, time.Time{}
		},
			forecast.Estimate{At: noon, Missing: forecast.Stuck, Position: 1}},
		"it runs": {func(_ *world, item *workload.Workload) { item.State = workload.Running }, forecast.Estimate{}},
		"it stops": {func(_ *world, item *workload.Workload) { item.Desired = workload.WantStopped },
			forecast.Estimate{}},
		"it has failed": {func(_ *world, item *workload.Workload) { item.State = workload.Failed }, forecast.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			w, item := newWorld(), queued("w-9", small())
			if c.given != nil {
				c.given(w, &item)
			}
			w.queue("w-9", item.Size, 0)
			got, err := w.service().ForWorkload(t.Context(), item)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The line finds what playing it through minute by minute finds: whoever is first takes a place when one is free, and
// gives it back when the lease ends.
func TestTheLineIsPlayedThrough(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		w := newWorld()
		for i := range w.held {
			w.held[i].Until = in(60 * (1 + r.IntN(20)))
		}
		for i := range r.IntN(5) {
			w.queue(fmt.Sprint("w-", i+3), small(), -10+i)
			w.lease(60 * (1 + r.IntN(60)))
		}
		got, err := w.service().ForWorkload(t.Context(), queued("w-9", small()))
		if err != nil {
			t.Fatal(err)
		}
		if want := played(w.held); !got.Lease.Equal(want) {
			t.Fatalf("%v: want %v, got %+v", w.held, want, got)
		}
	}
}

// played is when somebody behind all that wait has a place: zero where that is never.
func played(held []forecast.Allocation) time.Time {
	var holding []time.Time
	var waiting []time.Time
	for _, h := range held {
		if h.Queued {
			waiting = append(waiting, h.Until)
		} else {
			holding = append(holding, h.Until)
		}
	}
	for minute := 1; minute < 1000; minute++ {
		now := in(60 * minute)
		ended := func(until time.Time) bool { return !until.After(now) }
		holding = slices.DeleteFunc(holding, ended)
		for len(holding) < 2 {
			waiting = slices.DeleteFunc(waiting, ended)
			if len(waiting) == 0 {
				return now
			}
			holding, waiting = append(holding, waiting[0]), waiting[1:]
		}
	}
	return time.Time{}
}

func TestForRequestsAndPreviews(t *testing.T) {
	spec := request.Spec{Kind: catalog.Notebook, Tenant: "vision", Cluster: "west", Size: small(),
		Image: catalog.Image{Name: "torch"}}
	asks := request.Request{ID: "r-2", Kind: request.StartKind, State: request.Pending, Spec: spec, CreatedAt: in(-60)}
	w := newWorld()
	w.decided = []time.Duration{time.Minute, time.Minute, 2 * time.Minute, 3 * time.Minute, 30 * time.Minute}
	for i := range w.held {
		w.held[i].Pool, w.held[i].Seats = "rtx", 1
	}
	w.line = []request.Waiting{{ID: "r-1", Pool: "rtx"}, {ID: "r-0", Pool: "other"}, {ID: "r-2", Pool: "rtx"}}
	w.seats = license.Count([]license.Pool{{Name: "rtx", Seats: 2}},
		[]license.Checkout{{Pool: "rtx", Workload: "w-1", Seats: 1},
			{Pool: "rtx", Workload: "w-2", Seats: 1}})
	seat, extend, done := asks, asks, asks
	seat.Decision.Seat = &request.SeatWait{Pool: "rtx"}
	extend.Kind, done.State = request.ExtendKind, request.Rejected
	approve := forecast.Estimate{At: noon, From: in(60 + 12), Until: in(29*60 + 40), Basis: forecast.Decisions, Count: 5,
		Median: 2 * time.Minute, P90: 30 * time.Minute}
	for name, c := range map[string]struct {
		asked request.Request
		want  forecast.Estimate
	}{
		"a start that people decide": {asks, approve},
		"one that waits for a seat": {seat, forecast.Estimate{At: noon, From: in(1206), Until: in(1220),
			Basis: forecast.Seats, Count: 2, Position: 2, Lease: in(1200)}},
		"a longer lease is no start":     {extend, forecast.Estimate{}},
		"what is decided is not awaited": {done, forecast.Estimate{}},
	} {
		got, err := w.service().ForRequest(t.Context(), c.asked)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	p := request.Preview{Spec: spec, Verdict: policy.Verdict{Outcome: policy.Allow}}
	got, err := w.service().ForPreview(t.Context(), p)
	if want := (forecast.Estimate{At: noon, From: in(606), Until: in(620), Basis: forecast.Leases, Count: 1, Position: 1,
		Lease: in(600)}); got != want || err != nil {
		t.Errorf("a spec that would wait: want %+v, got %+v %v", want, got, err)
	}
	p.Verdict.Outcome = policy.Approve
	approve.From, approve.Until = in(120+12), in(30*60+40)
	if got, err := w.service().ForPreview(t.Context(), p); got != approve || err != nil {
		t.Errorf("a spec that people decide: want %+v, got %+v %v", approve, got, err)
	}
	p.Verdict.Outcome, p.Refused = policy.Refuse, i18n.Literal("no")
	if got, err := w.service().ForPreview(t.Context(), p); got.Awaited() || err != nil {
		t.Errorf("a spec that is refused: got %+v %v", got, err)
	}
	w.down = errors.New("away")
	if _, err := w.service().ForWorkload(t.Context(), queued("w-9", small())); !errors.Is(err, w.down) {
		t.Errorf("want the trouble of the store, got %v", err)
	}
}
