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
