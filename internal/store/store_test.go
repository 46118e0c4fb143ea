package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
)

// What the controller asks for, beside what store.go says: its package brings a Kubernetes client with it, which the
// store must not.
var _ reconcile.Store = (*store.Store)(nil)

// open opens a store and closes it with the test.
func open(t testing.TB, address string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), address, store.Options{LeaderChecks: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// migrated is open with a schema.
func migrated(t testing.TB, address string) *store.Store {
	t.Helper()
	s := open(t, address)
	if err := s.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

func sqliteAddress(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "portal ?#%41.db")
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.Store { return migrated(t, sqliteAddress(t)) })
}

func TestPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("a database for each of hundreds of tests: make test runs it")
	}
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.Store { return open(t, storetest.Postgres(t)) })
}
