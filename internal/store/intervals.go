package store

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type intervalRow struct {
	Workload      string
	Tenant        string
	SizeName      string
	PriceMinor    int64
	PriceCurrency string
	FromAt        timestamp
	UntilAt       timestamp
	UnknownUntil  timestamp
	SeatPool      string
	Seats         int64
	SeatGroup     string
	SeatMost      int64
	Parts         int64
	Replicas      int64
}

func (intervalRow) TableName() string { return "meter_intervals" }

func fromInterval(id workload.ID, i usage.Interval) intervalRow {
	return intervalRow{
		Workload: string(id), Tenant: i.Tenant, SizeName: i.Size, PriceMinor: i.PerHour.Minor,
		PriceCurrency: i.PerHour.Currency,
		FromAt:        timestampOf(i.From), UntilAt: timestampOf(i.Until), UnknownUntil: timestampOf(i.UnknownUntil),
		SeatPool: i.Seats.Pool, Seats: i.Seats.Count, SeatGroup: i.Seats.Group, SeatMost: i.Seats.Most, Parts: i.Parts,
		Replicas: i.Count(),
	}
}

func toInterval(row intervalRow) usage.Interval {
	return usage.Interval{
		Workload: row.Workload, Tenant: row.Tenant, Size: row.SizeName, PerHour: usage.Money{Minor: row.PriceMinor,
			Currency: row.PriceCurrency},
		From: row.FromAt.time(), Until: row.UntilAt.time(), UnknownUntil: row.UnknownUntil.time(),
		Seats: usage.Seats{Pool: row.SeatPool, Count: row.Seats, Group: row.SeatGroup, Most: row.SeatMost},
		Parts: row.Parts, Replicas: moreThanOne(row.Replicas),
	}
}

// moreThanOne is a number of replicas as an interval has it.
func moreThanOne(n int64) int64 {
	if n < 2 {
		return 0
	}
	return n
}

// intervalsAtOnce keeps the number of values in one query below what either database takes.
const intervalsAtOnce = 5000

// Intervals gives the meter of each workload, oldest first; those without one are missing from the map.
func (v view) Intervals(ctx context.Context, ids []workload.ID) (map[workload.ID][]usage.Interval, error) {
	found := make(map[workload.ID][]usage.Interval, len(ids))
	for some := range slices.Chunk(ids, intervalsAtOnce) {
		rows, err := all[intervalRow](v.at(ctx).Where("workload IN ?", some).Order("workload, from_at"))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			id := workload.ID(row.Workload)
			found[id] = append(found[id], toInterval(row))
		}
	}
	return found, nil
}

// MeteredIntervals gives the stretches of the meter in a span: of all tenants, of some, or of one person.
func (v view) MeteredIntervals(ctx context.Context, f usage.Filter) ([]usage.Interval, error) {
	if none(f.Tenants) || !f.Span.From.Before(f.Span.Until) {
		return nil, nil
	}
	query := among(v.at(ctx), "tenant", f.Tenants).Where("from_at < ? AND (until_at IS NULL OR until_at > ?)",
		timestampOf(f.Span.Until), timestampOf(f.Span.From))
	if f.Owner != "" {
		query = query.Where("workload IN (SELECT id FROM workloads WHERE owner = ?)", f.Owner)
	}
	rows, err := all[intervalRow](query)
	return each(rows, toInterval), err
}

// SeatSharers gives the whole meter of groups that share license seats, oldest first.
func (v view) SeatSharers(ctx context.Context, groups []string) (usage.Sharers, error) {
	found := make(usage.Sharers, len(groups))
	for some := range slices.Chunk(groups, intervalsAtOnce) {
		rows, err := all[intervalRow](v.at(ctx).Where(
			"seat_group <> '' AND seat_group IN ?", some).Order("from_at, workload"))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[row.SeatGroup] = append(found[row.SeatGroup], toInterval(row))
		}
	}
	return found, nil
}

