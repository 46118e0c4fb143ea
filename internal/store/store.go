package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Options tune a store; the comment of each field gives the value that a zero stands for.
type Options struct {
	Now         func() time.Time // time.Now
	Log         *slog.Logger     // nil: nothing is logged; only for what no caller hears of
	Connections int              // most connections to PostgreSQL, 20
	Statement   time.Duration    // longest that one statement may take on PostgreSQL, 30 s
	// ReadWait is how long a read waits for a lock on PostgreSQL, 2 s. Only ACCESS EXCLUSIVE holds up a read, which nobody
	// takes but migrations and administrators. Writes wait for Statement.
	ReadWait     time.Duration
	LeaderChecks time.Duration // how often the leader looks whether its session lives, 2 s
	Lease        time.Duration // how long a leader that renews nothing is waited for on PostgreSQL, 12 s
	OnStatement  func()        // after each statement, for those who count; nothing
	// OnSQL is OnStatement with the text, values filled in, and the context it ran in: for tests that look at queries.
	OnSQL        func(ctx context.Context, sql string)
	SearchWindow int64 // how many audit events a page of a text search looks through, 15,000
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Connections <= 0 {
		o.Connections = 20
	}
	if o.Statement <= 0 {
		o.Statement = 30 * time.Second
	}
	if o.ReadWait <= 0 {
		o.ReadWait = 2 * time.Second
	}
	if o.LeaderChecks <= 0 {
		o.LeaderChecks = 2 * time.Second
	}
	if o.Lease <= 0 {
		o.Lease = 12 * time.Second
	}
	if o.SearchWindow <= 0 {
		o.SearchWindow = 15_000
	}
	return o
}

// Store is the database. It is safe for use by many goroutines.
type Store struct {
	view      // reads outside a transaction
	dialect   // what SQLite and PostgreSQL do differently
	db        *gorm.DB
	opts      Options
	grants    writerLock // one grant of this process at a time
	writes    writerLock // on SQLite also every other write
	migrates  sync.Mutex
	onCommit  atomic.Pointer[func()]
	onEvents  atomic.Pointer[func([]audit.Event)]
	onLate    atomic.Pointer[func()]
	term      atomic.Pointer[term] // nil while this process does not lead
	snapshots snapshotCache
}

// What the packages that use the store ask for.
var (
	_ request.Store     = (*Store)(nil)
	_ request.Snapshots = (*Store)(nil)
	_ request.Tx        = (*tx)(nil)
	_ request.Reader    = view{}
	_ workload.Store    = (*Store)(nil)
	_ workload.Tx       = (*tx)(nil)
	_ live.Source       = (*Store)(nil)
	_ doctor.Store      = (*Store)(nil)
)

// dialect is what the two databases do differently.
type dialect interface {
	// lockGrants makes a transaction wait until it is the only one that grants.
	lockGrants(tx *gorm.DB) error
	// lockMeter makes a transaction wait until it is the only one that may change the meter.
	lockMeter(tx *gorm.DB) error
	// oneWriter reports whether the database has one writer at a time, so that waiting in line is better done here.
	oneWriter() bool
	migrate(ctx context.Context) error
	// lead is nil without an error while another process leads.
	lead(ctx context.Context, s *Store) (*term, error)
	epochQuery() string // SQL for the number of the last lead, which stays so until the transaction ends
	clock() string      // SQL for the seconds since 1970
	begin() []*sql.TxOptions
	server(ctx context.Context) (Server, error)
	// pools are the connections, by what they are for.
	pools() map[string]*sql.DB
	close() error
}

// Open opens the database that the address names: "sqlite:PATH", "sqlite::memory:" for one that is gone after Close, or
// "postgres://…". It does not migrate.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, rest, opts)
	case "postgres", "postgresql":
		return openPostgres(ctx, url, opts)
	}
	return nil, errors.New("the database address must begin with sqlite: or postgres:")
}

func newStore(d dialect, write, read *gorm.DB, opts Options) *Store {
	return &Store{view: view{db: read, window: opts.SearchWindow, kept: &caches{most: mostPending}}, dialect: d,
		db: write, opts: opts, grants: newWriterLock(),
		writes: newWriterLock()}
}

func (o Options) gormConfig() *gorm.Config {
	// QueryFields: with SELECT * a column that a newer version adds breaks every prepared statement of those who still
	// run, "cached plan must not change result type"
	return &gorm.Config{Logger: statements{logger.Discard, o.OnStatement, o.OnSQL}, TranslateError: true,
		SkipDefaultTransaction: true, QueryFields: true}
}

// statements is a logger that counts and writes nothing.
type statements struct {
	logger.Interface
	on  func()
	sql func(context.Context, string)
}

// Trace is called after each statement.
func (s statements) Trace(ctx context.Context, _ time.Time, told func() (string, int64), _ error) {
	if s.on != nil {
		s.on()
	}
	if s.sql != nil {
		text, _ := told()
		s.sql(ctx, text)
	}
}

// OnCommit has fn called after each commit that changed something people may be looking at. Call it before the store is
// used by others.
func (s *Store) OnCommit(fn func()) { s.onCommit.Store(&fn) }

// OnEvents has fn called with the events of each commit of this process, for those who count. Call it before the store
// is used by others.
func (s *Store) OnEvents(fn func([]audit.Event)) { s.onEvents.Store(&fn) }

// Pools are the connections to the database, by what they are for: for those who watch how many are in use.
func (s *Store) Pools() map[string]*sql.DB { return s.pools() }

// Ping reports whether the database answers and its schema is there. It asks as a read does: writes that wait for a
// lock do not make a process unready.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.pools()["read"].QueryRowContext(ctx, "SELECT count(*) FROM counters").Scan(&one); err != nil {
		return failure(fmt.Errorf("ping: %w", err))
	}
	return nil
}

// Close closes every connection. Transactions under way end first or fail.
func (s *Store) Close() error { return s.close() }

func (s *Store) now() time.Time { return s.opts.Now() }
