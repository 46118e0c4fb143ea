package app

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
)

// newPostgresWorld is newWorld on PostgreSQL, with its database for those who disturb it.
func newPostgresWorld(t *testing.T) (*world, *sql.DB) {
	t.Helper()
	leftToMakeTest(t)
	address, key := storetest.Postgres(t), filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("5a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	w := newWorld(t, func(c *config.Config) { c.Database, c.SecretKeyFile = address, key })
	return w, admin
}

// TestALockedTableIsUnavailableAndNothingElse: T-DB-3, the finding L1. Somebody locks the table of workloads and thirty
// ask for them: they held every connection for 30 s, and all others waited behind them. Now they are told within
// seconds to come back, while others are answered, and everything is there again when the lock goes.
func TestALockedTableIsUnavailableAndNothingElse(t *testing.T) {
	w, admin := newPostgresWorld(t)
	token, others, b := w.token(developer), w.token(other), w.signedIn(developer)
	w.running(developer, "vision")
	lock, err := admin.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	if _, err := lock.Exec("LOCK TABLE workloads IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	begun, answers := time.Now(), make(chan answer, 30)
	var group sync.WaitGroup
	for range cap(answers) {
		group.Go(func() {
			a, err := w.send(token, http.MethodGet, "/api/v1/workloads", nil)
			if err != nil {
				t.Error(err)
			}
			answers <- a
		})
	}
	served := 0
	for pace := time.NewTicker(50 * time.Millisecond); len(answers) < cap(answers); served++ {
		if a := w.call(others, http.MethodGet, "/api/v1/me", nil); a.status != http.StatusOK {
			t.Fatalf("somebody who asks for something else: %d %s", a.status, a.body)
		}
		if a := w.call("", http.MethodGet, "/readyz", nil); a.status != http.StatusOK {
			t.Fatalf("the portal is not ready: %d %s", a.status, a.body)
		}
		<-pace.C
	}
	group.Wait()
	t.Logf("30 ended within %s; %d rounds of others", time.Since(begun).Round(time.Millisecond), served)
	if served < 5 {
		t.Errorf("others were served %d times in %s", served, time.Since(begun))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("the last one was told after %s", took)
	}
	for range cap(answers) {
		if a := <-answers; a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Fatalf("want 503 and when to come back, got %d %v", a.status, a.header)
		}
	}
	if a := b.get("/"); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
		!strings.Contains(a.body, "Try again") {
		t.Errorf("the page: want 503, when to come back, and a sentence, got %d %v %s", a.status, a.header, a.body)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if a := w.call(token, http.MethodGet, "/api/v1/workloads", nil); a.status != http.StatusOK {
		t.Errorf("the lock is gone: %d %s", a.status, a.body)
	}
	if a := b.get("/"); a.status != http.StatusOK {
		t.Errorf("the lock is gone: the page answers %d", a.status)
	}
}
