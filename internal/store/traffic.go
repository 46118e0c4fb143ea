package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	_ traffic.Adder       = (*Store)(nil)
	_ traffic.Store       = (*Store)(nil)
	_ traffic.SampleStore = (*Store)(nil)
)

// countColumns are those of counts, in the order of countsOf.
var countColumns = func() []string {
	columns := []string{"requests", "client_errors", "server_errors", "refused", "prompt_tokens", "completion_tokens",
		"without_usage"}
	for _, histogram := range []string{"first", "took"} {
		for i := range traffic.Buckets {
			columns = append(columns, fmt.Sprintf("%s_%d", histogram, i))
		}
	}
	return columns
}()

// countsOf are where the counts are, to be read or written.
func countsOf(c *traffic.Counts) []*int64 {
	list := []*int64{&c.Requests, &c.ClientErrors, &c.ServerErrors, &c.Refused, &c.Prompt, &c.Completion, &c.WithoutUsage}
	for _, h := range []*traffic.Histogram{&c.First, &c.Took} {
		for i := range h {
			list = append(list, &h[i])
		}
	}
	return list
}

// trafficTogether is how many rows one statement adds; what is left is added one by one, so that there are two
// statements to prepare and not as many as there are numbers of rows.
const trafficTogether = 50

var addTraffic, addTrafficTogether = addTrafficSQL(1), addTrafficSQL(trafficTogether)

func addTrafficSQL(rows int) string {
	columns := append([]string{"workload", "step", "key_id", "person", "revision", "at"}, countColumns...)
	values := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	adds := make([]string, len(countColumns))
	for i, c := range countColumns {
		adds[i] = c + " = endpoint_traffic." + c + " + excluded." + c
	}
	return "INSERT INTO endpoint_traffic (" + strings.Join(columns, ", ") + ") VALUES " + values +
		strings.Repeat(", "+values, rows-1) + " ON CONFLICT (workload, step, key_id, person, revision, at) DO UPDATE SET " +
		strings.Join(adds, ", ")
}

// AddTraffic adds what a process counted to the rows of all, once, however often it is told.
func (s *Store) AddTraffic(ctx context.Context, b traffic.Batch) error {
	rows := traffic.Rows(b.Rows)
	return s.write(ctx, func(t *tx) error {
		news := t.at(ctx).Exec("INSERT INTO traffic_batches (process, number, at) VALUES (?, ?, ?) ON CONFLICT (process) "+
			"DO UPDATE SET number = excluded.number, at = excluded.at WHERE traffic_batches.number < excluded.number",
			b.Process, b.Number, timestampOf(b.At))
		if news.Error != nil || news.RowsAffected == 0 {
			return news.Error
		}
		for len(rows) > 0 {
			statement, n := addTraffic, 1
			if len(rows) >= trafficTogether {
				statement, n = addTrafficTogether, trafficTogether
			}
			var values []any
			for i := range rows[:n] {
				r := &rows[i]
				values = append(values, string(r.Workload), int64(r.Step/time.Second), r.Key, string(r.Person), r.Revision,
					timestampOf(r.At))
				for _, count := range countsOf(&r.Counts) {
					values = append(values, *count)
				}
			}
			if err := t.at(ctx).Exec(statement, values...).Error; err != nil {
				return err
			}
			rows = rows[n:]
		}
		return nil
	})
}

// TrafficSeries is what all consumers took of an endpoint since a time, by step and revision.
func (v view) TrafficSeries(ctx context.Context, id workload.ID, step time.Duration,
	since time.Time) (list []traffic.Row, err error) {
	err = v.trafficRows(ctx, "SELECT revision, at, "+strings.Join(countColumns, ", ")+" FROM endpoint_traffic WHERE "+
		"workload = ? AND step = ? AND key_id = '' AND person = '' AND at >= ? ORDER BY at, revision",
		[]any{string(id), int64(step / time.Second), timestampOf(since)}, func(rows *sql.Rows) error {
			var at timestamp
			r := traffic.Row{Source: traffic.Source{Workload: id}, Step: step}
			err := rows.Scan(append([]any{&r.Revision, &at}, pointers(countsOf(&r.Counts))...)...)
			r.At = at.time()
			list = append(list, r)
			return err
		})
	return list, err
}

