//go:build unix

package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestWatchingCostsNothing opens one page and then 500, and counts the statements that the database gets while fresh
// metrics come every second and another team works. Only looking for changes may cost something, and that once for all
// pages.
func TestWatchingCostsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for some seconds")
	}
	l := load{Tenants: 6, People: 600, Workloads: 120, Requests: 40, AuditRows: 500, Nodes: 10}
	var statements atomic.Int64
	p := newPortal(t, "sqlite:"+filepath.Join(t.TempDir(), "portal.db"), l,
		store.Options{OnStatement: func() { statements.Add(1) }})
	p.fill(t, l)
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = p.hub.Run(ctx) })

	var opened atomic.Int64
	open := func(i int) {
		who := l.person(i - i%l.Tenants) // the first team
		cookie := p.signIn(t, who)
		query := []string{"page=home", fmt.Sprintf("page=workload&id=w-%05d", (i-i%l.Tenants)%l.Workloads), "page=requests",
			"page=storage"}[i%4]
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/live?"+query, nil)
		r.AddCookie(&http.Cookie{Name: "__Host-gpu-portal", Value: cookie})
		out := &streamSink{opened: func() { opened.Add(1) }}
		group.Go(func() {
			p.server.ServeHTTP(out, r)
			if out.status != http.StatusOK {
				t.Errorf("%s: answered %d", query, out.status)
			}
		})
	}
	version := int64(0)
	during := func(d time.Duration) int64 {
		before := statements.Load()
		w := p.workload(l, 1) // of the second team, stopped and started by somebody
		for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
			p.hub.Publish(live.Change{Topic: live.TopicMetrics})
			if version == 0 {
				known, err := p.store.Workload(ctx, w.ID)
				if err != nil {
					t.Fatal(err)
				}
				version = known.Version
			}
			w.State, w.Version = workload.Running, version
			if err := p.store.SaveObserved(ctx, w, nil, nil); err != nil {
				t.Fatal(err)
			}
			version++
		}
		return statements.Load() - before
	}
	const seconds, pages = 5, 500
	open(0)
	waitFor(t, &opened, 1)
	during(2 * time.Second)
	alone := during(seconds * time.Second)
	for i := 1; i < pages; i++ {
		open(i)
	}
	waitFor(t, &opened, pages)
	time.Sleep(4 * time.Second) // each asked once whether it may stay
	together := during(seconds * time.Second)
	t.Logf("in %d s: %d statements with 1 page, %d with %d pages", seconds, alone, together, pages)
	if allowed := alone + alone/20 + 2; together > allowed { // two: where the window began
		t.Errorf("want at most %d statements", allowed)
	}
}

func waitFor(t *testing.T, opened *atomic.Int64, pages int64) {
	t.Helper()
	waittest.For(t, fmt.Sprint(pages, " open pages"), func() bool { return opened.Load() >= pages })
}

// streamSink takes a stream.
type streamSink struct {
	sink
	opened func()
	once   sync.Once
}

func (s *streamSink) FlushError() error {
	s.once.Do(s.opened)
	return nil
}

func (s *streamSink) SetWriteDeadline(time.Time) error { return nil }
