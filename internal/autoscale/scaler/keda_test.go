package scaler_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// newKEDA is a world whose endpoint KEDA scales; asked is what KEDA has set.
func newKEDA(t *testing.T, r workload.Range, p autoscale.Policy) *world {
	return newWorld(t, r, p, func(w *world, e *workload.Workload) {
		w.asked, e.Image.Kind = 1, catalog.Endpoint
		e.Image.Runtime = &catalog.Runtime{Engine: catalog.Other, Autoscaler: catalog.ByKEDA}
	})
}

// What KEDA sets is taken up and told as the portal's own scaling is; what the load asks for is KEDA's to set.
func TestKEDASetsTheNumber(t *testing.T) {
	w := newKEDA(t, workload.Range{Min: 1, Max: 5}, byConcurrency())
	if n := w.round(20); n != 1 {
		t.Errorf("KEDA has set one: want it, got %d", n)
	}
	w.asked = 4
	w.round(20) // the cluster shows it
	if n := w.round(20); n != 4 || w.endpoint().Replicas.Top() != 5 {
		t.Errorf("KEDA has set four of five: got %d of %d", n, w.endpoint().Replicas.Top())
	}
	if got := w.events(audit.WorkloadScaled); len(got) != 1 {
		t.Errorf("want it on record, got %v", got)
	}
	w.asked = 2
	w.round(1)
	if n := w.round(1); n != 2 {
		t.Errorf("KEDA takes two away: got %d", n)
	}
}

// Quota is the ceiling of what KEDA may set; where more is needed the endpoint says why there are fewer, and the
// ceiling follows when there is room.
func TestTheQuotaIsTheCeilingOfKEDA(t *testing.T) {
	w := newKEDA(t, workload.Range{Min: 1, Max: 5}, byConcurrency())
	w.limit = 3
	w.round(1)
	if r := w.endpoint().Replicas; r.Top() != 3 || !r.Short.IsZero() {
		t.Errorf("want a ceiling of three and nothing short, got %+v", r)
	}
	w.asked = 5 // before it has heard of the ceiling
	for range 4 {
		w.round(20)
	}
	r := w.endpoint().Replicas
	if r.Want() != 3 || r.Hold() != 3 || r.Top() != 3 || r.Short.ID != "replicas.over_quota" {
		t.Errorf("want three and the reason, got %+v", r)
	}
	if got := w.events(audit.WorkloadScalingShort); len(got) != 1 {
		t.Errorf("want it told once, got %v", got)
	}
	told := w.endpoint().UpdatedAt
	for range 8 {
		w.round(20)
	}
	if now := w.endpoint().UpdatedAt; !now.Equal(told) {
		t.Errorf("nothing is new, and it is written again at %s", now)
	}
	w.limit = 10
	for range 8 {
		w.round(20)
	}
	if r := w.endpoint().Replicas; r.Want() != 5 || r.Top() != 5 || !r.Short.IsZero() {
		t.Errorf("want five once there is room, got %+v", r)
	}
}

// An endpoint sleeps by the portal's will, and KEDA's number does not wake it.
func TestKEDAPutsNothingToSleep(t *testing.T) {
	p := byConcurrency()
	p.ToZeroAfter = catalog.Duration(time.Minute)
	w := newKEDA(t, workload.Range{Min: 0, Max: 3}, p)
	w.round(1)
	w.quiet()
	if e := w.endpoint(); !e.Asleep() || e.Replicas.Hold() != 0 {
		t.Fatalf("want it asleep, got %s %+v", e.State, e.Replicas)
	}
	w.asked = 2
	if n := w.round(0); n != 0 {
		t.Errorf("what KEDA had set wakes it: %d", n)
	}
	if now, err := w.workloads.FollowAutoscaler(t.Context(), id, 2); err != nil || !now.Asleep() {
		t.Errorf("a late number: want it to stay asleep, got %v", err)
	}
}

// Nothing is scaled by the portal either before KEDA is seen to scale.
func TestBeforeKEDAIsThere(t *testing.T) {
	w := newKEDA(t, workload.Range{Min: 1, Max: 5}, byConcurrency())
	w.asked = 0
	w.cluster()
	for range 4 {
		if n := w.round(20); n != 1 {
			t.Fatalf("want one, got %d", n)
		}
	}
}

// What nothing is known of is not told as a load of zero.
func TestLoadForKEDA(t *testing.T) {
	w := newKEDA(t, workload.Range{Min: 1, Max: 5}, byConcurrency())
	w.round(7)
	if l, err := w.scaler.Load(t.Context(), w.endpoint()); err != nil || !l.Usable() || l.Value != 7 {
		t.Errorf("want a load of 7, got %+v, %v", l, err)
	}
	w.now = w.now.Add(time.Minute)
	if l, err := w.scaler.Load(t.Context(), w.endpoint()); err != nil || l.Usable() {
		t.Errorf("no gateway has reported for a minute: got %+v, %v", l, err)
	}
}
