package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestFixedIsWhatGormAsks: the same statement with the same values, in a transaction too, and each is told to those who
// count.
func TestFixedIsWhatGormAsks(t *testing.T) {
	var told []string
	ctx := context.Background()
	s := opened(t, Options{OnSQL: func(_ context.Context, sql string) { told = append(told, sql) }})
	asks := func(v view, ask func(v view) error) string {
		t.Helper()
		told = nil
		if err := ask(v); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 {
			t.Fatalf("want one statement, got %q", told)
		}
		return told[0]
	}
	both := func(v view) {
		t.Helper()
		for _, of := range []struct{ fixed, gorm func(view) error }{
			{func(v view) error { _, err := personByID.all(ctx, v, "p'1"); return err },
				func(v view) error { _, err := all[personRow](v.at(ctx).Where("id = ?", "p'1").Limit(1)); return err }},
			{func(v view) error { _, err := workloadByID.all(ctx, v, "w-1"); return err },
				func(v view) error { _, err := all[workloadRow](v.at(ctx).Where("id = ?", "w-1").Limit(1)); return err }},
			{func(v view) error { _, err := secretsOfOne.all(ctx, v, "p-1", "team"); return err },
				func(v view) error {
					_, err := all[secretRow](v.at(ctx).Where("person = ? AND tenant = ?", "p-1", "team").Order("name"))
					return err
				}},
			{func(v view) error { _, err := v.Volumes(ctx, workload.VolumeFilter{Owner: "p-1"}); return err },
				func(v view) error {
					_, err := all[volumeRow](v.at(ctx).Where("NOT deleted").Where("owner = ?", "p-1").Order("name"))
					return err
				}},
			{func(v view) error {
				_, err := v.Volumes(ctx, workload.VolumeFilter{Tenants: []string{"a"}, Shared: true})
				return err
			}, func(v view) error {
				_, err := all[volumeRow](among(v.at(ctx).Where("NOT deleted"), "tenant", []string{"a"}).
					Where("share <> '{}'").Order("name"))
				return err
			}},
			{func(v view) error { _, err := v.Datasets(ctx, []string{"a"}); return err },
				func(v view) error {
					_, err := all[datasetRow](among(v.at(ctx), "tenant", []string{"a"}).Order("tenant, name"))
					return err
				}},
		} {
			if want, got := asks(v, of.gorm), asks(v, of.fixed); got != want {
				t.Errorf("want %s\n got %s", want, got)
			}
		}
	}
	both(s.view)
	if err := s.readOnly(ctx, func(v view) error { both(v); return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestFixedOnPostgres: the values have numbers there, and the limit is one of them.
func TestFixedOnPostgres(t *testing.T) {
	s := opened(t, Options{})
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: s.pools()["read"]}),
		&gorm.Config{QueryFields: true, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	query := asked[eventKey](func(db *gorm.DB) *gorm.DB {
		return db.Table("audit_events").Where("seq > ? AND link = ?", 0, "").Limit(7)
	})
	text, err := query.text(db, 2)
	want := `SELECT "audit_events"."seq","audit_events"."link" FROM "audit_events" WHERE seq > $1 AND link = $2 LIMIT $3`
	if err != nil || text.sql != want || !slices.Equal(text.more, []any{7}) {
		t.Errorf("want %s and 7, got %s and %v, %v", want, text.sql, text.more, err)
	}
}

// TestEventsAreReadOnce: those of a page that was read are not read again, new ones are, and a filter still chooses.
func TestEventsAreReadOnce(t *testing.T) {
	reads := 0
	ctx := context.Background()
	s := opened(t, Options{OnSQL: func(context.Context, string) { reads++ }})
	add := func(names ...string) {
		t.Helper()
		var events []audit.Event
		for _, name := range names {
			events = append(events, audit.Event{At: time.Unix(int64(len(names)), 0), Kind: audit.WorkloadStopped, Tenant: name,
				ActorName: name, Detail: i18n.T("workload.stopped_by", "Name", name), Changes: audit.Changed("name", "", name)})
		}
		if err := s.Append(ctx, events...); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(statements int, f audit.Filter, want ...string) {
		t.Helper()
		reads = 0
		events, _, err := s.Events(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			if e.Detail.Args["Name"] != e.ActorName || e.Changes[0].New != e.ActorName {
				t.Errorf("%s: %v, %v", e.ActorName, e.Detail, e.Changes)
			}
			got = append(got, e.ActorName)
		}
		if !slices.Equal(got, want) || reads != statements {
			t.Errorf("want %v by %d statements, got %v by %d", want, statements, got, reads)
		}
	}
	add("a", "b")
	shows(2, audit.Filter{}, "b", "a")
	shows(1, audit.Filter{}, "b", "a")
	add("c")
	shows(2, audit.Filter{}, "c", "b", "a")
	shows(1, audit.Filter{}, "c", "b", "a")
	shows(1, audit.Filter{Tenant: "b"}, "b")
	shows(1, audit.Filter{Limit: 2}, "c", "b")
	shows(1, audit.Filter{Limit: largestOne}, "c", "b", "a") // as a file: read as a whole
}

func opened(t *testing.T, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), "sqlite:"+filepath.Join(t.TempDir(), "portal.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOneMoment: a page asks once whether anything has changed; what it writes itself it sees, and so does the next
// page.
func TestOneMoment(t *testing.T) {
	asked := 0
	s := opened(t, Options{OnSQL: func(_ context.Context, sql string) {
		if sql == selectLast {
			asked++
		}
	}})
	changes := func(ctx context.Context) {
		t.Helper()
		err := s.write(ctx, func(t *tx) error {
			t.changed(live.Change{Topic: live.TopicInventory, ID: "local"})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sees := func(ctx context.Context, v view, statements int, want int64) {
		t.Helper()
		asked = 0
		for range 3 {
			if got, err := v.LastChange(ctx); got != want || err != nil {
				t.Errorf("want %d, got %d, %v", want, got, err)
			}
		}
		if asked != statements {
			t.Errorf("want %d statements, got %d", statements, asked)
		}
	}
	other, page := context.Background(), live.AtOneMoment(context.Background())
	sees(other, s.view, 3, 0)
	sees(page, s.view, 1, 0)
	changes(other)
	sees(other, s.view, 3, 1)
	sees(page, s.view, 0, 0)
	err := s.readOnly(page, func(v view) error {
		sees(page, v, 1, 1) // a decision looks at what is there
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	changes(page)
	sees(page, s.view, 1, 2)
	sees(live.AtOneMoment(context.Background()), s.view, 1, 2)
	_, _, err = s.pendingNow(page)
	if err != nil || s.kept.pending.get().number() != 2 {
		t.Errorf("want the list after 2, got %d, %v", s.kept.pending.get().number(), err)
	}
}

// TestASnapshotOfOneMoment: a page that knows the number of the last change does not ask for the snapshot again that
// was the newest then; the next one is seen by the next page, and that there is none any more.
func TestASnapshotOfOneMoment(t *testing.T) {
	statements := 0
	s := opened(t, Options{OnSQL: func(context.Context, string) { statements++ }})
	ctx := context.Background()
	save := func(minute int) {
		t.Helper()
		taken := inventory.Snapshot{Cluster: "local", TakenAt: time.Unix(int64(minute)*60, 0).UTC(),
			Nodes: []inventory.Node{{Name: fmt.Sprint("n-", minute)}}}
		if err := s.SaveSnapshot(ctx, taken); err != nil {
			t.Fatal(err)
		}
	}
	page := func() context.Context { return live.AtOneMoment(ctx) }
	sees := func(ctx context.Context, asks int, want string) {
		t.Helper()
		statements = 0
		got := ""
		if taken, ok := s.Snapshot(ctx, "local"); ok {
			got = taken.Nodes[0].Name
		}
		if got != want || statements != asks {
			t.Errorf("want %q and %d statements, got %q and %d", want, asks, got, statements)
		}
	}
	save(1)
	first := page()
	sees(ctx, 2, "n-1")
	sees(first, 2, "n-1")
	sees(first, 0, "n-1")
	sees(page(), 1, "n-1")
	sees(ctx, 1, "n-1") // it has no number
	save(2)
	sees(first, 0, "n-1")
	second := page()
	sees(second, 3, "n-2")
	sees(second, 0, "n-2")
	gone := cluster.Cluster{Name: "local", AddedAt: time.Unix(1, 0)}
	if err := s.CreateCluster(ctx, gone, 1, audit.Event{At: time.Unix(2, 0)}); err != nil {
		t.Fatal(err)
	}
	sees(page(), 2, "n-2")
	if err := s.RemoveCluster(ctx, gone.Name, audit.Event{At: time.Unix(3, 0)}); err != nil {
		t.Fatal(err)
	}
	sees(page(), 2, "")
}
