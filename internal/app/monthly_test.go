package app

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// TestTheMonthIsToldOnce: the portal as it is put together writes one event for the team, by its own prices and catalogue, however often it looks and whoever else does.
func TestTheMonthIsToldOnce(t *testing.T) {
	w := newWorld(t)
	id, now := w.running(developer, "vision").ID, w.clock.now()
	for _, until := range []time.Time{{}, now.Add(time.Hour)} {
		item, err := w.store.Workload(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		held := usage.Interval{Workload: string(id), Tenant: "vision", Size: item.Size.Name, PerHour: item.Size.PricePerHour, From: now, Until: until}
		if err := w.store.SaveObserved(t.Context(), item, nil, &held); err != nil {
			t.Fatal(err)
		}
	}
	month := usage.MonthOf(now, w.usage.Zone)
	w.clock.pass(month.Span(w.usage.Zone).Until.Add(9 * 24 * time.Hour).Sub(now))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := w.monthly.Tell(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := w.monthly.Tell(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, _, err := w.store.Events(t.Context(), audit.Filter{Kinds: []audit.Kind{audit.StatementSent}, Limit: 10})
	if err != nil || len(events) != 1 || events[0].Tenant != "vision" {
		t.Fatalf("want one event, got %+v %v", events, err)
	}
	if got := i18n.MustLoad().For("en").Say(events[0].Detail); !strings.Contains(got, " for "+month.String()+".") {
		t.Errorf("want %s, got %q", month, got)
	}
}