// OpenIntervals gives the open interval of each workload that has one.
func (v view) OpenIntervals(ctx context.Context) (map[workload.ID]usage.Interval, error) {
	rows, err := all[intervalRow](v.at(ctx).Where("until_at IS NULL"))
	open := make(map[workload.ID]usage.Interval, len(rows))
	for _, row := range rows {
		open[workload.ID(row.Workload)] = toInterval(row)
	}
	return open, err
}

// OpenInterval gives the open interval of a workload, nil for none.
func (v view) OpenInterval(ctx context.Context, id workload.ID) (*usage.Interval, error) {
	rows, err := all[intervalRow](v.at(ctx).Where("workload = ? AND until_at IS NULL", string(id)))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	open := toInterval(rows[0])
	return &open, nil
}

// saveInterval opens or closes the meter of a workload whose row this transaction has just written, so no other one is
// at its meter; and then what follows.
func (t *tx) saveInterval(ctx context.Context, id workload.ID, i usage.Interval) error {
	if i.Until.IsZero() {
		return t.openInterval(ctx, fromInterval(id, i))
	}
	if err := t.closeInterval(ctx, id, i); err != nil || i.Then == nil {
		return err
	}
	begun := *i.Then
	begun.Until, begun.UnknownUntil, begun.Then = time.Time{}, time.Time{}, nil
	if err := t.openInterval(ctx, fromInterval(id, begun)); err != nil || i.Then.Until.IsZero() {
		return err
	}
	return t.saveInterval(ctx, id, *i.Then)
}

func (t *tx) closeInterval(ctx context.Context, id workload.ID, i usage.Interval) error {
	until := timestampOf(i.Until)
	// A clock that was set back must not make an interval of negative length.
	err := t.at(ctx).Exec(
		`UPDATE meter_intervals SET until_at = CASE WHEN from_at > ? THEN from_at ELSE ? END, unknown_until = ?
		WHERE workload = ? AND until_at IS NULL`, until, until, timestampOf(i.UnknownUntil), string(id)).Error
	if err != nil {
		return err
	}
	return t.dropRollups(ctx, until)
}

// openInterval does nothing where one is open. Where one of no length began at the same moment, it is opened again.
func (t *tx) openInterval(ctx context.Context, row intervalRow) error {
	if err := writable(&row); err != nil {
		return err
	}
	err := t.at(ctx).Exec(
		`INSERT INTO meter_intervals (workload, tenant, size_name, price_minor, price_currency, from_at, seat_pool, seats,
			seat_group, seat_most, parts, replicas, cluster)
		SELECT workload, tenant, size_name, price_minor, price_currency, from_at, seat_pool, seats, seat_group, seat_most,
			parts, replicas, COALESCE((SELECT w.cluster FROM workloads AS w WHERE w.id = new.workload), '')
		FROM (SELECT CAST(? AS TEXT) AS workload, CAST(? AS TEXT) AS tenant, CAST(? AS TEXT) AS size_name,
			CAST(? AS BIGINT) AS price_minor,
			CAST(? AS TEXT) AS price_currency, CAST(? AS BIGINT) AS from_at, CAST(? AS TEXT) AS seat_pool,
				CAST(? AS BIGINT) AS seats,
			CAST(? AS TEXT) AS seat_group, CAST(? AS BIGINT) AS seat_most, CAST(? AS BIGINT) AS parts,
			CAST(? AS BIGINT) AS replicas) AS new
		WHERE NOT EXISTS (SELECT 1 FROM meter_intervals AS open WHERE open.workload = new.workload AND open.until_at IS NULL)
		ON CONFLICT (workload, from_at) DO UPDATE SET until_at = NULL, unknown_until = NULL, seat_pool = excluded.seat_pool,
			seats = excluded.seats,
			seat_group = excluded.seat_group, seat_most = excluded.seat_most, parts = excluded.parts,
			replicas = excluded.replicas, cluster = excluded.cluster`,
		row.Workload, row.Tenant, row.SizeName, row.PriceMinor, row.PriceCurrency, row.FromAt, row.SeatPool, row.Seats,
		row.SeatGroup, row.SeatMost, row.Parts, row.Replicas).Error
	if err != nil {
		return err
	}
	return t.dropRollups(ctx, row.FromAt)
}
