package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"time"
)

// Of two signs of a leader's life each has its use. The advisory lock of its session ends with the process, so that a
// killed leader is replaced within seconds. The lease ends when nobody renews it, so that one that hangs is replaced
// although the kernel keeps its connections open. Safety rests on neither but on the epoch, see guard.

// leaseQuery says what epoch the last leader took, and whether another process may take the next one: its lease is over
// by the clock of the database, or the session is gone that holds its lock.
const leaseQuery = `SELECT epoch, renewed_at < ` + microsNow + ` - $1 OR NOT EXISTS (SELECT 1 FROM pg_locks
		WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database
			WHERE datname = current_database())
		AND classid = $2 AND objid = epoch % 2147483648 AND objsubid = 2)
	FROM leader_leases WHERE id = 1`

const microsNow = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

// takeLeaseQuery waits for who takes or renews the lease at the moment, and looks again then.
const takeLeaseQuery = `UPDATE leader_leases SET epoch = epoch + 1, renewed_at = ` + microsNow +
	` WHERE id = 1 AND epoch = $1`

// lead takes the next epoch where the last leader is dead or silent. It tells of it in a session of its own, which
// holds the epoch's advisory lock.
func (p *postgresServer) lead(ctx context.Context, s *Store) (*term, error) {
	var last int64
	var free bool
	err := p.write.QueryRowContext(ctx, leaseQuery, s.opts.Lease.Microseconds(), leaderLock).Scan(&last, &free)
	if err != nil || !free {
		return nil, err
	}
	conn, err := p.write.Conn(ctx)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	taken, err := takeEpoch(ctx, conn, last)
	if err != nil || !taken {
		discard(conn)
		return nil, err
	}
	t := newTerm(last + 1)
	t.renewed, t.renew = begun, func(ctx context.Context) (bool, error) { return renewLease(ctx, conn, last+1) }
	t.hold(func(stop <-chan struct{}) {
		defer discard(conn)
		err := t.watch(stop, conn, s.opts)
		switch {
		case err != nil:
			s.opts.Log.WarnContext(ctx, "leadership is lost", "error", err)
		case !t.isFenced(): // else a loop may hang in a statement on this session
			unlock(conn, t.epoch)
		}
	})
	return t, nil
}

// takeEpoch raises the epoch in one transaction, which does not outlive a process that stands still. From its commit on
// no former leader writes.
func takeEpoch(ctx context.Context, conn *sql.Conn, last int64) (taken bool, err error) {
	// The server notices within seconds when the network to this process is cut, and lets the lock go.
	_, err = conn.ExecContext(ctx, "SELECT set_config('tcp_keepalives_idle', '5', false), "+
		"set_config('tcp_keepalives_interval', '2', false), set_config('tcp_keepalives_count', '3', false), "+
		"set_config('idle_in_transaction_session_timeout', '5000', false)")
	if err != nil {
		return false, err
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range []struct {
		text string
		args []any
	}{
		{takeLeaseQuery, []any{last}},
		{"UPDATE leadership SET epoch = epoch + 1 WHERE id = 1 AND epoch = $1", []any{last}},
	} {
		done, err := tx.ExecContext(ctx, q.text, q.args...)
		if err != nil {
			return false, err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 { // another one was faster
			return false, err
		}
	}
	err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1, $2)", leaderLock, lockOf(last+1)).Scan(&taken)
	if err != nil || !taken {
		return false, err
	}
	return true, tx.Commit()
}

// lockOf is the second key of an epoch's advisory lock.
func lockOf(epoch int64) int32 { return int32(epoch % (1 << 31)) }

// renewLease is false when another process has taken the lead.
func renewLease(ctx context.Context, conn *sql.Conn, epoch int64) (bool, error) {
	done, err := conn.ExecContext(ctx, "UPDATE leader_leases SET renewed_at = "+microsNow+
		" WHERE id = 1 AND epoch = $1", epoch)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

var errNotRenewed = errors.New("the lease was not renewed in time")

// watch looks whether the session that holds the lock lives and the lease counts, until one does not, or stop closes.
// It renews nothing: that is for the loops that lead.
func (t *term) watch(stop <-chan struct{}, conn *sql.Conn, o Options) error {
	ticker := time.NewTicker(min(o.LeaderChecks, o.Lease/8))
	defer ticker.Stop()
	asked := time.Now()
	for {
		select {
		case <-stop:
			return nil
		case <-t.fenced:
			return nil
		case <-ticker.C:
		}
		if time.Since(t.lastRenewal()) > o.Lease {
			t.fence()
			return errNotRenewed
		}
		if time.Since(asked) < o.LeaderChecks {
			continue
		}
		asked = time.Now()
		// Not cut off by a release: a connection that breaks in the middle of a question cannot let go of the lock any more.
		ask, cancel := context.WithTimeout(context.Background(), 2*o.LeaderChecks)
		_, err := conn.ExecContext(ask, "SELECT 1")
		cancel()
		if err != nil {
			return err
		}
	}
}

// unlock lets go of the lock. The end of the session does so too, but some moments after the connection is closed, when
// the server has noticed.
func unlock(conn *sql.Conn, epoch int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1, $2)", leaderLock, lockOf(epoch))
}

// discard ends the session permanently, and with it the lock, rather than give the connection back to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// term is one time in which this process leads.
type term struct {
	epoch  int64
	once   sync.Once
	fenced chan struct{} // closed when it leads no more by word of the database, or its lease is over
	lost   chan struct{} // closed when nothing holds the lead any more
	renew  func(ctx context.Context) (bool, error)
	let    func() // lets go of the lead and returns when it is gone

	mu      sync.Mutex
	renewed time.Time // when the last renewal that succeeded began, by the monotonic clock
}

func newTerm(epoch int64) *term {
	return &term{epoch: epoch, fenced: make(chan struct{}), lost: make(chan struct{}), renewed: time.Now()}
}

// hold keeps the lead in a goroutine until it is lost or let go.
func (t *term) hold(keep func(stop <-chan struct{})) {
	stop := make(chan struct{})
	go func() {
		defer close(t.lost)
		keep(stop)
	}()
	var once sync.Once
	t.let = func() { once.Do(func() { close(stop) }); <-t.lost }
}

func (t *term) fence() { t.once.Do(func() { close(t.fenced) }) }

func (t *term) isFenced() bool {
	select {
	case <-t.fenced:
		return true
	default:
		return false
	}
}

func (t *term) lastRenewal() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.renewed
}

func (t *term) setRenewed(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = at
}

// Clock is the database's time, to the second.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var seconds int64
	if err := s.at(ctx).Raw(s.dialect.clock()).Scan(&seconds).Error; err != nil {
		return time.Time{}, failure(err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
