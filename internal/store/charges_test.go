package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// BenchmarkCharges adds up a month of 5,000 cards in which a million stretches were metered, for the page that lays
// them beside what was held.
func BenchmarkCharges(b *testing.B) {
	november := usage.Month{Year: 2026, Month: time.November}.Span(time.UTC)
	for name, d := range databases {
		b.Run(name, func(b *testing.B) {
			address := d.empty(b)
			s := migrated(b, address)
			db := d.reach(b, address)
			w := storetest.Workload("w-0")
			if err := s.SaveObserved(context.Background(), w, nil, nil); err != nil {
				b.Fatal(err)
			}
			rows, err := db.Query("SELECT * FROM workloads")
			if err != nil {
				b.Fatal(err)
			}
			columns, err := rows.Columns()
			if err != nil {
				b.Fatal(err)
			}
			_ = rows.Close()
			for n, column := range columns {
				if column == "id" || column == "name" || column == "volume" {
					columns[n] = "'w-' || i"
				}
			}
			numbers := map[string]string{"SQLite": "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
				"19999) SELECT i FROM n)", "PostgreSQL": "(SELECT i FROM generate_series(1, 19999) AS g(i))"}[name]
			for _, query := range []string{
				"INSERT INTO workloads SELECT " + strings.Join(columns, ", ") + " FROM workloads AS w CROSS JOIN " + numbers +
					" AS n WHERE w.id = 'w-0'",
				fmt.Sprintf(million[name], november.From.UnixMicro(), int64(30*24*3600*1_000_000/50)),
				"UPDATE meter_intervals SET parts = 840", "ANALYZE",
			} {
				if _, err := db.Exec(query); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				charges, err := s.Charges(context.Background(), november)
				if days := usage.ChargedDays(charges, november, time.UTC); err != nil || len(days) != 30 {
					b.Fatal(len(days), err)
				}
			}
		})
	}
}
