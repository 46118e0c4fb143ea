package scaler_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/autoscale/scaler"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// world is a database with one endpoint, what gateways report of it, and a clock.
type world struct {
	t         *testing.T
	store     *store.Store
	workloads *workload.Service
	scaler    *scaler.Scaler
	now       time.Time
	limit     int // quota of the size
	queue     float64
	queueTold bool
	asked     int // replicas that KEDA sets; 0: it does not scale
}

func (w *world) QuotaLimits(string, string, string) []tenant.Limit {
	return []tenant.Limit{{Most: w.limit}}
}

func (*world) Pools() []license.Pool      { return nil }
func (*world) TenantDisabled(string) bool { return false }

func (*world) ImageGone(string, catalog.Image) i18n.Text { return i18n.Text{} }

const id workload.ID = "w-1"

func newWorld(t *testing.T, r workload.Range, p autoscale.Policy, adjust ...func(*world, *workload.Workload)) *world {
	ctx := context.Background()
	w := &world{t: t, now: time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC), limit: 10}
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "portal.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	w.store = s
	clock := func() time.Time { return w.now }
	w.workloads = &workload.Service{Store: s, Limits: w, Now: clock}
	w.restart()
	e := storetest.Workload(string(id))
	e.Kind, e.Size.LicensePool, e.LicenseSeats, e.Version = catalog.Endpoint, "", 0, 0
	e.Desired, e.State, e.Lease.Until = workload.WantRunning, workload.Running, w.now.Add(1000*time.Hour)
	e.Replicas = workload.NewReplicas(r, p)
	for _, a := range adjust {
		a(w, &e)
	}
	e.Observed = w.answering(e, e.Replicas.Want())
	if err := s.SaveObserved(ctx, e, nil, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// restart is another leader.
func (w *world) restart() {
	w.scaler = scaler.New(scaler.Options{Store: w.store, Workloads: w.workloads, Now: func() time.Time { return w.now },
		Queue: func(context.Context, workload.Workload) (float64, bool) { return w.queue, w.queueTold }})
}

func (w *world) answering(e workload.Workload, n int) workload.Observation {
	o := workload.Observation{At: w.now, Generation: e.Generation, Scaled: true}
	for i := range n {
		o.PodPresent, o.Ready, o.Node, o.Pod = true, true, "n", "p-0"
		o.Pods = append(o.Pods, workload.Replica{Pod: "p-" + string(rune('0'+i)), IP: "10.64.0.1", Node: "n", Ready: true})
	}
	if w.asked > 0 && e.ScaledByKEDA() {
		o.Autoscaler = &workload.Autoscaler{Replicas: w.asked}
	}
	if n > 0 {
		o.Steps = []workload.Step{{Name: workload.StepReady, At: w.now.Add(-time.Hour)}}
	}
	return o
}

func (w *world) endpoint() workload.Workload {
	w.t.Helper()
	e, err := w.store.Workload(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// cluster makes of the endpoint what is wanted of it.
func (w *world) cluster() {
	w.t.Helper()
	e := w.endpoint()
	obs := w.answering(e, e.Replicas.Want())
	if len(obs.Steps) > 0 {
		obs.Steps[0].At = w.now
		if len(e.Observed.Steps) > 0 {
			obs.Steps = e.Observed.Steps
		}
	}
	next, events := workload.Advance(e, obs, w.now)
	if err := w.store.SaveObserved(context.Background(), next, events, nil); err != nil {
		w.t.Fatal(err)
	}
}

// round is five seconds later: the gateway has reported, the scaler looks, the cluster follows.
func (w *world) round(concurrency float64) int {
	w.t.Helper()
	w.now = w.now.Add(autoscale.ReportEvery)
	r := autoscale.Report{Gateway: "g", At: w.now}
	if concurrency > 0 {
		r.Endpoints = []autoscale.EndpointLoad{{Workload: string(id), UnderWay: int(concurrency), Concurrency: concurrency,
			LastRequest: w.now}}
	}
	if err := w.store.SaveEndpointLoads(context.Background(), r); err != nil {
		w.t.Fatal(err)
	}
	return w.look()
}

// quiet passes rounds without requests until the endpoint sleeps, or two and a half minutes are over.
func (w *world) quiet() {
	w.t.Helper()
	for n := 0; n < 30 && !w.endpoint().Asleep(); n++ {
		w.round(0)
	}
}

func (w *world) look() int {
	w.t.Helper()
	if err := w.scaler.Run(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.cluster()
	return w.endpoint().Replicas.Want()
}

func (w *world) events(kind audit.Kind) (list []audit.Event) {
	w.t.Helper()
	all, err := w.store.History(context.Background(), id, 200)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range all {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

func byConcurrency() autoscale.Policy {
	return autoscale.Policy{Metric: autoscale.Concurrency, Target: 4, ScaleDownAfter: catalog.Duration(time.Minute)}
}

func TestUpAtOnceAndDownAfterTheWindow(t *testing.T) {
	w := newWorld(t, workload.Range{Min: 1, Max: 3}, byConcurrency())
	if n := w.round(9); n != 3 {
		t.Fatalf("want three at once, got %d", n)
	}
	for range 11 {
		if n := w.round(1); n != 3 {
			t.Fatalf("want three for a minute, got %d", n)
		}
	}
	for range 4 {
		w.round(1)
	}
	if n := w.endpoint().Replicas.Want(); n != 1 {
		t.Errorf("want one after the window, got %d", n)
	}
	if got := w.events(audit.WorkloadScaled); len(got) != 2 || got[0].Actor != identity.System().Person.ID {
		t.Errorf("want both on record as the portal's, got %v", got)
	}
}

// TestSilenceTakesNothingAway: a gateway that is not heard of, and a leader that has just begun, leave things as they
// are.
func TestSilenceTakesNothingAway(t *testing.T) {
	w := newWorld(t, workload.Range{Min: 1, Max: 3}, byConcurrency())
	w.round(9)
	for range 10 {
		w.round(1)
	}
	w.restart()
	for range 7 {
		if n := w.round(1); n != 3 {
			t.Fatalf("a new leader: want three until it has seen a window, got %d", n)
		}
	}
	for range 60 {
		w.now = w.now.Add(autoscale.ReportEvery)
		if n := w.look(); n != 3 {
			t.Fatalf("no gateway reports: want three, got %d", n)
		}
	}
}

func TestTheQuotaIsTheCeiling(t *testing.T) {
	w := newWorld(t, workload.Range{Min: 1, Max: 5}, byConcurrency())
	w.limit = 3
	for range 4 {
		w.round(40)
	}
	r := w.endpoint().Replicas
	if r.Want() != 3 || r.Short.ID != "replicas.over_quota" {
		t.Fatalf("want three and the reason, got %+v", r)
	}
	if got := w.events(audit.WorkloadScalingShort); len(got) != 1 {
		t.Errorf("want it told once, got %v", got)
	}
	w.limit = 10
	for range 8 {
		w.round(40)
	}
	if r := w.endpoint().Replicas; r.Want() != 5 || !r.Short.IsZero() {
		t.Errorf("want five once there is room, and nothing short, got %+v", r)
	}
}

// TestStepsAreToldTogether: what follows within a minute is one entry of the record.
func TestStepsAreToldTogether(t *testing.T) {
	w := newWorld(t, workload.Range{Min: 1, Max: 8}, byConcurrency())
	for _, load := range []float64{8, 12, 16, 20, 24} {
		w.round(load)
	}
	if got := w.events(audit.WorkloadScaled); len(got) != 1 {
		t.Errorf("want the first step alone so far, got %v", got)
	}
	for range 12 {
		w.round(24)
	}
	got := w.events(audit.WorkloadScaled)
	if len(got) != 2 || fmt.Sprint(got[0].Detail.Args) != "map[From:2 To:6]" {
		t.Errorf("want the others as one, got %v", got)
	}
}

func TestSleepAndWake(t *testing.T) {
	p := byConcurrency()
	p.ToZeroAfter = catalog.Duration(time.Minute)
	w := newWorld(t, workload.Range{Min: 0, Max: 3}, p)
	w.round(1)
	generation := w.endpoint().Generation
	w.quiet()
	e := w.endpoint()
	if !e.Asleep() || e.State != workload.Asleep || e.Replicas.Hold() != 0 || e.Metered() != 0 ||
		e.Generation == generation {
		t.Fatalf("want it asleep, holding nothing, got %s %+v", e.State, e.Replicas)
	}
	if now, err := w.workloads.Autoscale(t.Context(), id, 1, 3); err != nil || !now.Asleep() {
		t.Errorf("a late decision: want it to stay asleep, got %v", err)
	}
	for range 3 { // each of several requests
		woken, err := w.workloads.Wake(t.Context(), id)
		if err != nil || woken.Asleep() || woken.State == workload.Asleep {
			t.Fatalf("want it awake, got %v %+v", err, woken.Replicas)
		}
	}
	w.cluster()
	if e := w.endpoint(); e.State != workload.Running || e.Replicas.Want() != 1 || e.Replicas.Waking {
		t.Errorf("want it to run with one, got %s %+v", e.State, e.Replicas)
	}
	if slept, woken := w.events(audit.WorkloadSlept), w.events(audit.WorkloadWoken); len(slept) != 1 || len(woken) != 1 {
		t.Errorf("want each on record once, got %v %v", slept, woken)
	}
	if told := w.events(audit.WorkloadObserved); len(told) > 0 {
		t.Errorf("want nobody told of each state of a wake, got %v", told)
	}
	for range 10 {
		if w.round(0); w.endpoint().Asleep() {
			t.Error("want it awake for the time that it may be idle")
			break
		}
	}
}

func TestNoRoomToWake(t *testing.T) {
	p := autoscale.Policy{ToZeroAfter: catalog.Duration(time.Minute)}
	w := newWorld(t, workload.Range{Min: 0, Max: 2}, p)
	for n := 0; n < 30 && !w.endpoint().Asleep(); n++ {
		w.round(0)
	}
	w.limit = 0
	for range 2 {
		e, err := w.workloads.Wake(t.Context(), id)
		if !fault.Is(err, fault.Conflict) || e.ID != id || !e.Asleep() {
			t.Fatalf("want a conflict and the workload, got %v", err)
		}
	}
	if e := w.endpoint(); !e.Asleep() || e.Replicas.Short.IsZero() {
		t.Errorf("want its owner to see why, got %+v", e.Replicas)
	}
	if got := w.events(audit.WorkloadScalingShort); len(got) != 1 {
		t.Errorf("want it on record once, got %v", got)
	}
	w.limit = 1
	if e, err := w.workloads.Wake(t.Context(), id); err != nil || !e.Replicas.Short.IsZero() {
		t.Errorf("want it awake and nothing short, got %v %+v", err, e.Replicas)
	}
}

// TestOthersWin: a stop and the end of a lease are not undone by a decision that came late, nor by a request.
func TestOthersWin(t *testing.T) {
	p := byConcurrency()
	p.ToZeroAfter = catalog.Duration(time.Minute)
	w := newWorld(t, workload.Range{Min: 0, Max: 3}, p)
	e := w.endpoint()
	e.Desired, e.State = workload.WantStopped, workload.Stopping
	if err := w.store.SaveObserved(t.Context(), e, nil, nil); err != nil {
		t.Fatal(err)
	}
	for what, act := range map[string]func() error{
		"scaling": func() error { _, err := w.workloads.Autoscale(t.Context(), id, 1, 3); return err },
		"waking":  func() error { _, err := w.workloads.Wake(t.Context(), id); return err },
		"a look":  func() error { return w.scaler.Run(t.Context()) },
	} {
		if err := act(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if now := w.endpoint(); now.Desired != workload.WantStopped || now.Replicas.Want() != 1 {
			t.Errorf("%s: want it to stay stopped, got %+v", what, now.Replicas)
		}
	}
}

func TestAQueueThatNotAllTell(t *testing.T) {
	w := newWorld(t, workload.Range{Min: 1, Max: 3}, autoscale.Policy{Metric: autoscale.Queue, Target: 2,
		ScaleDownAfter: catalog.Duration(10 * time.Second)})
	w.queue, w.queueTold = 5, true
	if n := w.round(0); n != 3 {
		t.Fatalf("want three for a queue of five, got %d", n)
	}
	w.queue, w.queueTold = 0, false
	for range 10 {
		if n := w.round(0); n != 3 {
			t.Fatalf("want three while the queue is not known, got %d", n)
		}
	}
	w.queueTold = true
	for range 5 {
		w.round(0)
	}
	if n := w.endpoint().Replicas.Want(); n != 1 {
		t.Errorf("want one for an empty queue, got %d", n)
	}
}
