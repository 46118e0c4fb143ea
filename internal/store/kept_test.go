package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// waitingIn opens a store in which so many requests wait.
func waitingIn(t *testing.T, count int) *Store {
	t.Helper()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "portal.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, s, 0, count)
	return s
}

func ask(t *testing.T, s *Store, from, until int) {
	t.Helper()
	err := s.DecideExclusively(t.Context(), func(tx request.Tx) error {
		for i := from; i < until; i++ {
			_, err := tx.SaveRequest(t.Context(), request.Request{ID: request.ID(fmt.Sprintf("r-%05d", i)),
				State: request.Pending, CreatedAt: time.Unix(int64(i), 0)})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSoManyThatWaitAreNotKept(t *testing.T) {
	ctx, s := context.Background(), waitingIn(t, 3)
	s.kept.most = 4
	for i, many := range []bool{false, false, true, true} { // 3, 4, 5 and 6 of them
		n, err := s.CountRequests(ctx, request.Filter{States: []request.State{request.Pending}})
		if err != nil || n != 3+i {
			t.Errorf("want %d that wait, got %d, %v", 3+i, n, err)
		}
		if b, err := s.Backlog(ctx); err != nil || len(b.Requests) != 1 || b.Requests[ForApproval] != 3+i {
			t.Errorf("want a backlog of %d, got %v, %v", 3+i, b.Requests, err)
		}
		if l := s.kept.pending.get(); l.many != many || many && len(l.rows) > 0 {
			t.Errorf("%d wait: %d are kept", n, len(l.rows))
		}
		ask(t, s, 3+i, 4+i)
	}
	s.kept.most = 10
	if l, ok, err := s.pendingNow(ctx); !ok || err != nil || len(l.rows) != 7 {
		t.Errorf("they are few again and not kept: %v, %v", ok, err)
	}
}

func TestRequestsThatNobodyAsksForAreForgotten(t *testing.T) {
	ctx, s := context.Background(), waitingIn(t, 3*mostRecent)
	c := &s.kept.requests
	for i := range 3 * mostRecent {
		for _, id := range []string{fmt.Sprintf("r-%05d", i), "r-00000"} {
			if _, err := s.Request(ctx, request.ID(id)); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(c.young) + len(c.old); n > 2*mostRecent {
			t.Fatalf("%d are kept", n)
		}
	}
	if c.get(versionRow{"r-00000", 1}) == nil {
		t.Error("the one that was asked for all the time was forgotten")
	}
	if c.get(versionRow{"r-00001", 1}) != nil {
		t.Error("one that nobody asked for since is kept")
	}
}
