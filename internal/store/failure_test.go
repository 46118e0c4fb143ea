package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// The writer of TestAcknowledgedSurvivesKill: it says each number after its save was acknowledged, until it is killed.
func TestMain(m *testing.M) {
	if address := os.Getenv("STORE_TEST_LEAD"); address != "" {
		leadAndWrite(address)
		os.Exit(1)
	}
	if address := os.Getenv("STORE_TEST_WRITE"); address != "" {
		ctx := context.Background()
		s, err := store.Open(ctx, address, store.Options{})
		if err == nil {
			err = s.Migrate(ctx)
		}
		for i := 0; err == nil; i++ {
			if err = s.SaveObserved(ctx, storetest.Workload(fmt.Sprint("w-", i)), nil, nil); err == nil {
				fmt.Println(i)
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestAcknowledgedSurvivesKill(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(testing.TB) string{"SQLite": sqliteAddress,
		"PostgreSQL": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			at := address(t)
			writer := exec.Command(os.Args[0])
			writer.Env = append(os.Environ(), "STORE_TEST_WRITE="+at)
			said, err := writer.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := writer.Start(); err != nil {
				t.Fatal(err)
			}
			last := 0
			for lines := bufio.NewScanner(said); lines.Scan(); {
				_, _ = fmt.Sscan(lines.Text(), &last)
				if last == 50 {
					_ = writer.Process.Kill()
				}
			}
			_ = writer.Wait()
			living, err := migrated(t, at).Living(context.Background())
			if err != nil || last < 50 || len(living) <= last {
				t.Errorf("acknowledged 0 to %d, found %d, %v", last, len(living), err)
			}
		})
	}
}

func TestOneLeaderOnPostgres(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.Postgres(t)
	first, second := open(t, address), open(t, address)
	release, ok, _ := first.Lead(ctx)
	if !ok {
		t.Fatal("nobody else leads, so the first must")
	}
	if _, ok, _ := second.Lead(ctx); ok {
		t.Fatal("two lead")
	}
	release()
	release()
	release, ok, lost := second.Lead(ctx)
	if !ok {
		t.Fatal("the first has let go, so the second must lead")
	}
	defer release()
	select {
	case <-lost:
		t.Fatal("nothing is lost yet")
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := reachPostgres(t, address).Exec(
		`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
	case <-time.After(time.Minute):
		t.Fatal("the leader did not notice")
	}
	leadsSoon(t, first) // the server may still be clearing the session away
}

// TestAChangeByAnotherReplicaIsSeenAtOnce: what one replica has read is right only while no other has changed it.
func TestAChangeByAnotherReplicaIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), storetest.Postgres(t)
	one, other := open(t, address), open(t, address)
	save := func(s *store.Store, r request.Request) {
		t.Helper()
		if err := s.DecideExclusively(ctx, func(tx request.Tx) error {
			_, err := tx.SaveRequest(ctx, r)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	pending := request.Filter{States: []request.State{request.Pending}}
	r := storetest.Request("r-1")
	save(one, r)
	for i := range 4 {
		for _, s := range []*store.Store{one, other} {
			same, err := s.Request(ctx, "r-1")
			waiting, _, failed := s.Requests(ctx, pending)
			all, _, broken := s.Requests(ctx, request.Filter{})
			if err := errors.Join(err, failed, broken); err != nil {
				t.Fatal(err)
			}
			for _, got := range []request.Request{same, waiting[0], all[0]} {
				if got.Decision.Note != r.Decision.Note || got.Version != int64(i+1) {
					t.Errorf("want %q at version %d, got %q at %d", r.Decision.Note, i+1, got.Decision.Note, got.Version)
				}
			}
		}
		r.Version, r.Decision.Note = int64(i+1), fmt.Sprint("change ", i)
		save([]*store.Store{one, other}[i%2], r)
	}
	r.Version, r.State = 5, request.Approved
	save(other, r)
	if n, err := one.CountRequests(ctx, pending); err != nil || n != 0 {
		t.Errorf("want none that waits, got %d, %v", n, err)
	}
}

func TestSQLiteAlwaysLeads(t *testing.T) {
	t.Parallel()
	s := open(t, sqliteAddress(t))
	if err := s.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		release, ok, lost := s.Lead(context.Background())
		if !ok || lost == nil {
			t.Error("want to lead")
		}
		release()
	}
}

func TestReleaseEndsWithTheContext(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	first, second := open(t, address), open(t, address)
	ctx, cancel := context.WithCancel(context.Background())
	_, ok, lost := first.Lead(ctx)
	if !ok {
		t.Fatal("want to lead")
	}
	cancel()
	<-lost
	leadsSoon(t, second)
}

func leadsSoon(t *testing.T, s *store.Store) {
	t.Helper()
	waittest.For(t, "the lock to be let go", func() bool {
		release, ok, _ := s.Lead(context.Background())
		release()
		return ok
	})
}

// Connections are cut under load: every call ends in time, what was acknowledged is there, and what was not says that
// the database is away.
func TestPostgresCutsConnections(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.Postgres(t)
	s, admin := open(t, address), reachPostgres(t, address)
	stop := make(chan struct{})
	var group sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for w := range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("w-%d-%d", w, i)
				err := s.SaveObserved(ctx, storetest.Workload(id), nil, nil)
				if err == nil {
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				} else if f := fault.As(err); f.Kind != fault.Unavailable || f.RetryAfter == 0 {
					t.Errorf("want Unavailable, got %v", err)
				}
			}
		})
	}
	for range 20 {
		_, _ = admin.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND " +
			"pid <> pg_backend_pid()")
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	group.Wait()
	living, err := s.Living(ctx)
	for try := 0; err != nil && try < 5; try++ {
		living, err = s.Living(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range living {
		delete(acknowledged, string(w.ID))
	}
	if len(acknowledged) != 0 {
		t.Errorf("acknowledged and lost: %v", acknowledged)
	}
}

func TestALockThatIsHeldTooLongSaysSo(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.Postgres(t)
	s, err := store.Open(ctx, address, store.Options{Statement: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tx, err := reachPostgres(t, address).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("LOCK TABLE workloads IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Living(ctx)
	if f := fault.As(err); f.Kind != fault.Unavailable || f.RetryAfter == 0 {
		t.Errorf("want Unavailable, got %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Living(ctx); err != nil {
		t.Error(err)
	}
}

// T-DB-3: somebody locks one table, and many read it. Reads of other tables go on at once while those wait; then those
// end with Unavailable, and everything is as before when the lock goes. A write waits for the lock and is not cut.
func TestALockedTableHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.Postgres(t)
	s, err := store.Open(ctx, address, store.Options{ReadWait: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	person := storetest.Workload("w-1").Owner
	admin := reachPostgres(t, address)
	lock, err := admin.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec("LOCK TABLE workloads IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	written := make(chan error, 1)
	go func() { written <- s.SaveObserved(ctx, storetest.Workload("w-1"), nil, nil) }()
	reads := []func() error{ // of the locked table alone, with another one, and in a transaction
		func() error { _, err := s.Living(ctx); return err },
		func() error {
			_, err := s.MeteredOn(ctx, "main", usage.Span{From: time.Unix(0, 0), Until: time.Now()})
			return err
		},
		func() error {
			return s.ReadOnly(ctx, func(r request.Reader) error { _, err := r.Holdings(ctx, "vision"); return err })
		},
	}
	const many = 30
	ended := make(chan error, many*len(reads))
	for range many {
		for _, read := range reads {
			go func() { ended <- read() }()
		}
	}
	waiting := func() (n int) {
		if err := admin.QueryRow(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	waittest.For(t, "six reads that wait for the lock", func() bool { return waiting() >= 6 })
	begun, others := time.Now(), 0
	for ; len(ended) < many*len(reads); others++ {
		if err := s.Ping(ctx); err != nil {
			t.Fatalf("is ready: %v", err)
		}
		if _, err := s.Person(ctx, person); !fault.Is(err, fault.NotFound) {
			t.Fatalf("another table: %v", err)
		}
		if _, err := s.JobRuns(ctx); err != nil {
			t.Fatalf("another table: %v", err)
		}
	}
	if others < 50 { // one waits for ReadWait where the pool is used up
		t.Errorf("only %d rounds of reads of other tables in %s", others, time.Since(begun))
	}
	for range many * len(reads) {
		if err := <-ended; fault.As(err).Kind != fault.Unavailable || fault.As(err).RetryAfter == 0 {
			t.Fatalf("want Unavailable, got %v", err)
		}
	}
	t.Logf("%d reads of the locked table ended within %s; %d rounds of others", many*len(reads), time.Since(begun), others)
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("the reads of the locked table ended after %s", took)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Errorf("a write was cut off by the limit of reads: %v", err)
	}
	for _, read := range reads {
		if err := read(); err != nil {
			t.Errorf("after the lock: %v", err)
		}
	}
}

// Many reads of one table are much to do and no reason to refuse any, however long the last one waits for its place.
func TestABusyTableIsNotALockedOne(t *testing.T) {
	t.Parallel()
	ctx, address := context.Background(), storetest.Postgres(t)
	s, err := store.Open(ctx, address, store.Options{ReadWait: time.Second, Connections: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, s, 150)
	var group sync.WaitGroup
	for range 400 {
		group.Go(func() {
			if _, err := s.Living(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestUnreachableIsUnavailable(t *testing.T) {
	t.Parallel()
	_, err := store.Open(context.Background(), "postgres://portal@127.0.0.1:1/portal", store.Options{})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("want Unavailable, got %v", err)
	}
	_, err = store.Open(context.Background(), "nothing", store.Options{})
	if err == nil || fault.Is(err, fault.Unavailable) || errors.Is(err, store.ErrInUse) {
		t.Errorf("want a plain error, got %v", err)
	}
}

// Holdings is read under the lock of every grant: both databases must answer it from its indexes alone.
func TestHoldingsComesFromItsIndexes(t *testing.T) {
	t.Parallel()
	const query = `SELECT tenant, size_name, license_pool, count(*) FROM workloads WHERE tenant = 'team-1'
		AND (desired = 'running' OR state = 'stopping')
		GROUP BY tenant, size_name, license_pool
		UNION ALL SELECT '', '', license_pool, count(*) FROM workloads WHERE license_pool <> '' AND (desired = 'running'
			OR state = 'stopping') AND tenant <> 'team-1'
		GROUP BY license_pool`
	lite := sqliteAddress(t)
	fill(t, migrated(t, lite), 50)
	plan := ""
	found, err := reachSQLite(t, lite).Query("EXPLAIN QUERY PLAN " + query)
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		var a, b, c int
		var detail string
		if err := found.Scan(&a, &b, &c, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
	}
	_ = found.Close()
	for _, index := range []string{"COVERING INDEX workloads_holding (tenant=?)", "COVERING INDEX workloads_seats"} {
		if !strings.Contains(plan, index) {
			t.Errorf("SQLite, want %s:\n%s", index, plan)
		}
	}
	address := storetest.Postgres(t)
	fill(t, open(t, address), 50)
	db := reachPostgres(t, address)
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET enable_seqscan = off; SET enable_bitmapscan = off"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("VACUUM ANALYZE workloads"); err != nil {
		t.Fatal(err)
	}
	plan = strings.Join(rows(t, db, "EXPLAIN "+query), "\n")
	for _, index := range []string{"Index Only Scan using workloads_holding", "Index Only Scan using workloads_seats"} {
		if !strings.Contains(plan, index) {
			t.Errorf("PostgreSQL, want %s:\n%s", index, plan)
		}
	}
}
