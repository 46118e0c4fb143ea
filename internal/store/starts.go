package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var _ forecast.Store = (*Store)(nil)

// mostExamples bounds what an estimate is made from: more would say nothing new.
const mostExamples = 500

type startRow struct {
	Workload    string `gorm:"primaryKey"`
	Generation  int64  `gorm:"primaryKey;autoIncrement:false"`
	SizeName    string
	Kind        string
	Cluster     string
	Waited      bool
	RequestedAt timestamp
	GivenAt     timestamp
	FromAt      timestamp
	UntilAt     timestamp
	Basis       string
	PlacedAt    timestamp
	PlacedFrom  timestamp
	PlacedUntil timestamp
	ReadyAt     timestamp
}

func (startRow) TableName() string { return "starts" }

func fromStart(s forecast.Start) startRow {
	return startRow{Workload: string(s.Workload), Generation: s.Generation, SizeName: s.Size, Kind: string(s.Kind),
		Cluster: s.Cluster, Waited: s.Waited,
		RequestedAt: timestampOf(s.RequestedAt), GivenAt: timestampOf(s.AtRequest.At), FromAt: timestampOf(s.AtRequest.From),
		UntilAt: timestampOf(s.AtRequest.Until), Basis: string(s.AtRequest.Basis),
		PlacedAt: timestampOf(s.Placed), PlacedFrom: timestampOf(s.AtPlacement.From),
		PlacedUntil: timestampOf(s.AtPlacement.Until),
		ReadyAt:     timestampOf(s.Ready)}
}

func toStart(r startRow) forecast.Start {
	s := forecast.Start{Workload: workload.ID(r.Workload), Generation: r.Generation, Size: r.SizeName,
		Kind: catalog.WorkloadKind(r.Kind), Cluster: r.Cluster, Waited: r.Waited,
		RequestedAt: r.RequestedAt.time(), AtRequest: forecast.Estimate{At: r.GivenAt.time(), From: r.FromAt.time(),
			Until: r.UntilAt.time(),
			Basis: forecast.Basis(r.Basis)},
		Placed: r.PlacedAt.time(), Ready: r.ReadyAt.time()}
	if r.PlacedUntil.Valid {
		s.AtPlacement = forecast.Estimate{At: s.Placed, From: r.PlacedFrom.time(), Until: r.PlacedUntil.time(),
			Basis: forecast.Placed}
	}
	return s
}

// Start gives the record of one start. Fault: NotFound.
func (v view) Start(ctx context.Context, id workload.ID, generation int64) (forecast.Start, error) {
	row, err := one[startRow](v.at(ctx).Where("workload = ? AND generation = ?", string(id), generation),
		i18n.T("workload.not_found"))
	return toStart(row), err
}

// saveStart writes the record of a start. One that is ready stays as it is: a leader that was asleep would count it
// twice.
func (t *tx) saveStart(ctx context.Context, s forecast.Start) error {
	row := fromStart(s)
	if err := writable(&row); err != nil {
		return err
	}
	done := t.at(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "workload"}, {Name: "generation"}},
		DoUpdates: clause.AssignmentColumns([]string{"placed_at", "placed_from", "placed_until", "ready_at"}),
		Where:     clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "starts.ready_at IS NULL"}}}}).Create(&row)
	if done.Error == nil && done.RowsAffected == 0 {
		return lostRace()
	}
	return failure(done.Error)
}

// StartDurations lists how long starts of a size took that were ready since a time, the newest first; see
// forecast.Store.
func (v view) StartDurations(ctx context.Context, size string, kind catalog.WorkloadKind,
	since time.Time) ([]forecast.StartDuration, error) {
	rows, err := v.at(ctx).Raw("SELECT ready_at - requested_at, ready_at - placed_at, waited FROM starts WHERE "+
		"size_name = ? "+
		"AND kind = ? AND ready_at >= ? AND ready_at IS NOT NULL ORDER BY ready_at DESC LIMIT ?",
		size, string(kind), timestampOf(since), mostExamples).Rows()
	if err != nil {
		return nil, failure(err)
	}
	defer rows.Close()
	var list []forecast.StartDuration
	for rows.Next() {
		var all, placed int64
		var t forecast.StartDuration
		if err := rows.Scan(&all, &placed, &t.Waited); err != nil {
			return nil, failure(err)
		}
		t.Total, t.AfterPlacement = time.Duration(all)*time.Microsecond, time.Duration(placed)*time.Microsecond
		list = append(list, t)
	}
	return list, failure(rows.Err())
}

