package recorder_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics/promtest"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// held is one workload of the test: how busy its device is, in per cent; below zero nobody measures it.
type held struct {
	name    string
	percent float64
	idle    bool
}

var allHeld = []held{{"busy", 60, false}, {"lazy", 2, true}, {"blind", -1, false}}

// since is for how long they hold their devices: a whole number of steps.
const since = 70 * time.Minute

// site is a store and a Prometheus that know the same workloads.
type oneSite struct {
	t      *testing.T
	store  *store.Store
	poller *gpumetrics.Poller
	live   *recorder.Live
	record *recorder.Recorder
	now    time.Time
	zone   *time.Location
}

func newSite(t *testing.T) *oneSite {
	// Hours end, months begin and clocks go on: what is asked is of a moment that stays.
	s := &oneSite{t: t, now: time.Now().UTC().Truncate(time.Minute), zone: time.UTC}
	if s.now.Day() == 1 && s.now.Hour() < 12 {
		s.zone = time.FixedZone("last month", -14*3600)
	}
	var err error
	if s.store, err = store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "portal.db"),
		store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	if err := s.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := promtest.Start(t, promtest.Prometheus)
	clock := func() time.Time { return s.now }
	if s.poller, err = gpumetrics.New(gpumetrics.Config{URL: server, Now: clock}); err != nil {
		t.Fatal(err)
	}
	for _, h := range allHeld {
		s.hold(h)
	}
	for at := s.now.Add(-since); !at.After(s.now); at = at.Add(15 * time.Second) {
		promtest.Write(t, server, samples(), at)
	}
	o := recorder.Options{Sources: map[string]recorder.Source{"west": s.poller}, Store: s.store,
		Namespaces: func() []string { return []string{"gpu-vision"} }, Period: 20 * time.Minute, Zone: s.zone, Now: clock}
	s.live, s.record = recorder.NewLive(o), recorder.New(o)
	return s
}

// hold has a workload hold a whole card.
func (s *oneSite) hold(h held) {
	s.t.Helper()
	w := storetest.Workload("w-" + h.name)
	w.Name, w.Kind, w.Image.Auth, w.Observed.Pod = h.name, catalog.Notebook, "", h.name+"-0"
	w.Replicas = workload.Replicas{} // what sleeps by itself is not judged
	w.CreatedAt, w.UpdatedAt, w.PlacedAt = s.now.Add(-since), s.now.Add(-since), s.now.Add(-since)
	w.Size.Technology, w.Size.Accelerator.Share = catalog.Full, 1
	open := usage.Interval{Workload: string(w.ID), Tenant: w.Tenant, Size: w.Size.Name,
		PerHour: usage.Money{Minor: 200, Currency: "EUR"}, Parts: usage.Parts, From: s.now.Add(-since)}
	if err := s.store.SaveObserved(s.t.Context(), w, nil, &open); err != nil {
		s.t.Fatal(err)
	}
}

