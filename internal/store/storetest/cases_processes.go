package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

var processCases = cases{
	"what each process found is kept whole, and the oldest processes are forgotten": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		report := func(id string, seconds int) doctor.Report {
			return doctor.Report{ID: id, SeenAt: later(seconds), CheckedAt: later(seconds),
				Heartbeat: doctor.Heartbeat{Leads: true, Reconcile: map[string]int{"main": seconds}},
				Facts: doctor.Facts{At: later(seconds), Took: time.Second, Process: doctor.Process{Name: id, Version: "1",
					Roles: []string{"web"}, Started: later(0)}, Clusters: []doctor.Cluster{{Name: "main", Err: "away\x00"}}}}
		}
		first, second := report("a", 0), report("b", 60)
		must(t, s.SaveReport(ctx, first, later(-60)))
		before := got(s.LastChange(ctx))(t)
		must(t, s.SaveReport(ctx, second, later(-60)))
		if changes := got(s.ChangesAfter(ctx, before, 10))(t); len(changes) != 1 || changes[0].Topic != "system" {
			t.Errorf("want those who look told, got %+v", changes)
		}
		equal(t, []doctor.Report{first, second}, got(s.Reports(ctx, later(-60)))(t))
		equal(t, []doctor.Report{second}, got(s.Reports(ctx, later(30)))(t))

		must(t, s.WantChecks(ctx, later(70)))
		late := doctor.Heartbeat{Hung: []string{"leader election"}}
		must(t, s.SeeProcess(ctx, "a", later(80), late))
		first.WantedAt, second.WantedAt = later(70), later(70)
		first.SeenAt, first.Heartbeat = later(80), late
		equal(t, []doctor.Report{first, second}, got(s.Reports(ctx, later(-60)))(t))

		again := report("a", 90)
		must(t, s.SaveReport(ctx, again, later(75)))
		again.WantedAt = later(70)
		equal(t, []doctor.Report{again}, got(s.Reports(ctx, later(-60)))(t))
	},
	"a server says what it is": func(t *testing.T, s *store.Store) {
		d := got(s.Server(context.Background()))(t)
		if d.Engine != "SQLite" && d.Engine != "PostgreSQL" || d.Version == "" || d.ReadOnly {
			t.Errorf("got %+v", d)
		}
		if d.Engine == "PostgreSQL" && (d.Connections == 0 || d.Encoding != "UTF8") {
			t.Errorf("got %+v", d)
		}
	},
}
