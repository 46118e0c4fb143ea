package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"time"
)

// lead takes an advisory lock that lives as long as a connection of its own.
func (p *postgresServer) lead(ctx context.Context, s *Store) (func(), bool, <-chan struct{}) {
	conn, err := p.takeLeaderLock(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "could not ask for leadership", "error", err)
		}
		return func() {}, false, nil
	}
	if conn == nil {
		return func() {}, false, nil
	}
	watch, stop := context.WithCancel(ctx)
	lost, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer discard(conn)
		if err := stillThere(watch, conn, s.opts.LeaderChecks); err != nil {
			s.opts.Log.Warn("leadership is lost", "error", err)
		} else {
			unlock(conn)
		}
		close(lost)
	}()
	var once sync.Once
	return func() { once.Do(func() { stop(); <-done }) }, true, lost
}

// takeLeaderLock gives the connection that holds the lock, or nil when another one does. The server notices within
// seconds when the network to this process is cut, and lets the lock go.
func (p *postgresServer) takeLeaderLock(ctx context.Context) (*sql.Conn, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var mine bool
	_, err = conn.ExecContext(ctx, "SELECT set_config('tcp_keepalives_idle', '5', false), "+
		"set_config('tcp_keepalives_interval', '2', false), set_config('tcp_keepalives_count', '3', false)")
	if err == nil {
		err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", leaderLock).Scan(&mine)
	}
	if err != nil || !mine {
		discard(conn)
		return nil, err
	}
	return conn, nil
}

// stillThere asks the session that holds the lock whether it lives, until it does not or the context ends.
func stillThere(ctx context.Context, conn *sql.Conn, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			// Not cut off by a release: a connection that breaks in the middle of a question cannot let go of the lock any more.
			ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*every)
			_, err := conn.ExecContext(ask, "SELECT 1")
			cancel()
			if err != nil {
				return err
			}
		}
	}
}

// unlock lets go of the lock. The end of the session does so too, but some moments after the connection is closed, when
// the server has noticed.
func unlock(conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", leaderLock)
}

// discard ends the session for good, and with it the lock, rather than give the connection back to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// Clock is the database's time, to the second.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var seconds int64
	if err := s.at(ctx).Raw(s.dialect.clock()).Scan(&seconds).Error; err != nil {
		return time.Time{}, failure(err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
