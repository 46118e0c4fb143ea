package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// ErrInUse is what a second portal on one SQLite file gets.
var ErrInUse = errors.New("another portal process uses this database file; a site with more than one needs PostgreSQL")

// readers is how many connections read beside the one that writes.
const readers = 4

// sqliteFile is one database file: one connection writes, a few read, and a lock keeps every other process away.
type sqliteFile struct {
	path        string
	temporary   string // folder to remove at the end, "" to keep everything
	lock        *os.File
	write, read *sql.DB
}

func openSQLite(ctx context.Context, path string, opts Options) (*Store, error) {
	f := &sqliteFile{path: strings.TrimPrefix(path, "//")}
	if f.path == "" {
		return nil, errors.New("the database address sqlite: names no file")
	}
	store, err := f.open(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return store, nil
}

func (f *sqliteFile) open(ctx context.Context, opts Options) (*Store, error) {
	if f.path == ":memory:" {
		// In memory each connection would have a database of its own.
		folder, err := os.MkdirTemp("", "gpu-portal-")
		if err != nil {
			return nil, err
		}
		f.temporary, f.path = folder, filepath.Join(folder, "portal.db")
	}
	var err error
	if f.lock, err = lockFile(f.path + ".lock"); err != nil {
		return nil, fmt.Errorf("open %s: %w", f.path, err)
	}
	if err = private(f.path); err != nil {
		return nil, fmt.Errorf("open %s: %w", f.path, err)
	}
	if f.write, err = f.pool(ctx, 1, "_txlock=immediate&_pragma=journal_mode(WAL)"); err != nil {
		return nil, err
	}
	if f.read, err = f.pool(ctx, readers, "_pragma=query_only(1)"); err != nil {
		return nil, err
	}
	write, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", Conn: f.write}, opts.gormConfig())
	if err != nil {
		return nil, err
	}
	read, err := gorm.Open(sqlite.Dialector{DriverName: "sqlite", Conn: newPrepared(f.read, mostPrepared)},
		opts.gormConfig())
	if err != nil {
		return nil, err
	}
	return newStore(f, write, read, opts), nil
}

// private makes the file before SQLite does, which would leave its rights to the umask; -wal and -shm get those of the
// file. One that is there keeps its rights: they are the administrator's.
func private(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// pool opens connections. With synchronous FULL a commit is on the disk before it is acknowledged: in WAL mode NORMAL
// would lose the last ones when the power fails.
func (f *sqliteFile) pool(ctx context.Context, connections int, more string) (*sql.DB, error) {
	dsn := "file:" + (&url.URL{Path: f.path}).EscapedPath() +
		"?_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=cache_size(-16000)&" + more
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.path, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", f.path, err), db.Close())
	}
	return db, nil
}

// lockGrants has nothing to do: a transaction begins IMMEDIATE and so is the only one that writes.
func (f *sqliteFile) lockGrants(*gorm.DB) error { return nil }

// lockMeter has nothing to do either.
func (f *sqliteFile) lockMeter(*gorm.DB) error { return nil }

// epochQuery needs no lock: see lockGrants.
func (f *sqliteFile) epochQuery() string {
	return "SELECT epoch, '' AS timeout FROM leadership WHERE id = 1"
}

func (f *sqliteFile) oneWriter() bool { return true }

func (f *sqliteFile) begin() []*sql.TxOptions { return nil }

func (f *sqliteFile) clock() string { return "SELECT CAST(strftime('%s', 'now') AS INTEGER)" }

func (f *sqliteFile) pools() map[string]*sql.DB {
	return map[string]*sql.DB{"read": f.read, "write": f.write}
}

// migrate needs no lock: the file is ours alone, and Store lets one in at a time.
func (f *sqliteFile) migrate(ctx context.Context) error {
	if err := migrateUp(ctx, goose.DialectSQLite3, f.write); err != nil {
		return err
	}
	for _, table := range insertOnly {
		// who can write to the file can take this away; of the audit record the chain of links then tells
		for _, event := range []string{"UPDATE", "DELETE"} {
			_, err := f.write.ExecContext(ctx, "CREATE TRIGGER IF NOT EXISTS "+table+"_no_"+strings.ToLower(event)+" BEFORE "+
				event+
				" ON "+table+" BEGIN SELECT RAISE(ABORT, 'the table "+table+" is insert-only'); END")
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lead is always yes: no other process can have the file. There is no lease to renew.
func (f *sqliteFile) lead(ctx context.Context, s *Store) (*term, error) {
	var epoch int64
	err := s.write(ctx, func(tx *tx) error {
		return tx.at(ctx).Raw("UPDATE leadership SET epoch = epoch + 1 WHERE id = 1 RETURNING epoch").Scan(&epoch).Error
	})
	if err != nil {
		return nil, err
	}
	t := newTerm(epoch)
	t.hold(func(stop <-chan struct{}) {
		select {
		case <-stop:
		case <-t.fenced:
		}
	})
	return t, nil
}

func (f *sqliteFile) close() error {
	var problems []error
	for _, db := range []*sql.DB{f.read, f.write} { // the last one to close writes the WAL back
		if db != nil {
			problems = append(problems, db.Close())
		}
	}
	if f.lock != nil {
		problems = append(problems, f.lock.Close())
	}
	if f.temporary != "" {
		problems = append(problems, os.RemoveAll(f.temporary))
	}
	return errors.Join(problems...)
}
