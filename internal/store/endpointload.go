package store

import (
	"context"
	"math"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
)

type gatewayRow struct {
	Gateway string `gorm:"primaryKey"`
	At      timestamp
}

func (gatewayRow) TableName() string { return "gateway_reports" }

type endpointLoadRow struct {
	Gateway     string `gorm:"primaryKey"`
	Workload    string `gorm:"primaryKey"`
	UnderWay    int
	Concurrency int64 // thousandths
	PerSecond   int64 // thousandths
	LastAt      timestamp
}

func (endpointLoadRow) TableName() string { return "endpoint_load" }

// requestsLife is how long it is known when an endpoint was called last: longer than any can be awake without a call.
const requestsLife = 8 * 24 * time.Hour

// SaveEndpointLoads replaces what a gateway measured of endpoints; when they were called last is kept. Gateways that
// were not heard of for long are forgotten.
func (s *Store) SaveEndpointLoads(ctx context.Context, r autoscale.Report) error {
	return s.write(ctx, func(t *tx) error {
		gone := timestampOf(r.At.Add(-5 * autoscale.Gone))
		if err := t.at(ctx).Where("at < ?", gone).Delete(&gatewayRow{}).Error; err != nil {
			return failure(err)
		}
		row := gatewayRow{Gateway: r.Gateway, At: timestampOf(r.At)}
		if err := t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return failure(err)
		}
		err := t.at(ctx).Exec("UPDATE endpoint_load SET under_way = 0, concurrency = 0, per_second = 0 WHERE gateway = ? "+
			"AND (under_way > 0 OR concurrency > 0 OR per_second > 0)", r.Gateway).Error
		if err != nil || len(r.Endpoints) == 0 {
			return failure(err)
		}
		rows := make([]endpointLoadRow, len(r.Endpoints))
		for i, e := range r.Endpoints {
			rows[i] = endpointLoadRow{Gateway: r.Gateway, Workload: e.Workload, UnderWay: e.UnderWay,
				Concurrency: thousandths(e.Concurrency), PerSecond: thousandths(e.PerSecond), LastAt: timestampOf(e.LastRequest)}
		}
		return failure(t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(&rows, 500).Error)
	})
}

func thousandths(f float64) int64 { return int64(math.Round(f * 1000)) }

// EndGateway forgets that a gateway reports: it has stopped.
func (s *Store) EndGateway(ctx context.Context, gateway string) error {
	return s.write(ctx, func(t *tx) error {
		return failure(t.at(ctx).Where("gateway = ?", gateway).Delete(&gatewayRow{}).Error)
	})
}

// EndpointLoads is what gateways reported last. Of a gateway that is forgotten only remains when endpoints were called;
// its time is zero.
func (v view) EndpointLoads(ctx context.Context) ([]autoscale.Report, error) {
	gateways, err := all[gatewayRow](v.at(ctx).Order("gateway"))
	if err != nil {
		return nil, err
	}
	rows, err := all[endpointLoadRow](v.at(ctx).Order("gateway, workload"))
	if err != nil {
		return nil, err
	}
	reports, place := make([]autoscale.Report, 0, len(gateways)), map[string]int{}
	for _, g := range gateways {
		place[g.Gateway] = len(reports)
		reports = append(reports, autoscale.Report{Gateway: g.Gateway, At: g.At.time()})
	}
	for _, r := range rows {
		at, known := place[r.Gateway]
		if !known {
			at = len(reports)
			place[r.Gateway] = at
			reports = append(reports, autoscale.Report{Gateway: r.Gateway})
		}
		reports[at].Endpoints = append(reports[at].Endpoints, autoscale.EndpointLoad{Workload: r.Workload,
			UnderWay: r.UnderWay, Concurrency: float64(r.Concurrency) / 1000, PerSecond: float64(r.PerSecond) / 1000,
			LastRequest: r.LastAt.time()})
	}
	return reports, nil
}
