package reconcile_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// BenchmarkSoak: T-SOAK. Notebooks are created, stopped, resumed and deleted while at random the database cuts its
// connections, the API server is away, or the leader ends in the middle of its work and another one begins. After each
// round the database, the cluster, the meter and the audit record agree as after one without faults. Memory, goroutines
// and connections of the end are compared with those after warm-up. A round is one of b.N; -benchtime says how long.
func BenchmarkSoak(b *testing.B) {
	s := newSoak(b)
	for range 3 {
		s.round()
	}
	warm, before := s.footprint(), s.faults.Load()
	b.ResetTimer()
	for range b.N {
		s.round()
	}
	b.StopTimer()
	end := s.footprint()
	b.ReportMetric(float64(s.faults.Load()-before)/float64(b.N), "faults/op")
	b.ReportMetric(float64(end.goroutines), "goroutines")
	b.ReportMetric(float64(end.connections), "connections")
	b.ReportMetric(float64(end.heap)/(1<<20), "heap-MiB")
	b.ReportMetric((float64(end.heap)-float64(warm.heap))/(1<<20), "heap-growth-MiB")
	if end.heap > warm.heap+mostHeap || end.goroutines > warm.goroutines+30 || end.connections > warm.connections+20 {
		b.Errorf("it grows: %+v after warm-up, %+v at the end", warm, end)
	}
}

// soak is a controller on PostgreSQL and a fake cluster, people who change their minds, and what goes wrong.
type soak struct {
	b       *testing.B
	address string
	people  *store.Store // of a replica that does not lead
	admin   *sql.DB
	cluster *fakeCluster
	faults  atomic.Int64
	rounds  int
	random  *rand.Rand

	mu   sync.Mutex
	kill func()
}

func newSoak(b *testing.B) *soak {
	s := &soak{b: b, address: storetest.Postgres(b), cluster: newFakeCluster(), random: rand.New(rand.NewPCG(20261122, 3))}
	s.people = s.open()
	b.Cleanup(func() { _ = s.people.Close() })
	var err error
	if s.admin, err = sql.Open("pgx", s.address); err != nil {
		b.Fatal(err)
	}
	s.admin.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = s.admin.Close() })
	s.lead()
	b.Cleanup(func() { s.kill() })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			s.cluster.playAll(b)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	b.Cleanup(func() { cancel(); <-done })
	return s
}

func (s *soak) open() *store.Store {
	s.b.Helper()
	db, err := store.Open(context.Background(), s.address, store.Options{Lease: 2 * time.Second,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.b.Fatal(err)
	}
	return db
}

// lead starts a replica that leads whenever it can, until it is killed.
func (s *soak) lead() {
	db := s.open()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			s.term(ctx, db)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill = func() { cancel(); <-done; _ = db.Close() }
}

// term is one term, from taking the lead to its loss.
func (s *soak) term(ctx context.Context, db *store.Store) {
	release, ok, lost := db.Lead(ctx)
	if !ok {
		return
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-lost:
				cancel()
				return
			case <-time.After(db.RenewEvery()):
				_ = db.Renew(ctx)
			}
		}
	}()
	o := reconciletest.Options(reconciletest.NewStore(), namespace, reconcile.Cluster{Client: s.cluster})
	o.Store, o.Changes, o.Every.Compare = db, nil, 100*time.Millisecond
	if err := reconcile.New(o).Run(db.Fenced(ctx)); err != nil {
		s.b.Error(err)
	}
}

// round is the life of four notebooks under faults, and the invariants after it.
func (s *soak) round() {
	s.b.Helper()
	s.rounds++
	ctx, heal := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { s.harm(ctx) })
	var lives sync.WaitGroup
	ids := make([]workload.ID, 4)
	for i := range ids {
		w := notebook(fmt.Sprintf("nb-%d-%d", s.rounds, i))
		ids[i] = w.ID
		lives.Go(func() { s.live(w) })
	}
	lives.Wait()
	heal()
	group.Wait()
	for _, id := range ids {
		s.invariants(id)
	}
	s.cluster.ClearActions()
	if left := slices.DeleteFunc(s.cluster.objects(namespace), func(o string) bool {
		return !strings.Contains(o, "/nb-")
	}); len(left) > 0 {
		s.b.Errorf("round %d: left over: %v", s.rounds, left)
	}
}

