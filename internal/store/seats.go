package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

type seatIntervalRow struct {
	Workload  string
	Name      string
	Tenant    string
	Owner     string
	OwnerName string
	SeatPool  string
	Seats     int64
	SeatGroup string
	SeatMost  int64
	FromAt    timestamp
	UntilAt   timestamp
}

func toSeatInterval(r seatIntervalRow) usage.SeatInterval {
	return usage.SeatInterval{Workload: r.Workload, Name: r.Name, Tenant: r.Tenant, Owner: r.Owner, OwnerName: r.OwnerName,
		Seats: usage.Seats{Pool: r.SeatPool, Count: r.Seats, Group: r.SeatGroup, Most: r.SeatMost},
		From:  r.FromAt.time(), Until: r.UntilAt.time()}
}

// SeatIntervals gives the stretches of the meter with license seats, whole and oldest first, of workloads that held
// some in a span; what ended before a moment is left out. After them come, as sharers, those of everybody else who ever
// held the same seats with them.
func (v view) SeatIntervals(ctx context.Context, f usage.Filter, since time.Time) ([]usage.SeatInterval, error) {
	if none(f.Tenants) || !f.Span.From.Before(f.Span.Until) {
		return nil, nil
	}
	query := among(v.seatIntervals(ctx, f.Span, since), "m.tenant", f.Tenants).Where(
		`EXISTS (SELECT 1 FROM meter_intervals AS o WHERE o.seat_pool <> '' AND o.workload = m.workload AND o.from_at < ?
			AND (o.until_at IS NULL OR o.until_at > ?))`,
		timestampOf(f.Span.Until), timestampOf(f.Span.From))
	if f.Owner != "" {
		query = query.Where("w.owner = ?", f.Owner)
	}
	var rows []seatIntervalRow
	if err := query.Order("m.workload, m.from_at").Scan(&rows).Error; err != nil {
		return nil, failure(err)
	}
	list := each(rows, toSeatInterval)
	sharers, err := v.sharers(ctx, list, f.Span, since)
	return append(list, sharers...), err
}

func (v view) seatIntervals(ctx context.Context, s usage.Span, since time.Time) *gorm.DB {
	query := v.at(ctx).Table("meter_intervals AS m").Joins("LEFT JOIN workloads AS w ON w.id = m.workload").
		Select("m.workload, m.tenant, m.seat_pool, m.seats, m.seat_group, m.seat_most, m.from_at, m.until_at, "+
			"COALESCE(w.name, '') AS name, COALESCE(w.owner, '') AS owner, COALESCE(w.owner_name, '') AS owner_name").
		Where("m.seat_pool <> '' AND m.from_at < ?", timestampOf(s.Until))
	if !since.IsZero() {
		query = query.Where("m.until_at IS NULL OR m.until_at > ?", timestampOf(since))
	}
	return query
}

// sharers are the stretches of others in the groups that a list held seats in during a span.
func (v view) sharers(ctx context.Context, list []usage.SeatInterval, s usage.Span,
	since time.Time) ([]usage.SeatInterval, error) {
	type key struct {
		workload string
		from     time.Time
	}
	groups, listed := map[string]bool{}, map[key]bool{}
	for _, h := range list {
		listed[key{h.Workload, h.From}] = true
		if h.Seats.Group != "" && (h.Until.IsZero() || h.Until.After(s.From)) {
			groups[h.Seats.Group] = true
		}
	}
	var sharers []usage.SeatInterval
	for some := range slices.Chunk(slices.Sorted(maps.Keys(groups)), intervalsAtOnce) {
		var rows []seatIntervalRow
		err := v.seatIntervals(ctx, s, since).Where("m.seat_group <> '' AND m.seat_group IN ?", some).
			Order("m.workload, m.from_at").Scan(&rows).Error
		if err != nil {
			return nil, failure(err)
		}
		for _, h := range each(rows, toSeatInterval) {
			if h.Sharer = true; !listed[key{h.Workload, h.From}] {
				sharers = append(sharers, h)
			}
		}
	}
	return sharers, nil
}
