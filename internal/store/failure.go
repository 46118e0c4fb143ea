package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// retryAfter is what people and programs are told while the database is away.
const retryAfter = 5 * time.Second

// failure is the one place where trouble with the database becomes a fault. What is a fault already stays as it is;
// what is not known is wrapped and so counts as Internal.
func failure(err error) error {
	var known *fault.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("the caller went away: %w", err)
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return fault.Wrap(fault.NotFound, err, i18n.T("store.not_found"))
	case clash(err) != noClash:
		return fault.Wrap(fault.Conflict, err, i18n.T("store.duplicate"))
	case dangling(err):
		return fault.Wrap(fault.Conflict, err, i18n.T("store.gone"))
	case unwritable(err):
		return notText(err)
	case retriable(err), unreachable(err):
		f := fault.Wrap(fault.Unavailable, err, i18n.T("store.unavailable"))
		f.RetryAfter = retryAfter
		return f
	}
	return fmt.Errorf("database: %w", err)
}

// errLostRace: a row is no longer at the version that was read.
var errLostRace = errors.New("the row was changed since it was read")

func lostRace() error { return fault.Wrap(fault.Conflict, errLostRace, i18n.T("store.lost_race")) }

// Codes of PostgreSQL, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	pgUnique        = "23505"
	pgForeign       = "23503"
	pgNotText       = "22021" // character_not_in_repertoire: NUL or not UTF-8
	pgNotEscape     = "22P05" // untranslatable_character
	pgSerialization = "40001"
	pgDeadlock      = "40P01"
)

// pgAway are the codes and classes that mean "not now": connection trouble, shutting down, out of room or connections,
// a statement or lock that took too long, and a server that only reads since another one took over.
var pgAway = []string{"08", "53", "57P", "57014", "55P03", "25006", "25P03"}

func pgCode(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// sqliteCode is the extended result code of SQLite, https://www.sqlite.org/rescode.html, 0 for none.
func sqliteCode(err error) int {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return lite.Code()
	}
	return 0
}

// collision says which kind of key a new row ran into.
type collision int

const (
	noClash collision = iota
	primaryClash
	uniqueClash // another unique index: no table has two
)

func clash(err error) collision {
	var pg *pgconn.PgError
	switch code := sqliteCode(err); {
	case code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return primaryClash
	case code == sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		return uniqueClash
	case !errors.As(err, &pg) || pg.Code != pgUnique:
		return noClash
	case strings.HasSuffix(pg.ConstraintName, "_pkey"):
		return primaryClash
	}
	return uniqueClash
}

// dangling reports whether a row refers to one that does not exist.
func dangling(err error) bool {
	return pgCode(err) == pgForeign || sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// unwritable reports whether a text cannot be held at all.
func unwritable(err error) bool {
	code := pgCode(err)
	return code == pgNotText || code == pgNotEscape
}

// retriable reports whether the transaction was rolled back for the sake of another one, so that it may be run again.
func retriable(err error) bool {
	switch pgCode(err) {
	case pgSerialization, pgDeadlock:
		return true
	}
	primary := sqliteCode(err) & 0xff
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}

func unreachable(err error) bool {
	if code := pgCode(err); code != "" {
		for _, prefix := range pgAway {
			if strings.HasPrefix(code, prefix) {
				return true
			}
		}
		return false
	}
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return true
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, errTableStands)
}
