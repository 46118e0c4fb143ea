package store

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// A rollup holds the sums of one month's lines up to a moment, so that a statement does not add up the whole meter each
// time. It is only ever a shortcut: what is not on it is added up from the intervals, to the microsecond, and a
// statement is the same with it, without it, or with an old one. Whatever changes the meter before the end of a rollup
// throws the rollup away in the same transaction.
type rollup struct {
	FromAt  int64
	UntilAt int64
}

// rollupOf is the one that a span starts from.
var rollupOf = asked[rollup](func(db *gorm.DB) *gorm.DB {
	return db.Raw("SELECT from_at, until_at FROM meter_rollups WHERE (from_at = ? AND until_at <= ?) OR until_at = ? "+
		"ORDER BY until_at DESC, from_at DESC LIMIT 1", 0, 0, 0)
})

// usesArgs names what usesQuery starts from: the rollup of a span's month, else that of the month before, whose sums
// are carried over; else nothing.
func usesArgs(ctx context.Context, db *gorm.DB, s usage.Span) (map[string]any, error) {
	from, until := s.From.UnixMicro(), s.Until.UnixMicro()
	found, err := rollupOf.all(ctx, view{db: db}, from, until, from)
	args := map[string]any{"until": until, "since": from, "rollup": int64(-1), "carried": false}
	for _, f := range found {
		args["since"], args["rollup"], args["carried"] = f.UntilAt, f.FromAt, f.FromAt != from
	}
	return args, err
}

// SaveRollup writes down the sums of a span from its beginning. It does nothing where they are written down already; an
// older rollup of the same beginning is replaced. All or nothing of it is there afterwards, whenever the process is
// killed.
func (s *Store) SaveRollup(ctx context.Context, span usage.Span) error {
	return s.write(ctx, func(t *tx) error {
		db := t.at(ctx)
		if err := s.lockMeter(db); err != nil {
			return err
		}
		from, until := span.From.UnixMicro(), span.Until.UnixMicro()
		var there int64
		if err := db.Raw("SELECT count(*) FROM meter_rollups WHERE from_at = ? AND until_at >= ?", from,
			until).Scan(&there).Error; err != nil || there > 0 {
			return err
		}
		return writeRollup(ctx, db, span)
	})
}

// writeRollup writes all lines with something in the span, and the living workloads' others that it knows: they are
// the ones to go on.
func writeRollup(ctx context.Context, db *gorm.DB, span usage.Span) error {
	if err := giveRoom(db); err != nil {
		return err
	}
	args, err := usesArgs(ctx, db, span)
	if err != nil {
		return err
	}
	args["from"] = span.From.UnixMicro()
	for _, query := range []string{
		"INSERT INTO meter_rollups (from_at, until_at) VALUES (@from, @until)",
		"INSERT INTO meter_sums (from_at, until_at, workload, tenant, size_name, price_minor, price_currency, before_us, " +
			"held_us, unknown_us)" +
			strings.ReplaceAll(usesQuery, "@where", "1 = 1") + `SELECT @from, @until, lines.* FROM lines
		WHERE held > 0 OR unknown > 0 OR EXISTS (SELECT 1 FROM workloads AS w WHERE w.id = lines.workload
			AND w.state <> 'ended')`,
		"DELETE FROM meter_rollups WHERE from_at = @from AND until_at < @until",
	} {
		if err := db.Exec(query, args).Error; err != nil {
			return err
		}
	}
	return nil
}

// dropRollups throws away the rollups that end after a moment at which the meter changes.
func (t *tx) dropRollups(ctx context.Context, changed timestamp) error {
	return t.at(ctx).Exec("DELETE FROM meter_rollups WHERE until_at > ?", changed).Error
}

// Metered gives the moment at which the meter begins; the zero time while it is empty.
func (v view) Metered(ctx context.Context) (time.Time, error) {
	var first timestamp
	err := v.at(ctx).Raw("SELECT MIN(from_at) FROM meter_intervals").Scan(&first).Error
	return first.time(), failure(err)
}