// DecisionDurations lists how long starts of a team waited for people, the newest decisions first; see forecast.Store.
// What a rule decided says nothing of people; one that then waited for a seat was decided with the last consent.
func (v view) DecisionDurations(ctx context.Context, tenant string, since time.Time) ([]time.Duration, error) {
	var rows []struct {
		State     string
		CreatedAt timestamp `gorm:"autoCreateTime:false"`
		DecidedAt timestamp
		Decision  document[struct {
			By       string           `json:"by"`
			Consents []policy.Consent `json:"consents"`
		}]
	}
	err := v.at(ctx).Raw(
		`SELECT state, created_at, decided_at, decision FROM requests WHERE tenant = ? AND decided_at >= ?
			AND kind = 'start' AND state <> 'pending'
		AND state IN (?, ?) AND decided_at > created_at ORDER BY decided_at DESC LIMIT ?`,
		tenant, timestampOf(since), string(request.Approved), string(request.Rejected), mostExamples).Scan(&rows).Error
	var list []time.Duration
	for _, r := range rows {
		at, said := r.DecidedAt.time(), r.Decision.is.Consents
		if len(said) > 0 && r.State == string(request.Approved) {
			at = said[len(said)-1].At
		}
		if r.Decision.is.By != "" {
			list = append(list, at.Sub(r.CreatedAt.time()))
		}
	}
	return list, failure(err)
}

// EarlyReleases lists how long before the end of its lease a size was given back; see forecast.Store.
func (v view) EarlyReleases(ctx context.Context, size string, since time.Time) ([]time.Duration, error) {
	var early []int64
	err := v.at(ctx).Raw(
		`SELECT w.lease_until - m.until_at FROM meter_intervals AS m JOIN workloads AS w ON w.id = m.workload
		WHERE m.until_at >= ? AND m.size_name = ? AND w.lease_until IS NOT NULL AND w.state IN ('stopped', 'ended')
			ORDER BY m.until_at DESC LIMIT ?`,
		timestampOf(since), size, mostExamples).Scan(&early).Error
	list := make([]time.Duration, len(early))
	for i, us := range early {
		list[i] = time.Duration(us) * time.Microsecond
	}
	return list, failure(err)
}

type allocationRow struct {
	ID           string
	Tenant       string
	Cluster      string
	Size         shared[catalog.Size]
	LicensePool  string
	LicenseSeats int
	LeaseUntil   timestamp
	Queued       bool
	Held, Placed int
	RequestedAt  timestamp
}

// Allocations lists what holds something or waits for it, once for each replica. Since when one waits is what its start
// says; before the controller has seen it, what its row says.
func (v view) Allocations(ctx context.Context) ([]forecast.Allocation, error) {
	var rows []allocationRow
	err := v.at(ctx).Raw(
		`SELECT w.id, w.tenant, w.cluster, w.size, w.license_pool, w.license_seats, w.lease_until,
			w.state = 'queued' AS queued, w.held_replicas AS held, w.placed_replicas AS placed,
			COALESCE(s.requested_at, w.updated_at) AS requested_at
		FROM workloads AS w LEFT JOIN starts AS s ON s.workload = w.id AND s.generation = w.generation
		WHERE w.state <> 'ended' AND (w.desired = 'running' OR w.state = 'stopping') ORDER BY w.id`).Scan(&rows).Error
	list := make([]forecast.Allocation, 0, len(rows))
	for _, r := range rows {
		one := forecast.Allocation{Workload: workload.ID(r.ID), Tenant: r.Tenant, Cluster: r.Cluster, Size: r.Size.is,
			Pool: r.LicensePool, Seats: r.LicenseSeats, Until: r.LeaseUntil.time(), RequestedAt: r.RequestedAt.time()}
		for n := range r.Held {
			one.Queued = r.Queued || n >= max(1, r.Placed)
			list = append(list, one)
		}
	}
	return list, failure(err)
}
