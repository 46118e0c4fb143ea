package store

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// TestListsAreReadOnceAfterAChange: which requests a list has is asked by the first page after each change, and each
// page sees what was there when it began. A transaction asks for itself.
func TestListsAreReadOnceAfterAChange(t *testing.T) {
	asked := 0
	s := opened(t, Options{OnSQL: func(_ context.Context, sql string) {
		if strings.HasPrefix(sql, "SELECT id, version FROM") {
			asked++
		}
	}})
	ctx := context.Background()
	save := func(id string, version int64, state request.State) {
		t.Helper()
		err := s.DecideExclusively(ctx, func(tx request.Tx) error {
			_, err := tx.SaveRequest(ctx, request.Request{ID: request.ID(id), Kind: request.StartKind, Asker: "p-1",
				State: state, Spec: request.Spec{Tenant: "a", Name: id}, Version: version, CreatedAt: time.Unix(1, 0),
				ExpiresAt: time.Unix(2, 0)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sees := func(in view, f request.Filter, statements int, want ...string) {
		t.Helper()
		asked = 0
		page := live.AtOneMoment(ctx)
		for range 2 {
			list, _, err := in.Requests(page, f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range list {
				got = append(got, string(r.ID)+" "+string(r.State))
			}
			if !slices.Equal(got, want) {
				t.Errorf("want %q, got %q", want, got)
			}
		}
		if asked != statements {
			t.Errorf("want %d statements, got %d", statements, asked)
		}
	}
	mine, others := request.Filter{Asker: "p-1", Limit: 6}, request.Filter{Asker: "p-2", Limit: 6}
	save("r-1", 0, request.Approved)
	sees(s.view, mine, 1, "r-1 approved")
	sees(s.view, mine, 0, "r-1 approved")
	sees(s.view, others, 1)
	save("r-2", 0, request.Pending)
	sees(s.view, mine, 1, "r-2 pending", "r-1 approved")
	save("r-2", 1, request.Rejected)
	sees(s.view, mine, 1, "r-2 rejected", "r-1 approved")
	sees(s.view, others, 1)
	err := s.readOnly(ctx, func(v view) error {
		sees(v, mine, 2, "r-2 rejected", "r-1 approved")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
