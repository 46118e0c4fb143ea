package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Backlog counts open work over all tenants, for metrics. A state without any is not in its map.
type Backlog struct {
	Requests          map[string]int // undecided, by what they wait for: ForApproval, ForSeat
	Workloads         map[workload.State]int
	Deliveries        map[notify.State]int // messages that are not sent
	OldestDue         time.Time            // since when the message that waits longest could go out; zero while none waits
	UnprocessedEvents int64                // events that nobody has looked at yet for messages
	Changes           int64                // number of the newest outbox row
}

// What an undecided request waits for.
const (
	ForApproval = "approval"
	ForSeat     = "seat"
)

// Backlog counts. It reads what has not ended and no more, so that it costs as much after years as on the first day.
func (v view) Backlog(ctx context.Context) (Backlog, error) {
	b := Backlog{Requests: map[string]int{}, Workloads: map[workload.State]int{}, Deliveries: map[notify.State]int{}}
	for _, q := range []struct {
		sql  string
		note func(name string, n int)
	}{
		{"SELECT CASE WHEN seat_pool <> '' THEN '" + ForSeat + "' ELSE '" + ForApproval +
			"' END, count(*) FROM requests WHERE state = 'pending' GROUP BY 1",
			func(name string, n int) { b.Requests[name] = n }},
		{"SELECT state, count(*) FROM workloads WHERE state <> 'ended' GROUP BY state", func(name string, n int) {
			b.Workloads[workload.State(name)] = n
		}},
		{"SELECT state, count(*) FROM deliveries WHERE state IN ('due', 'sending') GROUP BY state", func(name string, n int) {
			b.Deliveries[notify.State(name)] = n
		}},
		{"SELECT state, count(*) FROM deliveries WHERE state = 'failed' GROUP BY state", func(name string, n int) {
			b.Deliveries[notify.State(name)] = n
		}},
	} {
		if err := v.count(ctx, q.sql, q.note); err != nil {
			return Backlog{}, failure(err)
		}
	}
	var rest struct {
		Audit, Outbox, Told int64
		Oldest              timestamp
	}
	err := v.at(ctx).Raw(`SELECT c.audit, c.outbox, (SELECT seq FROM notice_cursor WHERE id = 1) AS told,
		(SELECT min(next_at) FROM deliveries WHERE state IN ('due', 'sending')) AS oldest FROM counters c
			WHERE c.id = 1`).Scan(&rest).Error
	b.UnprocessedEvents, b.Changes = max(0, rest.Audit-rest.Told), rest.Outbox
	b.OldestDue = rest.Oldest.time()
	return b, failure(err)
}

// count reads rows of a name and a number.
func (v view) count(ctx context.Context, query string, note func(name string, n int)) error {
	rows, err := v.at(ctx).Raw(query).Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			return err
		}
		note(name, n)
	}
	return rows.Err()
}

// ChangeAfter is when the first outbox row after a number was written; zero where there is none.
func (v view) ChangeAfter(ctx context.Context, seq int64) (time.Time, error) {
	rows, err := all[changeRow](v.at(ctx).Where("seq > ?", seq).Order("seq").Limit(1))
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	return rows[0].At.time(), nil
}
