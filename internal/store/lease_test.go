package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// leasing is open with a lease of another length.
func leasing(t testing.TB, address string, lease time.Duration) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), address, store.Options{Lease: lease,
		LeaderChecks: 500 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A leader whose loops hang renews nothing: another one takes the lead though its session lives, and it steps back.
func TestALeaderThatRenewsNothingIsReplaced(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	first, second := leasing(t, address, time.Second), leasing(t, address, time.Second)
	w := storetest.Workload("w-1")
	if err := first.SaveObserved(context.Background(), w, nil, nil); err != nil {
		t.Fatal(err)
	}
	w.Version = 1
	release, ok, lost := first.Lead(context.Background())
	if !ok {
		t.Fatal("nobody else leads, so the first must")
	}
	defer release()
	hung := first.Fenced(context.Background())
	leads(t, second)
	refused(hung, t, first, w)
	select {
	case <-lost:
	case <-time.After(time.Minute):
		t.Error("the first one does not step back")
	}
	if err := first.Renew(context.Background()); !errors.Is(err, store.ErrFenced) && err == nil {
		t.Error("a lease that another one has was renewed")
	}
}

// While the lease is renewed nobody else leads, however often it is tried, and for many times its length.
func TestALeaseThatIsRenewedIsKept(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	first, second := leasing(t, address, 3*time.Second), leasing(t, address, 3*time.Second)
	release, ok, lost := first.Lead(context.Background())
	if !ok {
		t.Fatal("nobody else leads, so the first must")
	}
	defer release()
	for end := time.Now().Add(9 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := first.Renew(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, ok, _ := second.Lead(context.Background()); ok {
			t.Fatal("two lead")
		}
		select {
		case <-lost:
			t.Fatal("the lead was lost")
		default:
		}
	}
}

// leadAndWrite is the leader of TestAFrozenLeaderIsReplaced: it says "leads", and why its writes ended.
func leadAndWrite(address string) {
	ctx := context.Background()
	s, err := store.Open(ctx, address, store.Options{Lease: frozenLease, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, ok, _ := s.Lead(ctx); !ok {
		fmt.Println("another one leads")
		return
	}
	fenced := s.Fenced(ctx)
	w := storetest.Workload("w-1")
	fmt.Println("leads")
	// The server has ended the transaction that stood still, so the first call after it can fail on its connection.
	for err == nil || fault.Is(err, fault.Unavailable) && !errors.Is(err, store.ErrFenced) {
		_ = s.Renew(ctx)
		if err = s.SaveObserved(fenced, w, nil, nil); err == nil {
			w.Version++
		}
	}
	fmt.Println(map[bool]string{true: "deposed", false: err.Error()}[errors.Is(err, store.ErrFenced)])
}

const frozenLease = 3 * time.Second

// T-FENCE with a whole process that is frozen in the middle of its writes: the kernel keeps its connections open, and
// it may hold the row that every leader locks. Another one takes the lead; what the first writes when it goes on is
// refused.
func TestAFrozenLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	second := leasing(t, address, frozenLease)
	leader := exec.Command(os.Args[0])
	leader.Env = append(os.Environ(), "STORE_TEST_LEAD="+address)
	leader.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := leader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leader.Process.Kill(); _ = leader.Wait() })
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "leads" {
		t.Fatalf("the leader says %q", said.Text())
	}
	awaitVersion(t, second, 20)
	if err := leader.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	next := leads(t, second)
	t.Logf("took over %s after the first stood still", time.Since(frozen).Round(10*time.Millisecond))
	if took := time.Since(frozen); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	w := awaitVersion(t, second, 20)
	w.OwnerName = "written by the second"
	if err := second.SaveObserved(next, w, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := leader.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !said.Scan() || said.Text() != "deposed" {
		t.Errorf("the first one goes on and says %q", said.Text())
	}
	if got := awaitVersion(t, second, 20); got.OwnerName != w.OwnerName || got.Version != w.Version+1 {
		t.Errorf("something was written late: %q, version %d", got.OwnerName, got.Version)
	}
}

func awaitVersion(t *testing.T, s *store.Store, least int64) workload.Workload {
	t.Helper()
	var w workload.Workload
	waittest.Until(t, "a later version", func() (err error) {
		if w, err = s.Workload(context.Background(), "w-1"); err == nil && w.Version < least {
			err = fmt.Errorf("version %d", w.Version)
		}
		return err
	})
	return w
}
