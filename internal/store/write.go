package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/trace"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// attempts is how often a transaction runs that was rolled back for the sake of another one.
const attempts = 5

// tx is one transaction: it reads through its view, saves rows at once, and keeps events and outbox rows for flush.
type tx struct {
	view
	now     time.Time
	events  []audit.Event
	changes []live.Change
	trace   string          // kept with workloads that are saved; "" leaves theirs
	span    *trace.Span     // hears of events that are committed; nil for none
	held    map[string]bool // clusters in which nobody is granted anything, see drift.go
}

// DecideExclusively runs fn in one transaction that no other grant runs beside: what fn reads stays true until it is
// written. It may run fn again when the database rolled it back for the sake of another transaction, or when something
// that no grant is, such as what a controller observes, changed a row that fn read: fn must not leave anything behind.
func (s *Store) DecideExclusively(ctx context.Context, fn func(request.Tx) error) error {
	return s.exclusively(ctx, "decide", func(t *tx) error { return fn(t) })
}

// ChangeExclusively is DecideExclusively for requests about workloads; both stand in one line.
func (s *Store) ChangeExclusively(ctx context.Context, fn func(workload.Tx) error) error {
	return s.exclusively(ctx, "spec", func(t *tx) error { return fn(t) })
}

// exclusively waits in this process first, so that those who wait do not use up the connections. What it does is a part
// of the caller's trace, which is kept with every workload that it saves.
func (s *Store) exclusively(ctx context.Context, what string, fn func(*tx) error) (err error) {
	ctx, span := trace.Begin(ctx, what)
	defer func() {
		if err != nil {
			span.Set("fault", string(fault.KindOf(err))) // its words may name people
		}
		span.End(nil)
	}()
	leave, err := s.grants.take(ctx)
	if err != nil {
		return failure(err)
	}
	defer leave()
	for attempt := 1; ; attempt++ {
		err = s.write(ctx, func(t *tx) error {
			if err := s.lockGrants(t.at(ctx)); err != nil {
				return err
			}
			if err := t.loadHolds(ctx); err != nil {
				return err
			}
			t.trace, t.span = trace.Parent(ctx), &span
			return fn(t)
		})
		if attempt == attempts || !errors.Is(err, errLostRace) || !pause(ctx, attempt) {
			return err
		}
	}
}

// Append writes events that belong to no other change.
func (s *Store) Append(ctx context.Context, events ...audit.Event) error {
	return s.write(ctx, func(t *tx) error { return t.Append(ctx, events...) })
}

// write runs fn in one transaction and writes the events and outbox rows that it left.
func (s *Store) write(ctx context.Context, fn func(*tx) error) error {
	for attempt := 1; ; attempt++ {
		done, err := s.writeOnce(ctx, fn)
		if err == nil {
			live.Forget(ctx)
			s.publish(done)
			return nil
		}
		if attempt == attempts || !retriable(err) || !pause(ctx, attempt) {
			return failure(err)
		}
	}
}

// publish passes on what was committed.
func (s *Store) publish(done *tx) {
	if done.span != nil {
		for _, e := range done.events {
			done.span.Happened(string(e.Kind), "rule", e.Rule, "request", e.Request, "workload", e.Workload)
		}
	}
	if wake := s.onCommit.Load(); len(done.changes) > 0 && wake != nil {
		(*wake)()
	}
	if count := s.onEvents.Load(); len(done.events) > 0 && count != nil {
		(*count)(done.events)
	}
}

func (s *Store) writeOnce(ctx context.Context, fn func(*tx) error) (done *tx, err error) {
	if s.oneWriter() {
		leave, err := s.writes.take(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	err = s.db.WithContext(ctx).Transaction(func(db *gorm.DB) error {
		if err := s.guard(ctx, db); err != nil {
			return err
		}
		t := &tx{view: view{db: db, window: s.window}, now: s.now()}
		if err := fn(t); err != nil {
			return err
		}
		done = t
		return t.flush(ctx)
	}, s.begin()...)
	return done, err
}

// pause waits a little longer each time, by chance, so that two that met do not meet again; false when the caller has
// gone.
func pause(ctx context.Context, attempt int) bool {
	longest := 10 * time.Millisecond << attempt
	select {
	case <-ctx.Done():
		return false
	case <-time.After(rand.N(longest)):
		return true
	}
}

// Append keeps events until the transaction is about to commit.
func (t *tx) Append(_ context.Context, events ...audit.Event) error {
	t.events = append(t.events, events...)
	return nil
}

// changed keeps one outbox row for each thing that changed.
func (t *tx) changed(c live.Change) {
	if !slices.Contains(t.changes, c) {
		t.changes = append(t.changes, c)
	}
}

// flush numbers events and outbox rows and writes them, as the last thing before the commit. The update makes every
// other writer of such rows wait until this transaction has ended: a number is visible only when all lower ones are,
// and so a reader that goes by numbers never skips one. That costs concurrency only for the length of a commit. A
// sequence would hand out numbers in the order of calls, not of commits.
func (t *tx) flush(ctx context.Context) error {
	if len(t.events)+len(t.changes) == 0 {
		return nil
	}
	var last struct{ Audit, Outbox int64 }
	err := t.at(ctx).Raw("UPDATE counters SET audit = audit + ?, outbox = outbox + ? WHERE id = 1 RETURNING audit, outbox",
		len(t.events), len(t.changes)).Scan(&last).Error
	if err != nil {
		return err
	}
	if err := insertEvents(t.at(ctx), t.events, last.Audit-int64(len(t.events))); err != nil {
		return err
	}
	return insertChanges(t.at(ctx), t.changes, last.Outbox-int64(len(t.changes)), t.now)
}

// insert writes a new row.
func insert(db *gorm.DB, row any) error {
	if err := writable(row); err != nil {
		return err
	}
	return failure(db.Create(row).Error)
}

// update writes every column of a row that is still at the version; else the race is lost.
func update(db *gorm.DB, row any, key, id string, version int64) error {
	if err := writable(row); err != nil {
		return err
	}
	done := db.Model(row).Where(key+" = ? AND version = ?", id, version).Select("*").Updates(row)
	if done.Error == nil && done.RowsAffected == 0 {
		return lostRace()
	}
	return failure(done.Error)
}

// writerLock lets one in at a time, in the order in which they came.
type writerLock chan struct{}

func newWriterLock() writerLock { return make(writerLock, 1) }

func (t writerLock) take(ctx context.Context) (leave func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
