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
)

// waiting saves so many requests that wait, of 200 people in 40 tenants, beside twice as many that are decided.
func waiting(t testing.TB, s *store.Store, count int) {
	t.Helper()
	err := s.DecideExclusively(context.Background(), func(tx request.Tx) error {
		for i := range 3 * count {
			r := storetest.Request(fmt.Sprintf("r-%05d", i))
			r.Asker, r.Spec.Tenant, r.Key = ownerOf(i), fmt.Sprintf("team-%d", i%40), ""
			r.CreatedAt = r.CreatedAt.Add(time.Duration(i) * time.Second)
			r.Decision.Steps, r.Decision.Consents = nil, nil
			if i%3 > 0 {
				r.State = request.Approved
			}
			if _, err := tx.SaveRequest(context.Background(), r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkInbox is what the first page of an approver with 5,000 open requests reads: the list, the count in the list
// and the one in the navigation, and for the chosen request the asker's last ones, what they were granted, and others
// for the same size. The bar is 60 ms for the page.
func BenchmarkInbox(b *testing.B) {
	ctx := context.Background()
	ada := identity.Actor{Person: identity.Person{ID: "p-approver", Groups: []string{"gpu-approvers", "staff"}},
		Global: []identity.Role{identity.Approver}}
	bea := identity.Actor{Person: identity.Person{ID: "p-bea"},
		Tenants: map[string][]identity.Role{"team-4": {identity.Approver}, "team-5": {identity.Developer}}}
	for who, voices := range map[string][]identity.Actor{"approver": {ada}, "of one team": {bea},
		"standing in": {bea, ada}} {
		b.Run(who, func(b *testing.B) {
			for name, address := range map[string]func(testing.TB) string{"SQLite": sqliteAddress,
				"PostgreSQL": storetest.Postgres} {
				b.Run(name, func(b *testing.B) {
					at := address(b)
					s := migrated(b, at)
					waiting(b, s, 5000)
					if name == "PostgreSQL" { // which does so by itself a moment after so many new rows
						if _, err := reachPostgres(b, at).Exec("ANALYZE"); err != nil {
							b.Fatal(err)
						}
					}
					in := request.Inbox{Self: voices[0].Person.ID, Now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
					for _, v := range voices {
						in.Approvers = append(in.Approvers, request.ApproverID{Person: v.Person.ID, Keys: v.Principals()})
					}
					b.ReportAllocs()
					b.ResetTimer()
					for b.Loop() {
						items, _, err := s.Requests(ctx, request.Filter{Inbox: &in, Sort: request.Oldest, Limit: 50})
						if err != nil || len(items) != 50 {
							b.Fatal(len(items), err)
						}
						for range 2 {
							if n, err := s.Waiting(ctx, in); err != nil || n < 100 {
								b.Fatal(n, err)
							}
						}
						if _, _, err := s.Requests(ctx, request.Filter{Asker: items[0].Asker, Limit: 6}); err != nil {
							b.Fatal(err)
						}
						if _, err := s.AskerHistory(ctx, items[0].Asker, in.Now.AddDate(0, 0, -30)); err != nil {
							b.Fatal(err)
						}
						if _, _, err := s.Requests(ctx, request.Filter{Size: items[0].Spec.Size.Name,
							States: []request.State{request.Approved, request.Rejected}, Limit: 20}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}
