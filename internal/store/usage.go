package store

import (
	"context"
	"database/sql"
	"maps"
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
	Measured      *int64 // NULL where nothing was measured, as the two below
	Busy          *int64
	Idle          *int64

	Name      *string // of the workload; NULL where it is gone
	Owner     *string
	OwnerName *string
	Size      shared[catalog.Size]
}

// usesQuery adds up the meter from the rollup on, if there is one (see rollup): each line of the ledger with what had
// been held before the span, what was held in it, and what nobody can tell. What is open counts until the end of the
// span. It says in SQL what usage.Uses says in Go; a test holds them together. A line that is not on the rollup had
// nothing in the span before @since; what it had held earlier is looked up.
const usesQuery = `
WITH base AS (
  SELECT workload, tenant, size_name, price_minor, price_currency,
    CASE WHEN @carried THEN before_us + held_us ELSE before_us END AS before, CASE WHEN @carried THEN 0
      ELSE held_us END AS held, CASE WHEN @carried THEN 0 ELSE unknown_us END AS unknown
  FROM meter_sums
  WHERE from_at = @rollup AND until_at = @since AND @where
), cut AS (
  SELECT workload, tenant, size_name, price_minor, price_currency, from_at, COALESCE(until_at, @until) AS until_at,
    unknown_until, replicas
  FROM meter_intervals
  WHERE from_at < @until AND (until_at > @since OR until_at IS NULL OR unknown_until > @since) AND @where
), since AS (
  SELECT workload, tenant, size_name, price_minor, price_currency,
    SUM(replicas * CASE WHEN until_at <= @since THEN 0 ELSE
      (CASE WHEN until_at > @until THEN @until ELSE until_at END) - (CASE WHEN from_at < @since THEN @since
        ELSE from_at END) END) AS held,
    SUM(replicas * CASE WHEN unknown_until IS NULL OR unknown_until <= @since OR until_at >= @until THEN 0 ELSE
      (CASE WHEN unknown_until > @until THEN @until ELSE unknown_until END) - (CASE WHEN until_at < @since THEN @since
        ELSE until_at END) END) AS unknown
  FROM cut
  GROUP BY workload, tenant, size_name, price_minor, price_currency
), together AS (
  SELECT workload, tenant, size_name, price_minor, price_currency, SUM(before) AS before, SUM(held) AS held,
    SUM(unknown) AS unknown, MAX(in_rollup) AS in_rollup
  FROM (
    SELECT workload, tenant, size_name, price_minor, price_currency, before, held, unknown, 1 AS in_rollup FROM base
    UNION ALL SELECT workload, tenant, size_name, price_minor, price_currency, 0, held, unknown, 0 FROM since
  ) AS parts
  GROUP BY workload, tenant, size_name, price_minor, price_currency
), lines AS (
  SELECT workload, tenant, size_name, price_minor, price_currency,
    CAST(CASE WHEN in_rollup = 1 THEN before ELSE COALESCE((
      SELECT SUM(m.replicas * ((CASE WHEN m.until_at IS NULL OR m.until_at > @since THEN @since ELSE m.until_at END)
        - m.from_at))
      FROM meter_intervals AS m
      WHERE m.workload = t.workload AND m.from_at < @since AND m.tenant = t.tenant AND m.size_name = t.size_name
        AND m.price_minor = t.price_minor AND m.price_currency = t.price_currency), 0) END AS BIGINT) AS before,
    CAST(held AS BIGINT) AS held, CAST(unknown AS BIGINT) AS unknown
  FROM together AS t
)
`

