package store_test

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/migrations"
)

// TestOperatorViews: what the views show is what the store answers, with times as PostgreSQL has them and money in
// units. Prices in yen have no digits after the point.
func TestOperatorViews(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.EmptyPostgres(t)
	s := migrated(t, address)
	db := reachPostgres(t, address)
	w, interval := metered(t, s)
	r := storetest.Request("r-1")
	if err := s.DecideExclusively(ctx, func(tx request.Tx) error {
		_, err := tx.SaveRequest(ctx, r)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, storetest.Event(1)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Request(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }
	const moment = "to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
	col := func(name string) string { return strings.ReplaceAll(moment, "%s", name) }
	for name, c := range map[string]struct{ query, want string }{
		"workload": {"SELECT concat_ws('|', id, name, owner_name, size, state, " + col("lease_until") + ", " +
			col("created_at") +
			") FROM operator_workloads", strings.Join([]string{string(w.ID), w.Name, w.OwnerName, w.Size.Name, string(w.State),
			at(w.Lease.Until), at(w.CreatedAt)}, "|")},
		"request": {"SELECT concat_ws('|', id, asker_name, state, estimate, currency, " + col("created_at") + ", " +
			col("decided_at") + ") FROM operator_requests WHERE id = 'r-1'", strings.Join([]string{string(got.ID),
			got.AskerName, string(got.State), "6.00", got.Estimate.Currency, at(got.CreatedAt), at(got.DecidedAt)}, "|")},
		"meter interval": {"SELECT concat_ws('|', workload, name, price_per_hour, currency, cards, hours, " + col("from_at") +
			", " + col("until_at") + ") FROM operator_meter_intervals", strings.Join([]string{interval.Workload, w.Name, "75",
			"JPY", "0.500000", "1.500000", at(interval.From), at(interval.Until)}, "|")},
	} {
		if diff := cmp.Diff([]string{c.want}, rows(t, db, c.query)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	sameEvents(t, s, db, col("at"))
	documented(t, db)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		t.Errorf("the views stand in the way down: %v", err)
	}
}

// metered is a workload that held half a card for an hour and a half, at 75 yen an hour.
func metered(t *testing.T, s *store.Store) (w workload.Workload, i usage.Interval) {
	t.Helper()
	w = storetest.Workload("w-1")
	from := time.Date(2026, 11, 3, 7, 0, 0, 123456000, time.UTC)
	i = usage.Interval{Workload: "w-1", Tenant: w.Tenant, Size: w.Size.Name, PerHour: usage.Money{Minor: 75,
		Currency: "JPY"}, Parts: usage.Parts / 2, From: from}
	for _, until := range []time.Time{{}, from.Add(90 * time.Minute)} {
		i.Until = until
		if err := s.SaveObserved(context.Background(), w, nil, &i); err != nil {
			t.Fatal(err)
		}
		w.Version++
	}
	saved, err := s.Workload(context.Background(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	return saved, i
}

// documented runs the queries of the administrators' guide.
func documented(t *testing.T, db *sql.DB) {
	t.Helper()
	page, err := os.ReadFile("../../docs/admins.md")
	if err != nil {
		t.Fatal(err)
	}
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(queries) == 0 {
		t.Fatal("the guide has no query")
	}
	for _, q := range queries {
		if _, err := db.Exec(q[1]); err != nil {
			t.Errorf("%v in\n%s", err, q[1])
		}
	}
}

// sameEvents compares the view of the audit record with its export.
func sameEvents(t *testing.T, s *store.Store, db *sql.DB, at string) {
	t.Helper()
	records, err := s.Records(context.Background(), 0, 100)
	if err != nil || len(records) == 0 {
		t.Fatal(len(records), err)
	}
	var want []string
	for _, r := range records {
		want = append(want, strings.Join([]string{r.Kind, r.ActorName, r.Detail, r.Link,
			time.UnixMicro(r.At).UTC().Format("2006-01-02 15:04:05.000000")}, "|"))
	}
	found := rows(t, db, "SELECT concat_ws('|', kind, actor_name, detail, link, "+at+") FROM operator_audit ORDER BY seq")
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
}
