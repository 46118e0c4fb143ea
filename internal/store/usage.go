package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

type ledgerRow struct {
	Workload      string
	Tenant        string
	SizeName      string
	PriceMinor    int64
	PriceCurrency string
	Before        int64 // microseconds, as all of these
	Held          int64
	Unknown       int64

	Name      *string // of the workload; NULL where it is gone
	Owner     *string
	OwnerName *string
	Size      shared[catalog.Size]
}

// usesQuery adds up the meter: each line of the ledger with what had been held before the span, what was held in it, and what nobody can tell. What is open counts until the
// end of the span. It says in SQL what usage.Uses says in Go; a test holds them together. Sums come before the join, for there are far fewer lines than intervals.
const usesQuery = `
WITH cut AS (
  SELECT workload, tenant, size_name, price_minor, price_currency, from_at, COALESCE(until_at, @until) AS until_at, unknown_until
  FROM meter_intervals
  WHERE from_at < @until AND @where
), lines AS (
  SELECT workload, tenant, size_name, price_minor, price_currency,
    SUM(CASE WHEN from_at >= @from THEN 0 WHEN until_at > @from THEN @from - from_at ELSE until_at - from_at END) AS before,
    SUM(CASE WHEN until_at <= @from THEN 0 ELSE
      (CASE WHEN until_at > @until THEN @until ELSE until_at END) - (CASE WHEN from_at < @from THEN @from ELSE from_at END) END) AS held,
    SUM(CASE WHEN unknown_until IS NULL OR unknown_until <= @from OR until_at >= @until THEN 0 ELSE
      (CASE WHEN unknown_until > @until THEN @until ELSE unknown_until END) - (CASE WHEN until_at < @from THEN @from ELSE until_at END) END) AS unknown
  FROM cut
  GROUP BY workload, tenant, size_name, price_minor, price_currency
)
SELECT lines.workload, lines.tenant, lines.size_name, lines.price_minor, lines.price_currency,
  CAST(lines.before AS BIGINT) AS before, CAST(lines.held AS BIGINT) AS held, CAST(lines.unknown AS BIGINT) AS unknown,
  w.name, w.owner, w.owner_name, COALESCE(w.size, '{}') AS size
FROM lines LEFT JOIN workloads AS w ON w.id = lines.workload
WHERE lines.held > 0 OR lines.unknown > 0`

// Statement reads what was held in a span: of all tenants, of some, or of one person.
func (v view) Statement(ctx context.Context, f usage.Filter) (usage.Statement, error) {
	s := usage.Statement{Span: f.Span}
	if none(f.Tenants) || !f.Span.From.Before(f.Span.Until) {
		return s, nil
	}
	where, args := []string{"1 = 1"}, map[string]any{"from": f.Span.From.UnixMicro(), "until": f.Span.Until.UnixMicro()}
	if f.Tenants != nil {
		where, args["tenants"] = append(where, "tenant IN @tenants"), f.Tenants
	}
	if f.Owner != "" {
		where, args["owner"] = append(where, "workload IN (SELECT id FROM workloads WHERE owner = @owner)"), f.Owner
	}
	query := strings.Replace(usesQuery, "@where", strings.Join(where, " AND "), 1)
	var rows []ledgerRow
	if err := withRoom(v.at(ctx), func(db *gorm.DB) error { return db.Raw(query, args).Scan(&rows).Error }); err != nil {
		return s, failure(err)
	}
	s.Lines = each(rows, toLine)
	s.Sort() // here, for databases have their own order of letters
	return s, nil
}

// withRoom runs a query that adds up many rows. PostgreSQL gives one 4 MB of memory unless it is told otherwise, too little for the lines of a large site: it would sort the
// whole meter on disk first.
func withRoom(db *gorm.DB, query func(*gorm.DB) error) error {
	if db.Name() != "postgres" {
		return query(db)
	}
	return db.Transaction(func(tx *gorm.DB) error {
		// Compiling the query takes longer than running it.
		if err := tx.Exec("SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true)").Error; err != nil {
			return err
		}
		return query(tx)
	}, &sql.TxOptions{ReadOnly: true})
}

// toLine knows what was held from the size that the workload has. One that was resized has another now; then what it held is not on record.
func toLine(row ledgerRow) usage.Line {
	l := usage.Line{
		Use: usage.Use{Workload: row.Workload, Tenant: row.Tenant, Size: row.SizeName, PerHour: usage.Money{Minor: row.PriceMinor, Currency: row.PriceCurrency},
			Before: microseconds(row.Before), Held: microseconds(row.Held), Unknown: microseconds(row.Unknown)},
		Name: text(row.Name), Owner: text(row.Owner), OwnerName: text(row.OwnerName), SizeTitle: row.SizeName, Devices: 1,
	}
	if size := row.Size.is; size.Name == row.SizeName {
		l.SizeTitle, l.Devices = size.Title, size.Devices()
		l.Kind = usage.Kind{Technology: string(size.Technology), Model: size.Accelerator.Model, Profile: size.Accelerator.Profile, Known: true}
	}
	return l
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func text(t *string) string {
	if t == nil {
		return ""
	}
	return *t
}
