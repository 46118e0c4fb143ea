package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// replicas have a value in every field.
func replicas() workload.Replicas {
	r := workload.NewReplicas(workload.Range{Min: 0, Max: 4}, autoscale.Policy{Metric: autoscale.Requests, Target: 2.5,
		ScaleDownAfter: catalog.Duration(time.Minute), ToZeroAfter: catalog.Duration(time.Hour)})
	r.Waking, r.Short, r.Recorded, r.RecordedAt = true, i18n.T("replicas.over_quota", "Most", "1"), 2, later(9)
	return r
}

// three is an endpoint of which three replicas are wanted; one has a node, one waits, one is not made yet.
func three(id string) workload.Workload {
	w := Workload(id)
	w.Size.LicensePool, w.LicenseSeats = "rtx", 2
	w.Replicas = workload.Replicas{Range: workload.Range{Min: 1, Max: 5}, Wanted: 3, Held: 3}
	w.Observed.Pods = []workload.Replica{{Pod: "a", Node: "node-1", Ready: true}, {Pod: "b"}}
	return w
}

var replicaCases = cases{
	"versions of an endpoint, and the replica more while one takes over": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := three("w-1")
		w.Kind, w.Replicas.Surge = catalog.Endpoint, 1
		w.Revisions = workload.Revisions{Serving: 1, Seamless: 7, List: []workload.Revision{
			{Number: 1, Image: w.Image, By: "Ada", At: later(1), State: workload.RevisionServing, Changed: later(2)},
			{Number: 2, Image: w.Image, Model: &catalog.Model{Source: catalog.FromHub, Name: "a/b"}, Of: 1, By: "Ada",
				At: later(3), State: workload.RevisionStarting, Changed: later(3), Reason: i18n.T("versions.late"),
				Detail: "words", Mounts: []workload.Mount{{Claim: "data"}}}},
			Rollout: &workload.Rollout{From: 1, To: 2, StopFirst: true, Deadline: later(9)}}
		w.Observed.Rollout = &workload.RolloutObservation{Revision: 2, Pod: "b", Ready: 1, Failed: true,
			Reason: i18n.T("versions.late"), Detail: "words"}
		saveWorkload(t, s, w)
		back := got(s.Workload(ctx, "w-1"))(t)
		equal(t, w.Revisions, back.Revisions)
		equal(t, w.Observed.Rollout, back.Observed.Rollout)
		equal(t, []workload.Holding{{Tenant: "vision", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx",
			Count: 4, Seats: 8}}, got(s.Holdings(ctx, "vision"))(t))
	},
	"what is held is told by cluster": func(t *testing.T, s *store.Store) {
		elsewhere := three("w-2")
		elsewhere.Cluster = "east"
		saveWorkload(t, s, three("w-1"), elsewhere)
		list := got(s.Holdings(context.Background(), "vision"))(t)
		slices.SortFunc(list, func(a, b workload.Holding) int { return strings.Compare(a.Cluster, b.Cluster) })
		equal(t, []workload.Holding{{Tenant: "vision", Size: "mig-10gb", Cluster: "east", LicensePool: "rtx", Count: 3,
			Seats: 6}, {Tenant: "vision", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx", Count: 3, Seats: 6}}, list)
	},
	"each replica counts against quota and seats": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		shrinks, stopped := three("w-2"), three("w-3")
		shrinks.Replicas.Wanted, shrinks.Replicas.Held = 1, 2
		stopped.Desired, stopped.State = workload.WantStopped, workload.Stopped
		saveWorkload(t, s, three("w-1"), shrinks, stopped)
		equal(t, []workload.Holding{{Tenant: "vision", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx",
			Count: 5, Seats: 10}}, got(s.Holdings(ctx, "vision"))(t))
		equal(t, []workload.Holding{{LicensePool: "rtx", Count: 5, Seats: 10}}, got(s.Holdings(ctx, "speech"))(t))
		nodes := map[string][]string{}
		for _, c := range got(s.Checkouts(ctx))(t) {
			equal(t, 2, c.Seats)
			nodes[c.Workload] = append(nodes[c.Workload], c.Node)
		}
		equal(t, map[string][]string{"w-1": {"node-1", "", ""}, "w-2": {"node-1", ""}}, nodes)
	},
	"what sleeps holds nothing": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asleep, ending := three("w-1"), three("w-2")
		asleep.State, asleep.Replicas.Asleep, asleep.Replicas.Held = workload.Asleep, true, 0
		asleep.Observed = workload.Observation{}
		ending.State, ending.Replicas.Asleep, ending.Replicas.Held = workload.Asleep, true, 2 // pods that are not gone yet
		saveWorkload(t, s, asleep, ending)
		equal(t, []workload.Holding{{Tenant: "vision", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx",
			Count: 2, Seats: 4}}, got(s.Holdings(ctx, "vision"))(t))
		for _, c := range got(s.Checkouts(ctx))(t) {
			equal(t, "w-2", c.Workload)
		}
		for _, a := range got(s.Allocations(ctx))(t) {
			equal(t, workload.ID("w-2"), a.Workload)
		}
		equal(t, 0, len(got(s.Queued(ctx, later(-3600)))(t)))
		c := got(s.BudgetClaim(ctx, "w-1"))(t)
		equal(t, false, c.Wanted || c.Holds)
	},
	"endpoints that scale are those that shall run": func(t *testing.T, s *store.Store) {
		by, asleep, stopped, ended := three("w-2"), three("w-3"), three("w-4"), three("w-5")
		for _, w := range []*workload.Workload{&by, &asleep, &stopped, &ended} {
			w.Kind, w.Replicas.Scaling = catalog.Endpoint, replicas().Scaling
		}
		asleep.State, asleep.Replicas.Asleep = workload.Asleep, true
		stopped.Desired, stopped.State = workload.WantStopped, workload.Stopped
		ended.Desired, ended.State = workload.WantDeleted, workload.Ended
		saveWorkload(t, s, three("w-1"), by, asleep, stopped, ended)
		var ids []workload.ID
		for _, w := range got(s.ScalingEndpoints(context.Background()))(t) {
			ids = append(ids, w.ID)
		}
		equal(t, []workload.ID{"w-2", "w-3"}, ids)
	},
	"what gateways measured of endpoints is that of the last report": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		load := func(id string, underWay int, at time.Time) autoscale.EndpointLoad {
			return autoscale.EndpointLoad{Workload: id, UnderWay: underWay, Concurrency: float64(underWay) / 2,
				PerSecond: float64(underWay) / 4, LastRequest: at}
		}
		east := autoscale.Report{Gateway: "east", At: later(1), Endpoints: []autoscale.EndpointLoad{load("w-1", 3, later(1)),
			load("w-2", 1, later(0))}}
		west := autoscale.Report{Gateway: "west", At: later(2), Endpoints: []autoscale.EndpointLoad{load("w-1", 2, later(2))}}
		must(t, s.SaveEndpointLoads(ctx, east))
		must(t, s.SaveEndpointLoads(ctx, west))
		equal(t, []autoscale.Report{east, west}, got(s.EndpointLoads(ctx))(t))
		must(t, s.SaveEndpointLoads(ctx, autoscale.Report{Gateway: "east", At: later(6),
			Endpoints: []autoscale.EndpointLoad{load("w-2", 0, later(5))}}))
		quiet := load("w-1", 0, later(1))
		equal(t, []autoscale.EndpointLoad{quiet, load("w-2", 0, later(5))}, got(s.EndpointLoads(ctx))(t)[0].Endpoints)
		must(t, s.EndGateway(ctx, "west"))
		after := got(s.EndpointLoads(ctx))(t)
		equal(t, 2, len(after))
		equal(t, true, after[1].At.IsZero())
		equal(t, later(2), after[1].Endpoints[0].LastRequest)
		must(t, s.SaveEndpointLoads(ctx, autoscale.Report{Gateway: "north", At: later(3600)}))
		after = got(s.EndpointLoads(ctx))(t)
		equal(t, "north", after[0].Gateway)
		equal(t, true, after[1].At.IsZero() && after[2].At.IsZero())
		must(t, s.PurgeOld(ctx, later(3*24*3600)))
		equal(t, 3, len(got(s.EndpointLoads(ctx))(t)))
		must(t, s.PurgeOld(ctx, later(9*24*3600)))
		equal(t, 1, len(got(s.EndpointLoads(ctx))(t)))
	},
	"replicas without a place wait for one": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		queued := three("w-2")
		queued.State, queued.Observed = workload.Queued, workload.Observation{}
		saveWorkload(t, s, three("w-1"), queued)
		lines := got(s.Queued(ctx, later(-3600)))(t)
		equal(t, 1, len(lines))
		equal(t, 2+3, lines[0].Count)
		equal(t, []workload.ID{"w-1"}, lines[0].Placed)
		waiting := map[workload.ID]int{}
		all := got(s.Allocations(ctx))(t)
		for _, a := range all {
			if a.Queued {
				waiting[a.Workload]++
			}
		}
		equal(t, 6, len(all))
		equal(t, map[workload.ID]int{"w-1": 2, "w-2": 3}, waiting)
	},
	"the budget is asked for what is wanted": func(t *testing.T, s *store.Store) {
		saveWorkload(t, s, three("w-1"))
		c := got(s.BudgetClaim(context.Background(), "w-1"))(t)
		equal(t, 3, c.Replicas)
		equal(t, int64(6), c.Seats.Count)
	},
	"two replicas for an hour are two hours, also in a rollup and in seats": func(t *testing.T, s *store.Store) {
		w := three("w-1")
		one := usage.Interval{Workload: "w-1", Tenant: "vision", Size: "mig-10gb", PerHour: w.Size.PricePerHour,
			From: later(0), Until: later(3600), Parts: 120, Seats: usage.Seats{Pool: "rtx", Count: 2}}
		two := one
		two.From, two.Until, two.Replicas, two.Parts, two.Seats.Count = later(3600), later(7200), 2, 240, 4
		meter(t, s, w, []usage.Interval{one, two})
		equal(t, map[workload.ID][]usage.Interval{"w-1": {one, two}}, got(s.Intervals(context.Background(),
			[]workload.ID{"w-1"}))(t))
		span := usage.Span{From: later(0), Until: later(7200)}
		for range 2 {
			lines := got(s.Statement(context.Background(), usage.Filter{Span: span}))(t).Lines
			equal(t, 1, len(lines))
			equal(t, 3*time.Hour, lines[0].Held)
			equal(t, int64(3*75), lines[0].Cost().Minor)
			must(t, s.SaveRollup(context.Background(), usage.Span{From: later(0), Until: later(5400)}))
		}
		spans := got(s.Spans(context.Background(), later(0)))(t)["rtx"]
		equal(t, []int{2, 4}, []int{spans[0].Seats, spans[1].Seats})
	},
}