// TrafficByConsumer is what each key and person took of an endpoint since a time, all revisions together, the busiest
// first, as many as most.
func (v view) TrafficByConsumer(ctx context.Context, id workload.ID, step time.Duration, since time.Time,
	most int) (list []traffic.Consumer, err error) {
	sums := make([]string, len(countColumns))
	for i, c := range countColumns {
		sums[i] = "CAST(SUM(" + c + ") AS BIGINT) AS " + c
	}
	err = v.trafficRows(ctx, "SELECT t.key_id, t.person, COALESCE(k.name, p.name, ''), k.revoked_at, t."+
		strings.Join(countColumns, ", t.")+" FROM (SELECT key_id, person, "+strings.Join(sums, ", ")+
		" FROM endpoint_traffic WHERE workload = ? AND step = ? AND (key_id <> '' OR person <> '') AND at >= ? "+
		"GROUP BY key_id, person) t LEFT JOIN endpoint_keys k ON k.id = t.key_id LEFT JOIN people p ON p.id = t.person "+
		"ORDER BY t.requests DESC, t.key_id, t.person LIMIT ?",
		[]any{string(id), int64(step / time.Second), timestampOf(since), most}, func(rows *sql.Rows) error {
			var c traffic.Consumer
			var person string
			var revoked timestamp
			err := rows.Scan(append([]any{&c.Key, &person, &c.Name, &revoked}, pointers(countsOf(&c.Counts))...)...)
			c.Person, c.Revoked = identity.PersonID(person), revoked.Valid
			list = append(list, c)
			return err
		})
	return list, err
}

func pointers(list []*int64) []any { return each(list, func(p *int64) any { return p }) }

func (v view) trafficRows(ctx context.Context, query string, values []any, scan func(*sql.Rows) error) error {
	rows, err := v.at(ctx).Raw(query, values...).Rows()
	if err != nil {
		return failure(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return failure(err)
		}
	}
	return failure(rows.Err())
}

// RunningEndpoints are the endpoints that shall run, those that sleep with them.
func (v view) RunningEndpoints(ctx context.Context) ([]workload.Workload, error) {
	rows, err := all[workloadRow](v.at(ctx).Where("kind = ? AND desired = ? AND state <> ?", string(catalog.Endpoint),
		string(workload.WantRunning), string(workload.Ended)).Order("id"))
	return each(rows, toWorkload), err
}

// AddSamples adds samples of endpoints to the rows of their steps.
func (s *Store) AddSamples(ctx context.Context, samples map[workload.ID]traffic.Sample) error {
	return s.write(ctx, func(t *tx) error {
		for _, id := range sortedIDs(samples) {
			n := samples[id]
			for _, step := range traffic.Steps() {
				err := t.at(ctx).Exec("INSERT INTO replica_samples (workload, step, at, samples, wanted, ready, queue_samples, "+
					"queue) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workload, step, at) DO UPDATE SET "+
					"samples = replica_samples.samples + excluded.samples, "+
					"wanted = replica_samples.wanted + excluded.wanted, "+
					"ready = replica_samples.ready + excluded.ready, "+
					"queue_samples = replica_samples.queue_samples + excluded.queue_samples, "+
					"queue = replica_samples.queue + excluded.queue", string(id), int64(step.Long/time.Second),
					timestampOf(n.At.Truncate(step.Long)), n.Count, n.Wanted, n.Ready, n.QueueCount,
					int64(math.Round(n.Queue*1000))).Error
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func sortedIDs(samples map[workload.ID]traffic.Sample) []workload.ID {
	ids := make([]workload.ID, 0, len(samples))
	for id := range samples {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, cmp.Compare)
	return ids
}

type sampleRow struct {
	At           timestamp
	Samples      int64
	Wanted       int64
	Ready        int64
	QueueSamples int64
	Queue        int64
}

// Samples are the sums of an endpoint since a time, by step.
func (v view) Samples(ctx context.Context, id workload.ID, step time.Duration,
	since time.Time) ([]traffic.Sample, error) {
	var rows []sampleRow
	err := v.at(ctx).Raw("SELECT at, samples, wanted, ready, queue_samples, queue FROM replica_samples "+
		"WHERE workload = ? AND step = ? AND at >= ? ORDER BY at", string(id), int64(step/time.Second),
		timestampOf(since)).Scan(&rows).Error
	return each(rows, func(r sampleRow) traffic.Sample {
		return traffic.Sample{At: r.At.time(), Count: r.Samples, Wanted: r.Wanted, Ready: r.Ready,
			QueueCount: r.QueueSamples, Queue: float64(r.Queue) / 1000}
	}), failure(err)
}

// trafficPurges are what is deleted of what went through endpoints.
func trafficPurges(now time.Time) (list []purge) {
	for _, step := range traffic.Steps() {
		for _, table := range []string{"endpoint_traffic", "replica_samples"} {
			list = append(list, purge{fmt.Sprintf("DELETE FROM %s WHERE step = %d AND at < ?", table,
				int64(step.Long/time.Second)), now.Add(-step.Kept)})
		}
	}
	return append(list, purge{"DELETE FROM traffic_batches WHERE at < ?", now.Add(-batchLife)})
}

// batchLife is longer than any process waits to tell a batch again.
const batchLife = 24 * time.Hour
