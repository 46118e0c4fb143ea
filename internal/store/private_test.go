//go:build unix

package store

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
)

// TestTheFilesOfSQLiteAreTheirOwnersAlone: sessions, tokens' hashes and people are in them, and in the log that SQLite
// writes ahead.
func TestTheFilesOfSQLiteAreTheirOwnersAlone(t *testing.T) {
	before := syscall.Umask(0o022)
	defer syscall.Umask(before)
	path := filepath.Join(t.TempDir(), "portal.db")
	s, err := Open(context.Background(), "sqlite:"+path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), audit.Event{Kind: audit.SignedIn, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if rights := info.Mode().Perm(); rights != 0o600 {
			t.Errorf("%s: want 0600, got %o", filepath.Base(file), rights)
		}
	}
}
