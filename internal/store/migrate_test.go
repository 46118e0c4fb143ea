package store_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/migrations"
)

// database is one of the two: where an empty one is, how to reach it past the store, and how to describe its schema.
type database struct {
	empty    func(t testing.TB) string
	reach    func(t testing.TB, address string) *sql.DB
	dialect  goose.Dialect
	describe func(t *testing.T, db *sql.DB) []string
}

var databases = map[string]database{
	"SQLite": {empty: sqliteAddress, reach: reachSQLite, dialect: goose.DialectSQLite3, describe: describeSQLite},
	"PostgreSQL": {empty: storetest.EmptyPostgres, reach: reachPostgres, dialect: goose.DialectPostgres,
		describe: describePostgres},
}

func reachSQLite(t testing.TB, address string) *sql.DB {
	return reach(t, "sqlite", strings.NewReplacer(" ", "%20", "?", "%3F", "#", "%23", "%", "%25").Replace("file:"+
		strings.TrimPrefix(address, "sqlite:"))+
		"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
}

func reachPostgres(t testing.TB, address string) *sql.DB { return reach(t, "pgx", address) }

func reach(t testing.TB, driver, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err == nil {
		err = db.Ping()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func eachDatabase(t *testing.T, fn func(t *testing.T, d database)) {
	t.Parallel()
	for name, d := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, d)
		})
	}
}

func TestMigrateUpDownUp(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		ctx := context.Background()
		db := d.reach(t, d.empty(t))
		provider, err := goose.NewProvider(d.dialect, db, migrations.Files)
		if err != nil {
			t.Fatal(err)
		}
		up := func() []string {
			if _, err := provider.Up(ctx); err != nil {
				t.Fatal(err)
			}
			return d.describe(t, db)
		}
		first := up()
		if _, err := provider.DownTo(ctx, 0); err != nil {
			t.Fatal(err)
		}
		if left := d.describe(t, db); len(left) != 0 {
			t.Errorf("the way down leaves %v", left)
		}
		if diff := cmp.Diff(first, up()); diff != "" {
			t.Errorf("the second time up differs:\n%s", diff)
		}
	})
}

func TestMigrateTwiceAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		ctx, address := context.Background(), d.empty(t)
		stores := []*store.Store{open(t, address)}
		if d.dialect == goose.DialectPostgres { // SQLite lets no second portal in
			stores = append(stores, open(t, address), open(t, address))
		}
		have, want, err := stores[0].SchemaVersion(ctx)
		if err != nil || have != 0 || want == 0 {
			t.Errorf("an empty database is at version %d of %d, %v", have, want, err)
		}
		if err := stores[0].Ping(ctx); err == nil {
			t.Error("a database without a schema is not ready")
		}
		var group sync.WaitGroup
		problems := make(chan error, 100)
		for _, s := range stores {
			for range 3 {
				group.Go(func() { problems <- s.Migrate(ctx) })
			}
		}
		group.Wait()
		close(problems)
		for err := range problems {
			if err != nil {
				t.Error(err)
			}
		}
		have, want, err = stores[0].SchemaVersion(ctx)
		if err != nil || have != want {
			t.Errorf("want version %d, got %d, %v", want, have, err)
		}
	})
}

// T-UPG: a program refuses a database that a newer one has migrated, says so, and changes nothing in it.
func TestADatabaseOfANewerProgramIsRefused(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		ctx, address := context.Background(), d.empty(t)
		s := migrated(t, address)
		_, want, err := s.SchemaVersion(ctx)
		if err != nil {
			t.Fatal(err)
		}
		db := d.reach(t, address)
		newer := fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, true)", want+1)
		for _, statement := range []string{newer, "DROP TABLE engine_watermarks"} { // as its migration may have done
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		before := d.describe(t, db)
		err = s.Migrate(ctx)
		if sentence := fmt.Sprintf("schema is at version %d, and this program knows versions up to %d", want+1,
			want); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), sentence) {
			t.Errorf("want %q, got %v", sentence, err)
		}
		if diff := cmp.Diff(before, d.describe(t, db)); diff != "" {
			t.Errorf("it was changed:\n%s", diff)
		}
	})
}

