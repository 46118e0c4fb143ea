package store

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

var _ usage.FleetStore = (*Store)(nil)

type fleetSampleRow struct {
	Cluster string `gorm:"primaryKey"`
	TakenAt timestamp
	Stock   document[[]usage.Stock]
}

func (fleetSampleRow) TableName() string { return "fleet_samples" }

func toSample(row fleetSampleRow) usage.Sample {
	return usage.Sample{Cluster: row.Cluster, At: row.TakenAt.time(), Stock: row.Stock.is}
}

type fleetDayRow struct {
	Day      string
	Cluster  string
	Model    string
	Physical int64
	Ours     int64
	Others   int64
	Free     int64
	Broken   int64
	Unknown  int64
}

func (fleetDayRow) TableName() string { return "fleet_days" }

func toFleetDay(row fleetDayRow) usage.FleetDay {
	return usage.FleetDay{Day: row.Day, Cluster: row.Cluster, Model: row.Model,
		FleetTime: usage.FleetTime{Physical: usage.CardTime(row.Physical), Ours: usage.CardTime(row.Ours),
			Others: usage.CardTime(row.Others), Free: usage.CardTime(row.Free), Broken: usage.CardTime(row.Broken),
			Unknown: usage.CardTime(row.Unknown)}}
}

// CountFleet lets one of several controllers that look at the same moment count: who writes the sample first. The time
// since the one before is then counted once.
func (s *Store) CountFleet(ctx context.Context, sample usage.Sample, zone *time.Location) error {
	return s.write(ctx, func(t *tx) error {
		row := fleetSampleRow{Cluster: sample.Cluster, TakenAt: timestampOf(sample.At.Truncate(time.Millisecond)),
			Stock: doc(sample.Stock)}
		if err := writable(&row); err != nil {
			return err
		}
		before, err := all[fleetSampleRow](t.at(ctx).Where("cluster = ?", row.Cluster))
		if err != nil {
			return err
		}
		if len(before) == 0 {
			return t.at(ctx).Exec("INSERT INTO fleet_samples (cluster, taken_at, stock) VALUES (?, ?, ?) ON CONFLICT "+
				"(cluster) DO NOTHING", row.Cluster, row.TakenAt, row.Stock).Error
		}
		last := toSample(before[0])
		if !row.TakenAt.time().After(last.At) {
			return nil
		}
		done := t.at(ctx).Exec("UPDATE fleet_samples SET taken_at = ?, stock = ? WHERE cluster = ? AND taken_at = ?",
			row.TakenAt, row.Stock, row.Cluster, before[0].TakenAt)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		return t.addFleetDays(ctx, usage.CountFleet(last, row.TakenAt.time(), zone))
	})
}

func (t *tx) addFleetDays(ctx context.Context, days []usage.FleetDay) error {
	for _, d := range days {
		err := t.at(ctx).Exec(
			`INSERT INTO fleet_days (day, cluster, model, physical, ours, others, free, broken, unknown) VALUES (?, ?, ?, ?, ?,
				?, ?, ?, ?)
			ON CONFLICT (day, cluster, model) DO UPDATE SET physical = fleet_days.physical + excluded.physical,
				ours = fleet_days.ours + excluded.ours,
				others = fleet_days.others + excluded.others, free = fleet_days.free + excluded.free,
					broken = fleet_days.broken + excluded.broken,
				unknown = fleet_days.unknown + excluded.unknown`,
			d.Day, d.Cluster, d.Model, int64(d.Physical), int64(d.Ours), int64(d.Others), int64(d.Free), int64(d.Broken),
			int64(d.Unknown)).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// chargesQuery adds up, for each cluster and step of the grid, what begins and what ends there: what usage.Charges says
// of one interval. Times are in microseconds.
const chargesQuery = `
SELECT cluster, 0 AS unknown, (CASE WHEN from_at < @from THEN @from ELSE from_at END) / @step AS step,
  CAST(SUM(parts) AS BIGINT) AS parts,
  CAST(SUM(parts * ((CASE WHEN from_at < @from THEN @from ELSE from_at END) % @step / 1000)) AS BIGINT) AS late
FROM meter_intervals
WHERE parts > 0 AND from_at < @until AND (until_at > @from OR until_at IS NULL)
GROUP BY 1, 3
UNION ALL
SELECT cluster, 0, until_at / @step, CAST(-SUM(parts) AS BIGINT),
  CAST(-SUM(parts * (until_at % @step / 1000)) AS BIGINT)
FROM meter_intervals
WHERE parts > 0 AND until_at > @from AND until_at <= @until AND from_at < @until
GROUP BY 1, 3
UNION ALL
SELECT cluster, 0, CAST(@until AS BIGINT) / @step, CAST(-SUM(parts) AS BIGINT),
  CAST(-SUM(parts) * (CAST(@until AS BIGINT) % @step / 1000) AS BIGINT)
FROM meter_intervals
WHERE parts > 0 AND from_at < @until AND (until_at > @until OR until_at IS NULL)
GROUP BY 1
UNION ALL
SELECT cluster, 1, moment / @step, CAST(SUM(parts) AS BIGINT), CAST(SUM(parts * (moment % @step / 1000)) AS BIGINT)
FROM (
  SELECT cluster, parts, CASE WHEN until_at < @from THEN @from ELSE until_at END AS moment FROM meter_intervals
  WHERE parts > 0 AND unknown_until > @from AND until_at < @until AND until_at < unknown_until
  UNION ALL
  SELECT cluster, -parts, CASE WHEN unknown_until > @until THEN @until ELSE unknown_until END FROM meter_intervals
  WHERE parts > 0 AND unknown_until > @from AND until_at < @until AND until_at < unknown_until
) AS unknown
GROUP BY 1, 3`

type chargeRow struct {
	Cluster string
	Unknown int64
	Step    int64
	Parts   int64
	Late    int64
}

// Charges adds up the meter.
func (v view) Charges(ctx context.Context, s usage.Span) (list []usage.Charge, err error) {
	step := usage.ChargeStep.Microseconds()
	err = withRoom(v.at(ctx), func(db *gorm.DB) error {
		args := map[string]any{"from": s.From.UnixMicro(), "until": s.Until.UnixMicro(), "step": step}
		rows, err := askNumbered[chargeRow](ctx, db, chargesQuery, args)
		if err != nil {
			return err
		}
		for _, row := range rows {
			list = append(list, usage.Charge{Cluster: row.Cluster, Unknown: row.Unknown == 1,
				Step: time.UnixMicro(row.Step * step).UTC(), Parts: row.Parts, Late: row.Late})
		}
		return nil
	})
	return list, failure(err)
}

// Fleet reads the days from one until before another, and the last samples, in one state of the database.
func (v view) Fleet(ctx context.Context, from,
	until string) (days []usage.FleetDay, samples []usage.Sample, err error) {
	err = v.at(ctx).Transaction(func(db *gorm.DB) error {
		rows, err := all[fleetDayRow](db.Where("day >= ? AND day < ?", from, until).Order("day, cluster, model"))
		if err != nil {
			return err
		}
		last, err := all[fleetSampleRow](db.Order("cluster"))
		days, samples = each(rows, toFleetDay), each(last, toSample)
		return err
	}, &sql.TxOptions{ReadOnly: true, Isolation: oneState[v.db.Name()]})
	return days, samples, failure(err)
}
