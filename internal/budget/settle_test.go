package budget_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
)

// unreadable is a store in which the claims of one team cannot be read.
type unreadable struct {
	*world
	team  string
	asked []string
}

func (u *unreadable) BudgetClaims(ctx context.Context, tenant string, since time.Time) ([]budget.Claim, error) {
	u.asked = append(u.asked, tenant)
	if tenant == u.team {
		return nil, errors.New("a row cannot be read")
	}
	return u.world.BudgetClaims(ctx, tenant, since)
}

// One team whose budget cannot be settled holds up no other, and its name is told.
func TestSettleGoesOnAfterAFailure(t *testing.T) {
	w := newWorld()
	w.service.Tenant = func(name string) (string, bool) { return name, true }
	for _, team := range []string{"audio", "vision", "speech"} {
		if _, err := w.service.Set(t.Context(), boss, team, budget.Draft{Unit: eur, Amount: 100,
			AtLimit: budget.Stop}); err != nil {
			t.Fatal(err)
		}
	}
	store := &unreadable{world: w, team: "audio"}
	w.service.Store = store
	err := w.service.Settle(t.Context())
	slices.Sort(store.asked)
	if !slices.Equal(store.asked, []string{"audio", "speech", "vision"}) {
		t.Errorf("want every team looked at, got %v", store.asked)
	}
	if err == nil || !strings.Contains(err.Error(), "settle the budget of audio: a row cannot be read") {
		t.Errorf("got %v", err)
	}
}
