package usage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

func TestMeter(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	price := usage.Money{Minor: 250, Currency: "EUR"}
	held := usage.Allocation{Workload: "w-1", Tenant: "vision", Size: "mig-10", PerHour: price, Placed: true,
		SeenAt: now.Add(-time.Minute)}
	open := usage.Interval{Workload: "w-1", Tenant: "vision", Size: "mig-10", PerHour: price, From: now.Add(-time.Hour)}
	until := func(i usage.Interval, at time.Time) *usage.Interval { i.Until = at; return &i }
	unknown := func(i *usage.Interval) *usage.Interval { i.UnknownUntil = now; return i }
	from := func(i usage.Interval, at time.Time) *usage.Interval { i.From = at; return &i }
	gone := func(seen time.Time) usage.Allocation { h := held; h.Placed, h.SeenAt = false, seen; return h }

	cases := map[string]struct {
		open *usage.Interval
		held usage.Allocation
		want *usage.Interval
	}{
		"a pod found a node: an interval opens":   {nil, held, from(open, now)},
		"it is still there: nothing changes":      {&open, held, nil},
		"no pod and none before: nothing changes": {nil, gone(now), nil},
		"the pod is gone: the interval ends now":  {&open, gone(now.Add(-time.Minute)), until(open, now)},
		"gone after a long silence: it ends when last seen": {&open, gone(now.Add(-20 * time.Minute)),
			unknown(until(open, now.Add(-20*time.Minute)))},
		"gone and never confirmed before: it ends now": {&open, gone(time.Time{}), until(open, now)},
		"last seen before it opened: never a negative length": {&open, gone(now.Add(-2 * time.Hour)),
			unknown(until(open, open.From))},
		"the clock was turned back: never a negative length": {from(open, now.Add(time.Hour)), gone(now),
			until(*from(open, now.Add(time.Hour)), now.Add(time.Hour))},
		"another price: the old interval ends, and a new one begins": {&open,
			func() usage.Allocation { h := held; h.PerHour.Minor = 300; return h }(),
			func() *usage.Interval {
				c := until(open, now)
				n := *from(open, now)
				n.PerHour.Minor = 300
				c.Then = &n
				return c
			}()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, usage.Meter(c.open, c.held, now)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Two replicas are charged as two, and only for as long as there are two.
func TestMeterReplicas(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	held := usage.Allocation{Workload: "w-1", Tenant: "vision", Size: "mig-10", PerHour: usage.Money{Minor: 250,
		Currency: "EUR"}, SKU: usage.SKU{Size: "mig-10", Share: 0.5, Count: 1}, Placed: true, SeenAt: now}
	one := *usage.Meter(nil, held, now)
	if one.Count() != 1 || one.Parts != usage.Parts/2 || usage.Meter(&one, held, now.Add(time.Hour)) != nil {
		t.Fatalf("want one replica without a change, got %+v", one)
	}
	held.Replicas = 2
	cut := usage.Meter(&one, held, now.Add(time.Hour))
	if cut == nil || !cut.Until.Equal(now.Add(time.Hour)) || cut.Then.Count() != 2 || cut.Then.Parts != usage.Parts {
		t.Fatalf("want the interval cut where the second begins, got %+v", cut)
	}
	one.Until = cut.Until
	two := *cut.Then
	held.Replicas, held.SeenAt = 0, now.Add(2*time.Hour)
	cut = usage.Meter(&two, held, now.Add(2*time.Hour+time.Minute))
	if cut == nil || !cut.Until.Equal(now.Add(2*time.Hour+time.Minute)) || cut.Then.Count() != 1 {
		t.Fatalf("want it cut where the second ends, got %+v", cut)
	}
	if lost := usage.Meter(&two, held, now.Add(3*time.Hour)); !lost.Until.Equal(held.SeenAt) {
		t.Errorf("want one that left in a silence charged until the silence began, got %v", lost.Until)
	}
	two.Until = now.Add(2 * time.Hour)
	uses := usage.Uses([]usage.Interval{one, two}, usage.Span{From: now, Until: two.Until})
	if len(uses) != 1 || uses[0].Held != 3*time.Hour || uses[0].Cost().Minor != 3*250 {
		t.Errorf("want three hours in one line, got %+v", uses)
	}
}