const statementQuery = usesQuery + `
SELECT lines.workload, lines.tenant, lines.size_name, lines.price_minor, lines.price_currency, lines.before,
  lines.held, lines.unknown,
  w.name, w.owner, w.owner_name, COALESCE(w.size, '{}') AS size, e.measured_us AS measured, e.busy_us AS busy,
    e.idle_us AS idle
FROM lines LEFT JOIN workloads AS w ON w.id = lines.workload
LEFT JOIN engine_uses AS e ON e.month = @month AND e.workload = lines.workload AND e.tenant = lines.tenant
  AND e.size_name = lines.size_name
  AND e.price_minor = lines.price_minor AND e.price_currency = lines.price_currency
WHERE lines.held > 0 OR lines.unknown > 0`

// Statement reads what was held in a span: of all tenants, of some, or of one person.
func (v view) Statement(ctx context.Context, f usage.Filter) (usage.Statement, error) {
	s := usage.Statement{Span: f.Span}
	if none(f.Tenants) || !f.Span.From.Before(f.Span.Until) {
		return s, nil
	}
	where, more := []string{"1 = 1"}, map[string]any{"month": f.Month.String()}
	if f.Tenants != nil {
		where, more["tenants"] = append(where, "tenant IN @tenants"), f.Tenants
	}
	if f.Owner != "" {
		where, more["owner"] = append(where, "workload IN (SELECT id FROM workloads WHERE owner = @owner)"), f.Owner
	}
	query := strings.ReplaceAll(statementQuery, "@where", strings.Join(where, " AND "))
	var rows []ledgerRow
	err := withRoom(v.at(ctx), func(db *gorm.DB) error {
		args, err := usesArgs(ctx, db, f.Span)
		if err != nil {
			return err
		}
		maps.Copy(args, more)
		rows, err = askNumbered[ledgerRow](ctx, db, query, args)
		return err
	})
	if err != nil {
		return s, failure(err)
	}
	s.Lines = each(rows, toLine)
	s.Sort() // here, for databases have their own order of letters
	return s, nil
}

// withRoom runs queries that add up many rows, all on one state of the database. PostgreSQL gives one 4 MB of memory
// unless it is told otherwise, too little for the lines of a large site: it would sort the whole meter on disk first.
func withRoom(db *gorm.DB, query func(*gorm.DB) error) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := giveRoom(tx); err != nil {
			return err
		}
		return query(tx)
	}, &sql.TxOptions{ReadOnly: true, Isolation: oneState[db.Name()]})
}

// oneState is the isolation in which all queries of a transaction see one state of the database. SQLite's transactions
// always do, and its driver knows no other word for it.
var oneState = map[string]sql.IsolationLevel{"postgres": sql.LevelRepeatableRead}

func giveRoom(tx *gorm.DB) error {
	if tx.Name() != "postgres" {
		return nil
	}
	// Compiling the query takes longer than running it.
	return tx.Exec("SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true)").Error
}

// toLine knows what was held from the size that the workload has. One that was resized has another now; then what it
// held is not on record.
func toLine(row ledgerRow) usage.Line {
	l := usage.Line{
		Use: usage.Use{Workload: row.Workload, Tenant: row.Tenant, Size: row.SizeName,
			PerHour: usage.Money{Minor: row.PriceMinor, Currency: row.PriceCurrency},
			Before:  microseconds(row.Before), Held: microseconds(row.Held), Unknown: microseconds(row.Unknown)},
		Name: text(row.Name), Owner: text(row.Owner), OwnerName: text(row.OwnerName), SizeTitle: row.SizeName, Devices: 1,
	}
	if row.Measured != nil {
		l.Engine = usage.EngineUse{Measured: microseconds(*row.Measured), Busy: microseconds(*row.Busy),
			Idle: microseconds(*row.Idle)}.Within(l.Held)
	}
	if size := row.Size.is; size.Name == row.SizeName {
		l.SizeTitle, l.Devices, l.Cards = size.Title, size.Devices(), size.Accelerator.Share*float64(size.Devices())
		l.Kind = usage.Kind{Technology: string(size.Technology), Model: size.Accelerator.Model,
			Profile: size.Accelerator.Profile, Known: true}
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