// samples are one scrape: each device as the exporter tells it, and one of DCGM's marks for "no value" in the series
// that stands in for the engine.
func samples() (rows []promtest.Row) {
	for _, h := range allHeld {
		labels := func(name string) map[string]string {
			return map[string]string{"__name__": name, "UUID": "GPU-" + h.name, "Hostname": "node-1", "modelName": "NVIDIA L4",
				"gpu": "0", "namespace": "gpu-vision", "pod": h.name + "-0"}
		}
		if h.percent >= 0 {
			rows = append(rows, promtest.Row{Labels: labels("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), Value: h.percent / 100})
		}
		rows = append(rows, promtest.Row{Labels: labels("DCGM_FI_DEV_GPU_UTIL"), Value: 2147483632},
			promtest.Row{Labels: labels("DCGM_FI_DEV_FB_USED"), Value: 1000})
	}
	return rows
}

var pat = identity.Actor{Person: identity.Person{ID: "p-pat", Name: "Pat"}, Global: []identity.Role{identity.Admin},
	Via: identity.ViaSession}

// told is what one place says of a workload's use, in per cent; below zero for unknown, with its verdict.
type liveUse struct {
	percent float64
	idle    bool
}

// TestAllPlacesTellTheSameUse: statement, CSV and FOCUS rest on the same lines; the list of holders, the map of the
// fleet and the preview of idle GPUs tell the same number and the same verdict, before anything is recorded and after.
func TestAllPlacesTellTheSameUse(t *testing.T) {
	s := newSite(t)
	s.agree("before the first record", true)
	if err := s.record.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	watermark, err := s.store.EngineWatermark(t.Context(), "west")
	if err != nil || s.now.Sub(watermark) > since {
		t.Fatalf("nothing is recorded: %s, %v", watermark, err)
	}
	recorded := watermark.Sub(s.now.Add(-since))
	if got := s.statement()["busy"].Engine.Measured; (got - recorded).Abs() > 2*time.Minute {
		t.Errorf("want the tail of before the record left out, %s measured, got %s", recorded, got)
	}
	s.agree("after it", false)
}

func (s *oneSite) agree(when string, live bool) {
	s.t.Helper()
	ctx := s.t.Context()
	if err := s.live.Refresh(ctx); err != nil {
		s.t.Fatal(err)
	}
	lines, places := s.statement(), map[string]map[string]liveUse{"statement": {}, "holders": s.holders(),
		"fleet":   s.fleet(),
		"preview": s.preview()}
	for _, h := range allHeld {
		l, want := lines[h.name], liveUse{h.percent, h.idle}
		places["statement"][h.name] = liveUseOf(l.Engine)
		if began := s.now.Add(-since); live && h.percent >= 0 && !l.LiveSince.Equal(began) ||
			(!live || h.percent < 0) && !l.LiveSince.IsZero() {
			s.t.Errorf("%s, %s: live since %s, want %s: %t", when, h.name, l.LiveSince, began, live)
		}
		if h.percent >= 0 && (l.Engine.Measured < since-2*time.Minute || l.Engine.Measured > since) {
			s.t.Errorf("%s, %s: measured for %s of %s", when, h.name, l.Engine.Measured, since)
		}
		for place, of := range places {
			if got := of[h.name]; math.Abs(got.percent-want.percent) > 1e-6 || got.idle != want.idle {
				s.t.Errorf("%s, %s by the %s: want %+v, got %+v", when, h.name, place, want, got)
			}
		}
	}
}

func liveUseOf(e usage.EngineUse) liveUse {
	if !e.Known() {
		return liveUse{percent: -1}
	}
	return liveUse{e.Mean(), e.Idle == e.Measured}
}

func (s *oneSite) statement() map[string]usage.Line {
	s.t.Helper()
	service := usage.Service{Store: s.store, Live: s.live, Zone: s.zone, Now: func() time.Time { return s.now }}
	st, err := service.Statement(s.t.Context(), pat, usage.All, service.Month())
	if err != nil {
		s.t.Fatal(err)
	}
	of := map[string]usage.Line{}
	for _, l := range st.Lines {
		of[l.Name] = l
	}
	return of
}

func (s *oneSite) holders() map[string]liveUse {
	s.t.Helper()
	list, err := holders.Service{Workloads: &workload.Service{Store: s.store}, Metrics: s.live,
		Now: func() time.Time { return s.now }}.List(s.t.Context(), pat)
	if err != nil {
		s.t.Fatal(err)
	}
	of := map[string]liveUse{}
	for _, h := range list {
		of[h.Name] = liveUseOf(h.Use)
	}
	return of
}

func (s *oneSite) fleet() map[string]liveUse {
	s.t.Helper()
	if err := s.poller.Poll(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	of := map[string]liveUse{}
	for _, n := range s.poller.Fleet().Nodes {
		for _, card := range n.Cards {
			for _, c := range card.Cells {
				of[card.UUID[len("GPU-"):]] = liveUse{-1, false}
				if c.Engine.Known() {
					of[card.UUID[len("GPU-"):]] = liveUse{c.Engine.Value, usage.Idle(c.Engine.Value)}
				}
			}
		}
	}
	return of
}

// preview is whom a rule with the usual limit would affect now: it looks at the highest sample, which is the mean here.
func (s *oneSite) preview() map[string]liveUse {
	s.t.Helper()
	service := idle.New(idle.Options{Store: s.store, Sources: map[string]idle.Source{"west": s.poller},
		Namespaces: func() []string { return []string{"gpu-vision"} }, Size: func(string) bool { return true },
		Team: func(string) bool { return true }, Every: time.Minute, Now: func() time.Time { return s.now }})
	p, err := service.Preview(s.t.Context(), pat,
		idle.Settings{All: &idle.Setting{Action: idle.Warn, Below: idle.UsualBelow,
			After: catalog.Duration(30 * time.Minute), KeepAlive: catalog.Duration(time.Hour)}})
	if err != nil {
		s.t.Fatal(err)
	}
	of := map[string]liveUse{}
	for _, c := range append(p.Running, p.Unaffected...) {
		one := liveUse{-1, false}
		for _, h := range allHeld {
			if h.name == c.Workload.Name && !c.Unknown() {
				one = liveUse{h.percent, c.Outcome == idle.Warn}
			}
		}
		of[c.Workload.Name] = one
	}
	return of
}

// forgetful is a Prometheus whose retention is over: it answers, and has no samples.
type forgetful struct{}

func (forgetful) PodUtilization(context.Context, []string, time.Time, time.Time, time.Duration,
	time.Duration) ([]gpumetrics.PodUtilization,
	error) {
	return nil, nil
}

func (forgetful) PodUsage(context.Context, []string, time.Time, time.Time, time.Duration,
	time.Duration) ([]gpumetrics.PodUsage, error) {
	return nil, nil
}

func (forgetful) Clock(context.Context) (time.Time, error) { return time.Time{}, nil }

// TestThePreviewTellsWhatPrometheusForgot: where the samples of the past are gone, the preview of idle GPUs cannot say
// what would have followed, but it tells the idle hours that statements charge, to the minor unit.
func TestThePreviewTellsWhatPrometheusForgot(t *testing.T) {
	s := newSite(t)
	if err := s.record.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	statements := &usage.Service{Store: s.store, Zone: s.zone, Now: func() time.Time { return s.now }}
	service := idle.New(idle.Options{Store: s.store, Sources: map[string]idle.Source{"west": forgetful{}},
		Namespaces: func() []string { return []string{"gpu-vision"} }, Size: func(string) bool { return true },
		Team: func(string) bool { return true }, Statements: statements, Zone: s.zone,
		Now: func() time.Time { return s.now }})
	p, err := service.Preview(t.Context(), pat, idle.Settings{All: &idle.Setting{Action: idle.Warn, Below: idle.UsualBelow,
		After: catalog.Duration(30 * time.Minute), KeepAlive: catalog.Duration(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	st, err := statements.Statement(t.Context(), pat, usage.All, statements.Month())
	if err != nil {
		t.Fatal(err)
	}
	lines, sum := map[string]usage.Line{}, time.Duration(0)
	for _, l := range st.Lines {
		lines[l.Name] = l
		sum += l.Engine.Idle
	}
	if len(p.Past) != len(allHeld) || sum == 0 || p.Recorded.Idle != sum || !p.Since.Before(p.From) &&
		!p.Since.Equal(p.From) {
		t.Errorf("want %d workloads with %s idle since before %s, got %d with %s since %s", len(allHeld), sum, p.From,
			len(p.Past), p.Recorded.Idle, p.Since)
	}
	for _, c := range p.Past {
		l := lines[c.Workload.Name]
		if !c.Unknown() || c.Recorded.Idle != l.Engine.Idle || c.Recorded.Cost.Minor != l.IdleCost().Minor {
			t.Errorf("%s: want %s idle for %s and nothing known of what would follow, got %+v", c.Workload.Name, l.Engine.Idle,
				l.IdleCost().Amount(), c)
		}
	}
}
