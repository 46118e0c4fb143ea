package webtest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/store"
)

// Scope is what a world lives for: a test, a benchmark or the rendering of a story. It closes the world's database.
type Scope interface{ Cleanup(func()) }

// scope is a Scope that ends when it is told to.
type scope []func()

// Cleanup has fn called at the end, the last one first.
func (s *scope) Cleanup(fn func()) { *s = append(*s, fn) }

func (s *scope) end() {
	for _, fn := range slices.Backward(*s) {
		fn()
	}
}

// database is SQLite in a folder of its own, which goes with its scope.
type database struct {
	*store.Store
	path string
}

// openDatabase begins with an image of a database; nil for an empty file.
func openDatabase(s Scope, image []byte, now func() time.Time) database {
	folder, err := os.MkdirTemp("", "webtest-")
	check(err)
	s.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "portal.db")
	check(os.WriteFile(path, image, 0o600))
	db, err := store.Open(context.Background(), "sqlite:"+path, store.Options{Now: now})
	check(err)
	s.Cleanup(func() { _ = db.Close() })
	d := database{db, path}
	d.exec("PRAGMA synchronous = OFF") // nothing here outlives the process
	return d
}

// exec writes what no method of the store writes: a past, and what another portal or a restored backup left.
func (d database) exec(statement string, args ...any) {
	_, err := d.Pools()["write"].ExecContext(context.Background(), statement, args...)
	check(err)
}

// image is the file as it is now.
func (d database) image() []byte {
	d.exec("PRAGMA wal_checkpoint(TRUNCATE)")
	file, err := os.ReadFile(d.path)
	check(err)
	return file
}

// Migrating and seeding take a hundred times as long as copying a file, so each is done once for all worlds.
var (
	emptyImage = sync.OnceValue(func() []byte {
		var s scope
		defer s.end()
		d := openDatabase(&s, nil, func() time.Time { return Now })
		check(d.Migrate(context.Background()))
		for _, p := range people() {
			check(d.SavePerson(context.Background(), p))
			check(d.SaveGroups(context.Background(), p.ID, p.Groups, p.ConfirmedAt))
		}
		d.exec("INSERT INTO idle_observed (cluster, until_at) VALUES ('local', ?)", micro(Now.Add(-time.Minute)))
		return d.image()
	})
	busyImage = sync.OnceValue(func() []byte {
		var s scope
		defer s.end()
		w := newWorld(&s, emptyImage())
		w.workingDay()
		return w.image()
	})
)

// check ends the program: what a world is made of is always right.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func have[T any](value T, err error) T {
	check(err)
	return value
}

// publish hands every change that was committed to those who follow the hub, before the call that made it returns.
func (w *World) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		changes, err := w.ChangesAfter(context.Background(), w.published, 100)
		if err != nil || len(changes) == 0 {
			return // the database is closed: the test is over
		}
		for _, c := range changes {
			w.Hub.Publish(c)
			w.published = c.Seq
		}
	}
}
