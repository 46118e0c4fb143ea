package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// counted has every field set, so that a forgotten or crossed column shows.
func counted(n int64) traffic.Counts {
	c := traffic.Counts{Requests: 20 * n, ClientErrors: 2 * n, ServerErrors: 3 * n, Refused: 4 * n, Prompt: 5 * n,
		Completion: 6 * n, WithoutUsage: 7 * n}
	for i := range traffic.Buckets {
		c.First[i], c.Took[i] = int64(i+1)*n, int64(100+i)*n
	}
	return c
}

var (
	byKey    = traffic.Source{Workload: "w-1", Key: "k-1", Revision: 1}
	byPerson = traffic.Source{Workload: "w-1", Person: "p-ada", Revision: 2}
)

func minuteOf(s traffic.Source, at time.Time, n int64) traffic.Row {
	return traffic.Row{Source: s, Step: time.Minute, At: at, Counts: counted(n)}
}

var trafficCases = cases{
	"what processes count is added up, each batch once": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		must(t, s.CreateEndpointKey(ctx, endpointKey("k-1", 0), 2, Event(0)))
		at := time.Date(2026, 3, 29, 12, 14, 0, 0, time.UTC)
		first := traffic.Batch{Process: "g-1", Number: 1, At: at, Rows: []traffic.Row{minuteOf(byKey, at, 1),
			minuteOf(byPerson, at, 10)}}
		must(t, s.AddTraffic(ctx, first))
		must(t, s.AddTraffic(ctx, first)) // nobody heard that it was added
		must(t, s.AddTraffic(ctx, traffic.Batch{Process: "g-2", Number: 1, At: at, Rows: []traffic.Row{
			minuteOf(byKey, at, 100)}}))
		must(t, s.AddTraffic(ctx, traffic.Batch{Process: "g-1", Number: 2, At: at, Rows: []traffic.Row{
			minuteOf(byKey, at.Add(time.Minute), 1000)}}))
		must(t, s.AddTraffic(ctx, first))
		row := func(minute int, step traffic.Step, revision int, n int64) traffic.Row {
			return traffic.Row{Source: traffic.Source{Workload: "w-1", Revision: revision}, Step: step.Long,
				At: at.Truncate(time.Hour).Add(time.Duration(minute) * time.Minute), Counts: counted(n)}
		}
		equal(t, []traffic.Row{row(14, traffic.Fine, 1, 101), row(14, traffic.Fine, 2, 10), row(15, traffic.Fine, 1, 1000)},
			got(s.TrafficSeries(ctx, "w-1", traffic.Fine.Long, at))(t))
		equal(t, []traffic.Row{row(0, traffic.Coarse, 1, 101), row(0, traffic.Coarse, 2, 10),
			row(15, traffic.Coarse, 1, 1000)},
			got(s.TrafficSeries(ctx, "w-1", traffic.Coarse.Long, at.Truncate(time.Hour)))(t))
		equal(t, 0, len(got(s.TrafficSeries(ctx, "w-2", traffic.Fine.Long, at))(t)))
		key := traffic.Consumer{Key: "k-1", Name: "name-of-k-1", Counts: counted(1101)}
		person := traffic.Consumer{Person: "p-ada", Counts: counted(10)}
		equal(t, []traffic.Consumer{key, person}, got(s.TrafficByConsumer(ctx, "w-1", traffic.Fine.Long, at, 9))(t))
		equal(t, []traffic.Consumer{key}, got(s.TrafficByConsumer(ctx, "w-1", traffic.Coarse.Long,
			at.Truncate(time.Hour), 1))(t))
		gone := endpointKey("k-1", 0)
		gone.RevokedAt = later(60)
		must(t, s.RevokeEndpointKey(ctx, gone, Event(1)))
		key.Revoked = true
		key.Counts = counted(1000)
		equal(t, []traffic.Consumer{key}, got(s.TrafficByConsumer(ctx, "w-1", traffic.Fine.Long, at.Add(time.Minute),
			9))(t))

		must(t, s.PurgeOld(ctx, at.Add(traffic.Fine.Kept+30*time.Second)))
		equal(t, []traffic.Row{row(15, traffic.Fine, 1, 1000)},
			got(s.TrafficSeries(ctx, "w-1", traffic.Fine.Long, at.Add(-time.Hour)))(t))
		equal(t, 3, len(got(s.TrafficSeries(ctx, "w-1", traffic.Coarse.Long, at.Add(-time.Hour)))(t)))
		must(t, s.PurgeOld(ctx, at.Add(traffic.Coarse.Kept+time.Hour)))
		equal(t, 0, len(got(s.TrafficSeries(ctx, "w-1", traffic.Coarse.Long, at.Add(-time.Hour)))(t)))
	},
	"a batch of many keys is added whole": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		at := later(0).Truncate(time.Minute)
		b := traffic.Batch{Process: "g-1", Number: 7, At: at}
		for i := range 120 {
			source := byKey
			source.Key = fmt.Sprintf("k-%03d", i)
			b.Rows = append(b.Rows, minuteOf(source, at, 1))
		}
		must(t, s.AddTraffic(ctx, b))
		equal(t, 120, len(got(s.TrafficByConsumer(ctx, "w-1", traffic.Fine.Long, at, 999))(t)))
		equal(t, counted(120), got(s.TrafficSeries(ctx, "w-1", traffic.Fine.Long, at))(t)[0].Counts)
	},
	"looks at replicas are added up by step": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		at := time.Date(2026, 3, 29, 12, 14, 0, 0, time.UTC)
		look := traffic.Sample{At: at, Count: 1, Wanted: 2, Ready: 3, QueueCount: 4, Queue: 5.125}
		for range 2 {
			must(t, s.AddSamples(ctx, map[workload.ID]traffic.Sample{"w-1": look, "w-2": look}))
		}
		twice := traffic.Sample{At: at, Count: 2, Wanted: 4, Ready: 6, QueueCount: 8, Queue: 10.25}
		equal(t, []traffic.Sample{twice}, got(s.Samples(ctx, "w-1", traffic.Fine.Long, at))(t))
		twice.At = at.Truncate(15 * time.Minute)
		equal(t, []traffic.Sample{twice}, got(s.Samples(ctx, "w-1", traffic.Coarse.Long, twice.At))(t))
		must(t, s.PurgeOld(ctx, at.Add(traffic.Coarse.Kept+time.Hour)))
		equal(t, 0, len(got(s.Samples(ctx, "w-1", traffic.Coarse.Long, twice.At))(t)))
	},
	"endpoints that shall run are looked at": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for id, change := range map[workload.ID]func(*workload.Workload){
			"w-1": func(*workload.Workload) {}, "w-2": func(w *workload.Workload) { w.Kind = catalog.Notebook },
			"w-3": func(w *workload.Workload) { w.Desired = workload.WantStopped },
			"w-4": func(w *workload.Workload) { w.State = workload.Ended },
		} {
			w := Workload(string(id))
			w.Kind = catalog.Endpoint
			change(&w)
			must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, w) }))
		}
		list := got(s.RunningEndpoints(ctx))(t)
		if len(list) != 1 || list[0].ID != "w-1" {
			t.Errorf("want w-1, got %v", list)
		}
	},
}