// harm does something at random, again and again, and mends it.
func (s *soak) harm(ctx context.Context) {
	for ctx.Err() == nil {
		s.faults.Add(1)
		switch s.random.IntN(3) {
		case 0:
			for end := time.Now().Add(time.Duration(s.random.IntN(400)) * time.Millisecond); time.Now().Before(end); {
				_, _ = s.admin.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE datname = current_database() AND pid <> pg_backend_pid()`)
				time.Sleep(5 * time.Millisecond)
			}
		case 1:
			s.cluster.setAway(true)
			time.Sleep(time.Duration(s.random.IntN(600)) * time.Millisecond)
			s.cluster.setAway(false)
		case 2:
			s.kill()
			s.lead()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(200+s.random.IntN(600)) * time.Millisecond):
		}
	}
}

// live takes a notebook through its life.
func (s *soak) live(w workload.Workload) {
	s.create(w)
	s.await(w.ID, workload.Running)
	s.want(w.ID, workload.WantStopped, workload.Stop)
	s.await(w.ID, workload.Stopped)
	s.want(w.ID, workload.WantRunning, workload.Start)
	s.await(w.ID, workload.Running)
	s.want(w.ID, workload.WantDeleted, workload.Delete)
	s.await(w.ID, workload.Ended)
}

// until repeats a call as a client does that is told that the database is away, or that somebody was faster.
func (s *soak) until(what string, call func(context.Context) error) {
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := call(context.Background())
		if err == nil {
			return
		}
		if !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Conflict) || time.Now().After(end) {
			s.b.Errorf("%s: %v", what, err)
			return
		}
	}
}

func (s *soak) create(w workload.Workload) {
	s.until("create "+w.Name, func(ctx context.Context) error {
		return s.people.ChangeExclusively(ctx, func(tx workload.Tx) error {
			_, err := tx.Workload(ctx, w.ID)
			if !fault.Is(err, fault.NotFound) {
				return err // it was committed before the connection broke
			}
			if err := tx.SaveWorkload(ctx, w); err != nil {
				return err
			}
			e := audit.By(identity.System(), audit.WorkloadCreated, time.Now())
			e.Workload, e.Tenant = string(w.ID), w.Tenant
			return tx.Append(ctx, e)
		})
	})
}

func (s *soak) want(id workload.ID, want workload.Desired, change workload.Change) {
	s.until(fmt.Sprint(want, " ", id), func(ctx context.Context) error {
		return s.people.ChangeExclusively(ctx, func(tx workload.Tx) error {
			w, err := tx.Workload(ctx, id)
			if err != nil || w.Desired == want {
				return err
			}
			next, events, err := change(w, identity.System(), time.Now())
			if err != nil {
				return err
			}
			if err := tx.SaveWorkload(ctx, next); err != nil {
				return err
			}
			return tx.Append(ctx, events...)
		})
	})
}

func (s *soak) await(id workload.ID, want workload.State) {
	var got workload.Workload
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		w, err := s.people.Workload(context.Background(), id)
		if err == nil && w.State == want {
			return
		}
		got = w
	}
	s.b.Errorf("%s: want %s, got %s: %+v %+v", id, want, got.State, got.Reason, got.Observed)
}

// invariants: each spec is once in the record, and the meter has the two times that it ran, both closed.
func (s *soak) invariants(id workload.ID) {
	s.b.Helper()
	s.until("read", func(ctx context.Context) error {
		events, _, err := s.people.Events(ctx, audit.Filter{Workload: string(id), Limit: 500})
		if err != nil {
			return err
		}
		counts := map[audit.Kind]int{}
		for _, e := range events {
			counts[e.Kind]++
		}
		delete(counts, audit.WorkloadObserved) // how often it starts anew depends on the faults
		if diff := cmp.Diff(map[audit.Kind]int{audit.WorkloadCreated: 1, audit.WorkloadStopped: 1,
			audit.WorkloadStarted: 1, audit.WorkloadDeleted: 1}, counts); diff != "" {
			s.b.Errorf("%s: the record (-want +got)\n%s", id, diff)
		}
		meter, err := s.people.Intervals(ctx, []workload.ID{id})
		if err != nil {
			return err
		}
		if n := len(meter[id]); n != 2 {
			s.b.Errorf("%s: want two intervals, got %+v", id, meter[id])
		}
		for _, i := range meter[id] {
			if i.Until.IsZero() || i.Until.Before(i.From) {
				s.b.Errorf("%s: %+v", id, i)
			}
		}
		return nil
	})
}

type footprint struct {
	heap                    uint64
	goroutines, connections int
}

// footprint is what is held while nothing is done.
func (s *soak) footprint() footprint {
	s.b.Helper()
	f := footprint{heap: heapInUse(), goroutines: runtime.NumGoroutine()}
	s.until("count connections", func(context.Context) error {
		return s.admin.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").Scan(
			&f.connections)
	})
	return f
}
