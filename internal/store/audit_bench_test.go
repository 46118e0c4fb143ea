package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
)

// A million events of 2,000 people in 40 teams, one each 20 seconds. The chain is left out: nothing here reads it.
const (
	manyEvents = `INSERT INTO audit_events (seq, at, kind, actor, actor_name, address, tenant, request, workload,
		volume, rule,
		detail, via, credential, changes)
SELECT i + 1, %d + i * 20000000, CASE i %% 5 WHEN 0 THEN 'workload.observed' WHEN 1 THEN 'request.submitted'
  WHEN 2 THEN 'request.approved' WHEN 3 THEN 'workload.created' ELSE 'session.started' END,
  'p-' || (i %% 2000), 'Person ' || (i %% 2000), '192.0.2.' || (i %% 250), 'team-' || (i %% 40), 'r-' || (i / 5), 'w-' || (i / 10), '', 'shares-and-slices',
  '{"id":"workload.moved","args":{"From":{"id":"state.queued"},"To":{"id":"state.running"}}}', 'session', 's-' || (i %% 3000), ''`
	manyOnSQLite = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999) ` + manyEvents +
		` FROM n`
	manyOnServer = manyEvents + ` FROM generate_series(CAST(0 AS BIGINT), 999999) AS n(i)`
	manyPeople   = `INSERT INTO people (id, issuer, subject, name, email, group_names) VALUES `
)

// BenchmarkAuditSearch looks for a page of events among a million, in the ways in which the page can. The bar: 150 ms
// on PostgreSQL, for each.
func BenchmarkAuditSearch(b *testing.B) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	searches := map[string]audit.Filter{
		"newest": {}, "a kind": {Kinds: []audit.Kind{audit.RequestApproved}},
		"a kind that never was": {Kinds: []audit.Kind{audit.TokenRevoked}},
		"a team":                {Tenant: "team-7"}, "a person": {Person: "p-77"}, "a name": {Person: "person 77"},
		"nobody": {Person: "mallory"}, "a team and a kind": {Tenant: "team-7", Kinds: []audit.Kind{audit.RequestApproved}},
		"a person and a kind they have none of": {Person: "p-77", Kinds: []audit.Kind{audit.TokenRevoked}},
		"a day long ago":                        {From: begin.AddDate(0, 0, 3), Until: begin.AddDate(0, 0, 4)},
		"a team on a day long ago": {Tenant: "team-7", From: begin.AddDate(0, 0, 3),
			Until: begin.AddDate(0, 0, 4)},
		"a kind that never was on a day": {Kinds: []audit.Kind{audit.TokenRevoked}, From: begin.AddDate(0, 0, 3),
			Until: begin.AddDate(0, 0, 4)},
		"a word": {Text: "w-99999"}, "a word that is nowhere": {Text: "nowhere"}, "a word and a team": {Text: "nowhere",
			Tenant: "team-7"},
		"a word on a day": {Text: "nowhere", From: begin, Until: begin.AddDate(0, 0, 2)},
	}
	for name, d := range databases {
		b.Run(name, func(b *testing.B) {
			address, rows := d.empty(b), manyOnSQLite
			if name == "PostgreSQL" {
				rows = manyOnServer
			}
			s := migrated(b, address)
			db := d.reach(b, address)
			for i := range 2000 {
				p := storetest.Person(fmt.Sprintf("p-%d", i))
				if _, err := db.Exec(manyPeople + fmt.Sprintf("('%s', '', '%s', 'Person %d', 'person-%d@example.org', 'null', "+
					"false)", p.ID, p.ID, i, i)); err != nil {
					b.Fatal(err)
				}
			}
			for _, statement := range []string{fmt.Sprintf(rows, begin.UnixMicro()), "UPDATE counters SET audit = 1000000",
				"ANALYZE"} {
				if _, err := db.Exec(statement); err != nil {
					b.Fatal(err)
				}
			}
			for what, f := range searches {
				b.Run(what, func(b *testing.B) { search(b, s, f) })
			}
		})
	}
}

func search(b *testing.B, s *store.Store, f audit.Filter) {
	for b.Loop() {
		if _, _, err := s.Events(context.Background(), f); err != nil {
			b.Fatal(err)
		}
	}
}

// A search by words reads a bounded stretch for each page, and its reader still finds everything.
func TestASearchGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s, err := store.Open(context.Background(), sqliteAddress(t), store.Options{SearchWindow: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := range 45 {
		e := storetest.Event(i)
		if i == 2 || i == 3 || i == 30 {
			e.Rule = "the-needle"
		}
		if err := s.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	var found []int64
	pages := 0
	for f := (audit.Filter{Text: "needle", Limit: 1}); ; pages++ {
		events, next, err := s.Events(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			found = append(found, e.Seq)
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	if fmt.Sprint(found) != "[31 4 3]" || pages < 4 {
		t.Errorf("want events 31, 4 and 3 over several pages, got %v over %d", found, pages+1)
	}
}
