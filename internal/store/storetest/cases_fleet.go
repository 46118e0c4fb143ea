package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// fleetSample is a cluster of two models so many seconds after noon; what is held differs with the time.
func fleetSample(cluster string, seconds int) usage.Sample {
	ours := int64(seconds % 3 * 120)
	return usage.Sample{Cluster: cluster, At: later(seconds).Truncate(time.Millisecond), Stock: []usage.Stock{
		{Model: "A30", Cards: 2 * usage.Parts, Broken: usage.Parts, Others: usage.Parts},
		{Model: "H100", Cards: 8 * usage.Parts, Ours: ours, Free: 7*usage.Parts - ours}}}
}

// fleetOf is what samples come to, without a store.
func fleetOf(zone *time.Location, samples ...usage.Sample) (r usage.Reconciliation) {
	for n := range len(samples) - 1 {
		r.Days = append(r.Days, usage.CountFleet(samples[n], samples[n+1].At, zone)...)
	}
	r.Days = r.By(func(d usage.FleetDay) string { return d.Day + "\x00" + d.Cluster + "\x00" + d.Model })
	return r
}

var fleetCases = cases{
	"the hours of the fleet are counted by day, each cluster for itself": func(t *testing.T, s *store.Store) {
		ctx, zone := context.Background(), noon.Location()
		var west, east []usage.Sample
		for n := range 12 {
			west = append(west, fleetSample("west", n*7*3600+n))
			east = append(east, fleetSample("east", n*100))
			must(t, s.CountFleet(ctx, west[n], zone))
			must(t, s.CountFleet(ctx, east[n], zone))
		}
		days, samples, err := s.Fleet(ctx, "2026-03-29", "2026-04-02")
		must(t, err)
		all := usage.Reconciliation{Days: append(fleetOf(zone, west...).Days, fleetOf(zone, east...).Days...)}
		equal(t, all.By(func(d usage.FleetDay) string { return d.Day + "\x00" + d.Cluster + "\x00" + d.Model }), days)
		equal(t, []usage.Sample{east[11], west[11]}, samples)
		days, _, err = s.Fleet(ctx, "2026-03-30", "2026-03-31")
		must(t, err)
		equal(t, 2, len(days))
	},
	"a second controller, a repeated and a late look change nothing of the fleet's hours": func(t *testing.T,
		s *store.Store) {
		ctx, zone := context.Background(), time.UTC
		samples := []usage.Sample{fleetSample("west", 0), fleetSample("west", 61), fleetSample("west", 122)}
		for n, sample := range samples {
			for range 3 {
				must(t, s.CountFleet(ctx, sample, zone))
			}
			must(t, s.CountFleet(ctx, samples[max(0, n-1)], zone))
		}
		days, _, err := s.Fleet(ctx, "2026-03-29", "2026-03-30")
		must(t, err)
		equal(t, fleetOf(zone, samples...).Days, days)
	},
	"the fleet's hours are counted once, however many count at once": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.CountFleet(ctx, fleetSample("west", 0), time.UTC))
		var group errgroup.Group
		for n := range 8 {
			group.Go(func() error { return s.CountFleet(ctx, fleetSample("west", 3*(1+n)), time.UTC) })
		}
		must(t, group.Wait())
		must(t, s.CountFleet(ctx, fleetSample("west", 60), time.UTC))
		days, _, err := s.Fleet(ctx, "2026-03-29", "2026-03-30")
		must(t, err)
		equal(t, fleetOf(time.UTC, fleetSample("west", 0), fleetSample("west", 60)).Days, days)
	},
	"what was metered is charged to the days and clusters in which it was": func(t *testing.T, s *store.Store) {
		ctx, r := context.Background(), rand.New(rand.NewPCG(9, 32))
		meters, clusters := map[string][]usage.Interval{}, map[string]string{}
		for n := range 12 {
			w := Workload(fmt.Sprint("w-", n))
			w.Cluster = []string{"west", "east"}[n%2]
			meters[string(w.ID)], clusters[string(w.ID)] = metered(r, w), w.Cluster
			meter(t, s, w, meters[string(w.ID)])
		}
		for range 20 {
			span := usage.Span{From: later(r.IntN(8000)), Until: later(8000 + r.IntN(8000))}
			var want []usage.Charge
			for id, list := range meters {
				for _, i := range list {
					want = append(want, usage.Charges(clusters[id], i, span)...)
				}
			}
			zone := time.FixedZone("", r.IntN(96)*900)
			equal(t, usage.ChargedDays(want, span, zone), usage.ChargedDays(got(s.Charges(ctx, span))(t), span, zone))
		}
	},
	"what the name of a card cannot hold is refused": func(t *testing.T, s *store.Store) {
		sample := fleetSample("west\x00", 0)
		if err := s.CountFleet(context.Background(), sample, time.UTC); err == nil {
			t.Errorf("want a refusal of %q", sample.Cluster)
		}
	},
}
