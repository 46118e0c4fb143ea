package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// A million intervals: 20,000 workloads that each held a GPU 50 times. %d is over how many days they are spread.
var million = map[string]string{
	"SQLite": `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999) ` + millionRows +
		` FROM n`,
	"PostgreSQL": millionRows + ` FROM generate_series(CAST(0 AS BIGINT), 999999) AS n(i)`,
}

const millionRows = `INSERT INTO meter_intervals (workload, tenant, size_name, price_minor, price_currency, from_at,
	until_at)
SELECT 'w-' || (i %% 20000), 'team-' || (i %% 40), 'mig-10gb', 75, 'EUR', %[1]d + (i / 20000) * %[2]d,
  %[1]d + (i / 20000) * %[2]d + 1000000 * (60 + i %% 600)`

// How busy each of their lines was in November.
var millionUses = map[string]string{
	"SQLite":     `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999) ` + useRows + ` FROM n`,
	"PostgreSQL": useRows + ` FROM generate_series(CAST(0 AS BIGINT), 19999) AS n(i)`,
}

const useRows = `INSERT INTO engine_uses (month, workload, tenant, size_name, price_minor, price_currency,
	measured_us, busy_us, idle_us)
SELECT '2026-11', 'w-' || i, 'team-' || (i % 40), 'mig-10gb', 75, 'EUR', 3600000000, 1800000000, 600000000`

// BenchmarkStatement asks for a month of a table of a million intervals: once all of them are in that month, once they
// are spread over a year; once with the rollups that the portal writes, the month over, or with 29 of its 30 days on a
// rollup; and once from nothing, as the rollups themselves are added up. The bar: 500 ms on PostgreSQL.
func BenchmarkStatement(b *testing.B) {
	november := usage.Month{Year: 2026, Month: time.November}.Span(time.UTC)
	october := usage.Month{Year: 2026, Month: time.October}.Span(time.UTC)
	ways := map[string][]usage.Span{"no rollup": nil, "closed": {october, november},
		"running": {october, {From: november.From, Until: november.Until.AddDate(0, 0, -1)}}}
	for name, days := range map[string]int64{"a million in the month": 30, "a million in a year": 360} {
		b.Run(name, func(b *testing.B) {
			for name, d := range databases {
				b.Run(name, func(b *testing.B) {
					address := d.empty(b)
					s := migrated(b, address)
					if _, err := d.reach(b, address).Exec(fmt.Sprintf(million[name],
						november.Until.AddDate(0, 0, -int(days)).UnixMicro(), days*24*3600*1_000_000/50)); err != nil {
						b.Fatal(err)
					}
					if _, err := d.reach(b, address).Exec(millionUses[name]); err != nil {
						b.Fatal(err)
					}
					for _, way := range []string{"no rollup", "running", "closed"} {
						for _, span := range ways[way] {
							if err := s.SaveRollup(context.Background(), span); err != nil {
								b.Fatal(err)
							}
						}
						if _, err := d.reach(b, address).Exec("ANALYZE"); err != nil { // a database in use does so by itself
							b.Fatal(err)
						}
						b.Run(way, func(b *testing.B) {
							for b.Loop() {
								if st, err := s.Statement(context.Background(), usage.Filter{Span: november}); err != nil ||
									len(st.Lines) != 20_000 {
									b.Fatal(len(st.Lines), err)
								}
							}
						})
					}
				})
			}
		})
	}
}