func TestOnlyOnePortalOnASQLiteFile(t *testing.T) {
	t.Parallel()
	address := sqliteAddress(t)
	first := migrated(t, address)
	if _, err := store.Open(context.Background(), address, store.Options{}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("want ErrInUse, got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	migrated(t, address)
}

func TestAddressesThatDoNotWork(t *testing.T) {
	t.Parallel()
	for address, secret := range map[string]string{
		"": "", "mysql://x": "", "sqlite:": "", "sqlite:/does/not/exist/portal.db": "", "portal.db": "",
		"postgres://u:hush@127.0.0.1:1/x": "hush", "postgres://u:hush@127.0.0.1:port/x": "hush",
		"postgres://u:hush@[::1/x": "hush",
	} {
		s, err := store.Open(context.Background(), address, store.Options{})
		switch {
		case err == nil:
			_ = s.Close()
			t.Errorf("%q: want an error", address)
		case secret != "" && strings.Contains(err.Error(), secret):
			t.Errorf("the password is in the error: %v", err)
		}
	}
}

// The books of budgets are added to and never changed.
func TestBooksAreInsertOnly(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		address := d.empty(t)
		migrated(t, address)
		db := d.reach(t, address)
		if _,
			err := db.Exec(
			`INSERT INTO budget_transactions (id, tenant, month, unit, kind, workload, left_over, held, spent, refunded,
				platform, posted_by, by_name, note, created_at)
			VALUES ('b-1', 'vision', '2026-03', 'EUR', 'granted', '', 5, 0, 0, 0, -5, '', '', '', 1)`); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{"UPDATE budget_transactions SET note = 'x'", "DELETE FROM budget_transactions"} {
			if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "insert-only") {
				t.Errorf("%s: want it refused, got %v", statement, err)
			}
		}
	})
}

// Nobody changes the audit record: not the portal, and not a person who reaches the database with the portal's account.
func TestAuditRecordIsInsertOnly(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		address := d.empty(t)
		s := migrated(t, address)
		if err := s.Append(context.Background(), storetest.Event(1)); err != nil {
			t.Fatal(err)
		}
		db := d.reach(t, address)
		for _, statement := range []string{"UPDATE audit_events SET actor_name = 'Eve'", "DELETE FROM audit_events",
			"DELETE FROM audit_events WHERE seq = 1"} {
			if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "insert-only") {
				t.Errorf("%s: want it refused, got %v", statement, err)
			}
		}
		if d.dialect == goose.DialectPostgres {
			if _, err := db.Exec("TRUNCATE audit_events"); err == nil {
				t.Error("TRUNCATE: want it refused")
			}
		}
		if left := rows(t, db, "SELECT actor_name FROM audit_events"); len(left) != 1 || left[0] == "Eve" {
			t.Errorf("want the event as it was, got %v", left)
		}
	})
}

// An account that does not own the schema runs the portal, may add to the audit record, and cannot take the guard away.
func TestGrantTo(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.EmptyPostgres(t)
	s := migrated(t, address)
	owner := reachPostgres(t, address)
	account := "portal_" + strings.ToLower(rand.Text()[:8])
	if _, err := owner.Exec("CREATE ROLE " + account + " LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = owner.Exec("DROP OWNED BY " + account + "; DROP ROLE " + account) })
	if err := s.GrantTo(ctx, account); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("user", account)
	u.RawQuery = query.Encode()
	portal := migrated(t, u.String())
	if err := portal.Append(ctx, storetest.Event(1)); err != nil {
		t.Error(err)
	}
	db := reachPostgres(t, u.String())
	for _, statement := range []string{"UPDATE audit_events SET actor_name = 'Eve'", "DELETE FROM audit_events",
		"TRUNCATE audit_events",
		"UPDATE operator_audit SET name = 'Eve'", "UPDATE operator_workloads SET owner = 'p-eve'",
		"DROP TRIGGER audit_events_insert_only ON audit_events", "ALTER TABLE audit_events DISABLE TRIGGER ALL"} {
		if _, err := db.Exec(statement); err == nil {
			t.Errorf("%s: want it refused", statement)
		}
	}
	if err := migrated(t, sqliteAddress(t)).GrantTo(ctx, "x"); err == nil {
		t.Error("SQLite has no accounts: want an error")
	}
}

func TestTemporaryDatabaseVanishes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := migrated(t, "sqlite::memory:")
	if err := s.Ping(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(t.TempDir(), "..", "*", "gpu-portal-*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

var (
	blank    = regexp.MustCompile(`\s+`)
	comments = regexp.MustCompile(`--[^\n]*`)
)

func describeSQLite(t *testing.T, db *sql.DB) []string {
	lines := rows(t, db,
		`SELECT COALESCE(sql, name) FROM sqlite_master WHERE type <> 'trigger' AND name NOT LIKE 'goose%'
			AND name NOT LIKE 'sqlite_sequence'
		AND name NOT LIKE 'sqlite_autoindex%'`)
	for i, line := range lines {
		lines[i] = strings.NewReplacer(" ,", ",", " )",
			")").Replace(blank.ReplaceAllString(comments.ReplaceAllString(line, ""), " "))
	}
	slices.Sort(lines)
	return lines
}

func describePostgres(t *testing.T, db *sql.DB) []string {
	return rows(t, db, `
		SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || COALESCE(column_default,
			'') AS line
			FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE 'goose%'
		ORDER BY line`)
}

func rows(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	found, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var lines []string
	for found.Next() {
		var line string
		if err := found.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
