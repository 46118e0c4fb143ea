package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Seated gives the stretches of the meter with license seats, whole and oldest first, of workloads that held some in a
// span; what ended before a moment is left out.
func (v view) Seated(ctx context.Context, f usage.Filter, since time.Time) ([]usage.Seated, error) {
	if none(f.Tenants) || !f.Span.From.Before(f.Span.Until) {
		return nil, nil
	}
	query := among(v.at(ctx), "m.tenant", f.Tenants).Table("meter_intervals AS m").Joins(
		"LEFT JOIN workloads AS w ON w.id = m.workload").
		Select("m.workload, m.tenant, m.seat_pool, m.seats, m.from_at, m.until_at, COALESCE(w.name, '') AS name, "+
			"COALESCE(w.owner, '') AS owner, COALESCE(w.owner_name, '') AS owner_name").
		Where("m.seat_pool <> '' AND m.from_at < ?", momentOf(f.Span.Until)).
		Where(
			`EXISTS (SELECT 1 FROM meter_intervals AS o WHERE o.seat_pool <> '' AND o.workload = m.workload AND o.from_at < ? AND (o.until_at IS NULL OR o.until_at > ?))`,
			momentOf(f.Span.Until), momentOf(f.Span.From))
	if !since.IsZero() {
		query = query.Where("m.until_at IS NULL OR m.until_at > ?", momentOf(since))
	}
	if f.Owner != "" {
		query = query.Where("w.owner = ?", f.Owner)
	}
	var rows []struct {
		Workload  string
		Name      string
		Tenant    string
		Owner     string
		OwnerName string
		SeatPool  string
		Seats     int64
		FromAt    moment
		UntilAt   moment
	}
	err := query.Order("m.workload, m.from_at").Scan(&rows).Error
	list := make([]usage.Seated, len(rows))
	for n, r := range rows {
		list[n] = usage.Seated{Workload: r.Workload, Name: r.Name, Tenant: r.Tenant, Owner: r.Owner, OwnerName: r.OwnerName,
			Seats: usage.Seats{Pool: r.SeatPool, Count: r.Seats},
			From:  r.FromAt.time(), Until: r.UntilAt.time()}
	}
	return list, failure(err)
}
