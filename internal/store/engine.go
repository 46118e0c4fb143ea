package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
)

var _ recorder.Store = (*Store)(nil)

// EngineWatermark is up to when the use of a cluster's GPUs is recorded; the zero time for never.
func (v view) EngineWatermark(ctx context.Context, cluster string) (time.Time, error) {
	var until timestamp
	err := v.at(ctx).Raw("SELECT until_at FROM engine_watermarks WHERE cluster = ?", cluster).Scan(&until).Error
	return until.time(), failure(err)
}

// MeteredOn gives the stretches of a cluster's meter that reach into a span, whole, with what metrics know their
// workloads by.
func (v view) MeteredOn(ctx context.Context, cluster string, s usage.Span) ([]recorder.Metered, error) {
	var rows []struct {
		Interval  intervalRow `gorm:"embedded"`
		Namespace string
		Name      string
		Kind      string
		Size      shared[catalog.Size]
	}
	err := v.at(ctx).Raw(
		`SELECT m.workload, m.tenant, m.size_name, m.price_minor, m.price_currency, m.from_at, m.until_at, m.unknown_until,
			m.seat_pool, m.seats, m.replicas, w.namespace, w.name, w.kind, w.size
		FROM meter_intervals AS m JOIN workloads AS w ON w.id = m.workload
		WHERE w.cluster = ? AND m.from_at < ? AND (m.until_at IS NULL OR m.until_at > ?)
		ORDER BY m.workload, m.from_at`, cluster, timestampOf(s.Until), timestampOf(s.From)).Scan(&rows).Error
	list := make([]recorder.Metered, len(rows))
	for n, row := range rows {
		list[n] = recorder.Metered{Interval: toInterval(row.Interval), Namespace: row.Namespace, Name: row.Name,
			Kind: catalog.WorkloadKind(row.Kind), Size: row.Size.is}
	}
	return list, failure(err)
}

// RecordEngine adds what was told to the months of its lines. Of several that record the same stretch one does: who
// moves the watermark first.
func (s *Store) RecordEngine(ctx context.Context, r usage.EngineRecord) error {
	return s.write(ctx, func(t *tx) error {
		db, until := t.at(ctx), timestampOf(r.Until)
		done := db.Exec("INSERT INTO engine_watermarks (cluster, until_at) VALUES (?, ?) ON CONFLICT (cluster) DO NOTHING",
			r.Cluster, until)
		if !r.Before.IsZero() {
			done = db.Exec("UPDATE engine_watermarks SET until_at = ? WHERE cluster = ? AND until_at = ?", until, r.Cluster,
				timestampOf(r.Before))
		}
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		rows := each(r.Lines, func(l usage.EngineLine) engineUseRow {
			use := l.EngineUse.Within(r.Until.Sub(r.From))
			return engineUseRow{Month: r.Month.String(), Workload: l.Workload, Tenant: l.Tenant, SizeName: l.Size,
				PriceMinor: l.PerHour.Minor, PriceCurrency: l.PerHour.Currency,
				MeasuredUs: use.Measured.Microseconds(), BusyUs: use.Busy.Microseconds(), IdleUs: use.Idle.Microseconds()}
		})
		if len(rows) == 0 {
			return nil
		}
		return db.Clauses(addEngineUse).CreateInBatches(rows, 500).Error
	})
}

type engineUseRow struct {
	Month         string
	Workload      string
	Tenant        string
	SizeName      string
	PriceMinor    int64
	PriceCurrency string
	MeasuredUs    int64
	BusyUs        int64
	IdleUs        int64
}

func (engineUseRow) TableName() string { return "engine_uses" }

// addEngineUse adds what is new to what a line of the month has.
var addEngineUse = clause.OnConflict{
	Columns: []clause.Column{{Name: "month"}, {Name: "workload"}, {Name: "tenant"}, {Name: "size_name"},
		{Name: "price_minor"}, {Name: "price_currency"}},
	DoUpdates: clause.Assignments(map[string]any{
		"measured_us": gorm.Expr("engine_uses.measured_us + excluded.measured_us"),
		"busy_us":     gorm.Expr("engine_uses.busy_us + excluded.busy_us"),
		"idle_us":     gorm.Expr("engine_uses.idle_us + excluded.idle_us"),
	}),
}
