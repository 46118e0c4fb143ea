package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// A leader falls asleep between what it read and what it writes; another one takes the lead and finishes a spec of its
// own. What the first one then writes is refused though nobody has touched its row, and it steps back.
func TestALateWriteOfAFormerLeaderIsRefused(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	first, second := open(t, address), open(t, address)
	late := counting(first)
	mine, theirs := storetest.Workload("w-1"), storetest.Workload("w-2")
	for _, w := range []workload.Workload{mine, theirs} {
		if err := first.SaveObserved(context.Background(), w, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	mine.Version, theirs.Version = 1, 1
	release, ok, lost := first.Lead(context.Background())
	if !ok {
		t.Fatal("nobody else leads, so the first must")
	}
	defer release()
	asleep := first.Fenced(context.Background())
	mine.OwnerName = "written in time"
	if err := first.SaveObserved(asleep, mine, nil, nil); err != nil {
		t.Fatalf("a leader writes: %v", err)
	}
	mine.Version++
	if _, err := reachPostgres(t, address).Exec(
		`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); err != nil {
		t.Fatal(err)
	}
	next := leads(t, second)
	theirs.OwnerName = "written by the second"
	if err := second.SaveObserved(next, theirs, nil, nil); err != nil {
		t.Fatalf("the second one writes: %v", err)
	}

	mine.OwnerName = "written late"
	refused(asleep, t, first, mine)
	refused(asleep, t, first, mine)
	if n := late.Load(); n != 2 {
		t.Errorf("want both counted, got %d", n)
	}
	if w, err := second.Workload(context.Background(), "w-1"); err != nil || w.OwnerName != "written in time" ||
		w.Version != 2 {
		t.Errorf("the late write has changed something: %q %d %v", w.OwnerName, w.Version, err)
	}
	select {
	case <-lost:
	case <-time.After(time.Minute):
		t.Error("the first one does not step back")
	}
	mine.OwnerName = "somebody's spec"
	if err := first.SaveObserved(context.Background(), mine, nil, nil); err != nil {
		t.Errorf("what is not a leader's to write goes on everywhere: %v", err)
	}
}

// On SQLite one process leads again and again; what it began before counts no more.
func TestALateWriteOnSQLite(t *testing.T) {
	t.Parallel()
	s := open(t, sqliteAddress(t))
	if err := s.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	late := counting(s)
	if ctx := s.Fenced(context.Background()); s.SaveObserved(ctx, storetest.Workload("w-0"), nil, nil) != nil {
		t.Error("without a lead nothing is fenced")
	}
	release, _, lost := s.Lead(context.Background())
	before := s.Fenced(context.Background())
	if err := s.SaveObserved(before, storetest.Workload("w-1"), nil, nil); err != nil {
		t.Fatal(err)
	}
	release()
	again, ok, _ := s.Lead(context.Background())
	if !ok {
		t.Fatal("want to lead again")
	}
	defer again()
	refused(before, t, s, storetest.Workload("w-2"))
	if err := s.SaveObserved(s.Fenced(context.Background()), storetest.Workload("w-2"), nil, nil); err != nil {
		t.Error(err)
	}
	<-lost
	if n := late.Load(); n != 1 {
		t.Errorf("want one late write, got %d", n)
	}
}

func counting(s *store.Store) *atomic.Int64 {
	var n atomic.Int64
	s.OnLateWrite(func() { n.Add(1) })
	return &n
}

func refused(ctx context.Context, t *testing.T, s *store.Store, w workload.Workload) {
	t.Helper()
	if err := s.SaveObserved(ctx, w, nil, nil); !errors.Is(err, store.ErrFenced) || !fault.Is(err, fault.Conflict) {
		t.Errorf("want it refused as late, got %v", err)
	}
}

// leads waits until a store has the lead, and gives what it writes under.
func leads(t *testing.T, s *store.Store) context.Context {
	t.Helper()
	waittest.For(t, "the lock to be let go", func() bool {
		release, ok, _ := s.Lead(context.Background())
		if ok {
			t.Cleanup(release)
		}
		return ok
	})
	return s.Fenced(context.Background())
}
