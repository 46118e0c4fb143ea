package store

import (
	"context"
	"time"

	"gorm.io/gorm"

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

// Backlog counts. It reads what has not ended and no more, so that it costs as much after years as on the first day;
// workloads and requests that are kept already are not read for it.
func (s *Store) Backlog(ctx context.Context) (b Backlog, err error) {
	b.Deliveries = map[notify.State]int{}
	if b.Requests, err = s.undecided(ctx); err != nil {
		return Backlog{}, err
	}
	if b.Workloads, err = s.CountWorkloads(ctx, workload.Filter{}); err != nil {
		return Backlog{}, err
	}
	unsent, err := unsentDeliveries.all(ctx, s.view)
	if err != nil {
		return Backlog{}, err
	}
	for _, d := range unsent {
		b.Deliveries[notify.State(d.Name)] = d.Number
		if at := d.Oldest.time(); !at.IsZero() && (b.OldestDue.IsZero() || at.Before(b.OldestDue)) {
			b.OldestDue = at
		}
	}
	var heard, told int64
	err = eventsTold.into(ctx, s.view, []any{&heard, &b.Changes, &told})
	b.UnprocessedEvents = max(0, heard-told)
	return b, err
}

// nameCount is how many there are by a name.
type nameCount struct {
	Name   string
	Number int
	Oldest timestamp
}

var (
	undecidedRequests = asked[nameCount](func(db *gorm.DB) *gorm.DB {
		return db.Raw("SELECT CASE WHEN seat_pool <> '' THEN '" + ForSeat + "' ELSE '" + ForApproval +
			"' END AS name, count(*) AS number FROM requests WHERE state = 'pending' GROUP BY 1")
	})
	// Each half has an index of its own.
	unsentDeliveries = asked[nameCount](func(db *gorm.DB) *gorm.DB {
		return db.Raw(`SELECT state AS name, count(*) AS number, min(next_at) AS oldest FROM deliveries
			WHERE state IN ('due', 'sending') GROUP BY state
			UNION ALL SELECT state, count(*), NULL FROM deliveries WHERE state = 'failed' GROUP BY state`)
	})
	eventsTold = asked[nameCount](func(db *gorm.DB) *gorm.DB {
		return db.Raw(`SELECT c.audit, c.outbox, coalesce((SELECT seq FROM notice_cursor WHERE id = 1), 0) FROM counters c
			WHERE c.id = 1`)
	})
)

// undecided counts requests by what they wait for.
func (v view) undecided(ctx context.Context) (map[string]int, error) {
	l, ok, err := v.pendingNow(ctx)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	if ok {
		for _, r := range l.rows {
			if r.SeatPool != "" {
				count[ForSeat]++
			} else {
				count[ForApproval]++
			}
		}
		return count, nil
	}
	rows, err := undecidedRequests.all(ctx, v)
	for _, r := range rows {
		count[r.Name] = r.Number
	}
	return count, err
}

// ChangeAfter is when the first outbox row after a number was written; zero where there is none.
func (v view) ChangeAfter(ctx context.Context, seq int64) (time.Time, error) {
	rows, err := all[changeRow](v.at(ctx).Where("seq > ?", seq).Order("seq").Limit(1))
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	return rows[0].At.time(), nil
}
