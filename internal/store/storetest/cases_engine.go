package storetest

import (
	"cmp"
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// engineRecord is ten minutes of one workload's GPU, half of them busy and two idle.
func engineRecord(w string, before, from, until int) usage.EngineRecord {
	r := usage.EngineRecord{Cluster: "west", Month: usage.Month{Year: 2026, Month: time.March}, From: later(from),
		Until: later(until), Lines: []usage.EngineLine{{Workload: w, Tenant: "vision", Size: "mig-10gb",
			PerHour: usage.Money{Minor: 75, Currency: "EUR"}, EngineUse: usage.EngineUse{Measured: 10 * time.Minute,
				Busy: 5 * time.Minute, Idle: 2 * time.Minute}}}}
	if before >= 0 {
		r.Before = later(before)
	}
	return r
}

func engineOf(t *testing.T, s *store.Store, m usage.Month) (e usage.EngineUse) {
	t.Helper()
	for _, l := range got(s.Statement(context.Background(),
		usage.Filter{Span: usage.Span{From: later(0), Until: later(7200)}, Month: m}))(t).Lines {
		e = e.Add(l.Engine)
	}
	return e
}

var march = usage.Month{Year: 2026, Month: time.March}

var engineCases = cases{
	"how busy a line was is added to its month once, however often it is told": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		meter(t, s, Workload("w-1"), []usage.Interval{*interval(0, 7200)})
		equal(t, time.Time{}, got(s.EngineWatermark(ctx, "west"))(t))
		equal(t, usage.EngineUse{}, engineOf(t, s, march))
		first, second := engineRecord("w-1", -1, 0, 600), engineRecord("w-1", 600, 600, 1200)
		for range 2 {
			must(t, s.RecordEngine(ctx, first))
		}
		for range 2 {
			must(t, s.RecordEngine(ctx, second))
			must(t, s.RecordEngine(ctx, first))
		}
		equal(t, later(1200), got(s.EngineWatermark(ctx, "west"))(t))
		equal(t, time.Time{}, got(s.EngineWatermark(ctx, "east"))(t))
		equal(t, usage.EngineUse{Measured: 20 * time.Minute, Busy: 10 * time.Minute, Idle: 4 * time.Minute},
			engineOf(t, s, march))
		equal(t, usage.EngineUse{}, engineOf(t, s, march.Add(1)))
		must(t, s.RecordEngine(ctx, usage.EngineRecord{Cluster: "west", Month: march, Before: later(1200), From: later(1200),
			Until: later(1800)}))
		equal(t, later(1800), got(s.EngineWatermark(ctx, "west"))(t))
	},
	"how busy a line was is added once, however many record at once": func(t *testing.T, s *store.Store) {
		meter(t, s, Workload("w-1"), []usage.Interval{*interval(0, 7200)})
		for n := range 3 {
			var group errgroup.Group
			for range 6 {
				group.Go(func() error {
					return s.RecordEngine(context.Background(), engineRecord("w-1", cmp.Or(600*n, -1), 600*n, 600*n+600))
				})
			}
			must(t, group.Wait())
		}
		equal(t, 30*time.Minute, engineOf(t, s, march).Measured)
	},
	"no line is said to be measured for longer than it was held": func(t *testing.T, s *store.Store) {
		meter(t, s, Workload("w-1"), []usage.Interval{*interval(0, 300)}) // the ten minutes turned out to be five
		must(t, s.RecordEngine(context.Background(), engineRecord("w-1", -1, 0, 600)))
		equal(t, usage.EngineUse{Measured: 5 * time.Minute, Busy: 150 * time.Second, Idle: time.Minute},
			engineOf(t, s, march))
	},
	"what is metered on a cluster is known by its names": func(t *testing.T, s *store.Store) {
		ctx, east, ended := context.Background(), Workload("w-2"), Workload("w-3")
		east.Cluster, ended.State = "east", workload.Ended
		meter(t, s, Workload("w-1"), []usage.Interval{*interval(0, 60), *interval(100, 160)})
		for _, w := range []workload.Workload{east, ended} {
			i := *interval(0, 60)
			i.Workload = string(w.ID)
			meter(t, s, w, []usage.Interval{i})
		}
		list := got(s.MeteredOn(ctx, "west", usage.Span{From: later(0), Until: later(100)}))(t)
		want := recorder.Metered{Interval: *interval(0, 60), Namespace: "gpu-vision", Name: "name-of-w-1",
			Kind: catalog.Notebook, Size: Size("mig-10gb")}
		if len(list) != 2 || list[1].Workload != "w-3" {
			t.Fatalf("want w-1 and w-3, got %+v", list)
		}
		equal(t, want, list[0])
		equal(t, 0, len(got(s.MeteredOn(ctx, "west", usage.Span{From: later(60), Until: later(100)}))(t)))
	},
}
