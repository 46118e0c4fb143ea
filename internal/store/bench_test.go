package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// fill saves so many workloads: half of them hold a size, a quarter are stopped, a quarter have ended; over 40 tenants
// and 200 people.
func fill(t testing.TB, s *store.Store, count int) {
	t.Helper()
	err := s.DecideExclusively(context.Background(), func(tx request.Tx) error {
		for i := range count {
			w := storetest.Workload(fmt.Sprintf("w-%05d", i))
			w.Tenant, w.Owner = fmt.Sprintf("team-%d", i%40), ownerOf(i)
			w.CreatedAt = w.CreatedAt.Add(time.Duration(i) * time.Second)
			switch i % 4 {
			case 2:
				w.State, w.Desired = workload.Stopped, workload.WantStopped
			case 3:
				w.State, w.Desired = workload.Ended, workload.WantDeleted
			}
			if err := tx.SaveWorkload(context.Background(), w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func eachStore(b *testing.B, fn func(b *testing.B, s *store.Store)) {
	for name, address := range map[string]func(testing.TB) string{"SQLite": sqliteAddress,
		"PostgreSQL": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			s := migrated(b, address(b))
			fill(b, s, 4000) // 2,000 hold
			b.ReportAllocs()
			b.ResetTimer()
			fn(b, s)
		})
	}
}

func BenchmarkHoldings(b *testing.B) {
	eachStore(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			if items, err := s.Holdings(context.Background(), "team-4"); err != nil || len(items) != 2 {
				b.Fatal(len(items), err)
			}
		}
	})
}

func BenchmarkSaveObserved(b *testing.B) {
	eachStore(b, func(b *testing.B, s *store.Store) {
		w, err := s.Workload(context.Background(), "w-00000")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := s.SaveObserved(context.Background(), w, nil, nil); err != nil {
				b.Fatal(err)
			}
			w.Version++
		}
	})
}

// BenchmarkGrant is a whole Service.Submit: rules, holdings under the lock, workload, storage, request, three events,
// outbox, commit.
func BenchmarkGrant(b *testing.B) {
	eachStore(b, func(b *testing.B, s *store.Store) {
		service, ada := storetest.Service(s, 1_000_000_000)
		for i := 0; b.Loop(); i++ {
			if _, err := service.Submit(context.Background(), ada, storetest.Draft(fmt.Sprint("nb-", i))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWorkloadsPage(b *testing.B) {
	for name, f := range map[string]workload.Filter{
		"everyone": {Limit: 50}, "tenant": {Limit: 50, Tenants: []string{"team-4", "team-5"}},
		"owner": {Limit: 50, Owner: ownerOf(4)},
	} {
		b.Run(name, func(b *testing.B) {
			eachStore(b, func(b *testing.B, s *store.Store) {
				for b.Loop() {
					if items, _, err := s.Workloads(context.Background(), f); err != nil || len(items) == 0 {
						b.Fatal(len(items), err)
					}
				}
			})
		})
	}
}

func ownerOf(i int) identity.PersonID { return identity.PersonID(fmt.Sprintf("p-%d", i%200)) }
