package request_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// overdue is a store with requests that nobody decided in time. The first one cannot be written.
type overdue struct {
	request.Store
	requests []request.Request
	writes   int
}

func (o *overdue) Requests(context.Context, request.Filter) ([]request.Request, string, error) {
	return o.requests, "", nil
}

func (o *overdue) DecideExclusively(context.Context, func(request.Tx) error) error {
	if o.writes++; o.writes == 1 {
		return errors.New("the row cannot be read")
	}
	return nil
}

// One request that cannot expire holds up no other, and its id is told.
func TestExpireDueGoesOnAfterAFailure(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := &overdue{}
	for _, id := range []request.ID{"r-1", "r-2", "r-3"} {
		store.requests = append(store.requests, request.Request{ID: id, State: request.Pending,
			CreatedAt: now.Add(-48 * time.Hour), ExpiresAt: now.Add(-time.Hour)})
	}
	s := request.New(request.Options{Store: store, Now: func() time.Time { return now }}).Approvals
	err := s.ExpireDue(t.Context())
	if store.writes != 3 {
		t.Errorf("want all three tried, got %d", store.writes)
	}
	if err == nil || !strings.Contains(err.Error(), "request r-1: the row cannot be read") {
		t.Errorf("got %v", err)
	}
}
