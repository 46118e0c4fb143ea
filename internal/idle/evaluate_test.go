package idle_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const slot = 5 * time.Minute

var (
	noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	admin = identity.Actor{Person: identity.Person{ID: "p-pat", Name: "Pat"}, Global: []identity.Role{identity.Admin},
		Via: identity.ViaSession}
	dana = identity.Actor{Person: identity.Person{ID: "p-dana", Name: "Dana"},
		Tenants: map[string][]identity.Role{"vision": {identity.Developer}}, Via: identity.ViaSession}
)

// world is a database, a Prometheus that says what the test wants, and a clock.
type world struct {
	*testing.T
	*idle.Service
	store     *store.Store
	now       time.Time
	skew      time.Duration      // of Prometheus's clock
	uses      map[string]float64 // per cent, by workload; those that are missing are not measured
	pods      map[string]idle.PodUse
	memory    map[string]float64 // MiB, by how much it changes in each slot; those that are missing are not measured
	err       error
	asked     int
	askedPods int
	quiet     time.Time // nothing is stopped before
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "portal.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: s, now: noon.Add(2 * time.Minute), uses: map[string]float64{}}
	for _, name := range []string{"lazy", "busy"} {
		w.runs(name)
	}
	w.Service = idle.New(idle.Options{Store: s, Sources: map[string]idle.Source{"main": w},
		Namespaces: func() []string { return []string{"gpu-vision"} }, Now: func() time.Time { return w.now },
		Size: func(string) bool { return true }, Team: func(string) bool { return true },
		Quiet: func(at time.Time) time.Time {
			if at.Before(w.quiet) {
				return w.quiet
			}
			return at
		}})
	w.set(idle.Stop, time.Hour)
	return w
}

func (w *world) runs(name string) {
	w.Helper()
	item := workload.Workload{ID: workload.ID("w-" + name), Name: name, Kind: catalog.Endpoint, Tenant: "vision",
		Owner: "p-dana", OwnerName: "Dana", Cluster: "main", Namespace: "gpu-vision", Generation: 1,
		Desired: workload.WantRunning, State: workload.Running, CreatedAt: noon, UpdatedAt: noon,
		Lease: workload.Lease{From: noon, Until: noon.Add(72 * time.Hour)},
		Size: catalog.Size{Name: "mig-1g.10gb", Technology: catalog.MIG, Accelerator: catalog.Accelerator{Vendor: "nvidia",
			Resource: "nvidia.com/mig-1g.10gb", Count: 1}}}
	if err := w.store.SaveObserved(context.Background(), item, nil, nil); err != nil {
		w.Fatal(err)
	}
	w.uses[name] = map[string]float64{"lazy": 1, "busy": 80}[name]
}

func (w *world) set(action idle.Action, after time.Duration) {
	w.Helper()
	now, err := w.Settings(context.Background(), admin)
	if err != nil {
		w.Fatal(err)
	}
	of := idle.Setting{Action: action, After: catalog.Duration(after), Below: 5,
		KeepAlive: catalog.Duration(2 * time.Hour)}
	if _, err := w.Save(context.Background(), admin, idle.Settings{All: &of}, now.Version); err != nil {
		w.Fatal(err)
	}
}

// Clock is Prometheus's.
func (w *world) Clock(context.Context) (time.Time, error) { return w.now.Add(w.skew), w.err }

// PodUtilization is one device for each workload.
func (w *world) PodUtilization(_ context.Context, _ []string, from, until time.Time, of,
	_ time.Duration) ([]gpumetrics.PodUtilization, error) {
	w.asked++
	var list []gpumetrics.PodUtilization
	for name, use := range w.uses {
		one := gpumetrics.PodUtilization{Namespace: "gpu-vision", Pod: name + "-7d9c5b6f7c-5wq8z", UUID: "GPU-" + name}
		for end := from.Add(of); !end.After(until); end = end.Add(of) {
			s := gpumetrics.UtilizationSlot{Until: end, Known: of, High: gpumetrics.Reading{Value: use,
				Unit: gpumetrics.Percent, Source: gpumetrics.Measured}}
			if change, measured := w.memory[name]; measured {
				s.MemoryChange = gpumetrics.Reading{Value: change, Unit: gpumetrics.MiB, Source: gpumetrics.Measured}
			}
			one.Slots = append(one.Slots, s)
		}
		list = append(list, one)
	}
	return list, w.err
}

// PodUsage is one pod for each workload that has no device of its own.
func (w *world) PodUsage(_ context.Context, _ []string, from, until time.Time, of,
	_ time.Duration) ([]gpumetrics.PodUsage, error) {
	w.askedPods++
	var list []gpumetrics.PodUsage
	for name, use := range w.pods {
		one := gpumetrics.PodUsage{Namespace: "gpu-vision", Pod: name + "-7d9c5b6f7c-5wq8z"}
		for end := from.Add(of); !end.After(until); end = end.Add(of) {
			s := gpumetrics.UsageSlot{Until: end, CPU: gpumetrics.Rate{Value: use.CPU, Known: of}}
			if use.Network >= 0 { // less: it is not measured
				s.Network = gpumetrics.Rate{Value: use.Network, Known: of}
			}
			one.Slots = append(one.Slots, s)
		}
		list = append(list, one)
	}
	return list, w.err
}

// pass lets so much time go by, with a look every five minutes.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(slot)
		if err := w.Evaluate(context.Background(), func(string) bool { return true }); err != nil && w.err == nil &&
			w.skew == 0 {
			w.Fatal(err)
		}
	}
}

func (w *world) item(name string) workload.Workload {
	w.Helper()
	item, err := w.store.Workload(context.Background(), workload.ID("w-"+name))
	if err != nil {
		w.Fatal(err)
	}
	return item
}

func (w *world) events(kind audit.Kind) (names []string) {
	w.Helper()
	list, _, err := w.store.Events(context.Background(), audit.Filter{Kinds: []audit.Kind{kind}, Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Workload)
	}
	return names
}

func (w *world) wants(desired workload.Desired, warnings int, when string) {
	w.Helper()
	if got := w.item("lazy").Desired; got != desired {
		w.Fatalf("%s: want it %s, it is %s", when, desired, got)
	}
	if got := w.events(audit.WorkloadIdle); len(got) != warnings {
		w.Fatalf("%s: want %d warnings, got %v", when, warnings, got)
	}
	if w.item("busy").Desired != workload.WantRunning || slices.Contains(w.events(audit.WorkloadIdle), "w-busy") {
		w.Fatalf("%s: what works is touched", when)
	}
}

// TestNothingIsStoppedInQuietHours: the warning names their end, and hours that begin after a warning count as well.
func TestNothingIsStoppedInQuietHours(t *testing.T) {
	w := newWorld(t)
	w.quiet = noon.Add(5 * time.Hour)
	w.pass(50 * time.Minute)
	if is, err := w.Of(t.Context(), dana, "w-lazy"); err != nil || !is.StopsAt.Equal(w.quiet) {
		t.Errorf("announced for %s, %v", is.StopsAt, err)
	}
	w.quiet = noon.Add(6 * time.Hour)
	w.pass(5 * time.Hour)
	w.wants(workload.WantRunning, 1, "in quiet hours")
	w.pass(30 * time.Minute)
	w.wants(workload.WantStopped, 1, "after them")
}

// TestIdleIsWarnedAndStopped: the story of a GPU that nobody uses, beside one that works.
func TestIdleIsWarnedAndStopped(t *testing.T) {
	w := newWorld(t)
	w.pass(40 * time.Minute)
	w.wants(workload.WantRunning, 0, "before anything is due")
	w.pass(10 * time.Minute)
	w.wants(workload.WantRunning, 1, "after three quarters of the time")
	is, err := w.Of(t.Context(), dana, "w-lazy")
	if err != nil || is.Idle < 45*time.Minute || is.StopsAt.Before(w.now) || is.Warned.IsZero() || is.High != 1 {
		t.Errorf("want what is known on its page, got %+v %v", is, err)
	}
	w.pass(20 * time.Minute)
	w.wants(workload.WantStopped, 1, "after all of it")
	item := w.item("lazy")
	if item.State != workload.Stopping || item.Generation != 2 || item.Reason.ID != "workload.stopped_idle" {
		t.Errorf("want it stopped as if somebody had, got %s %d %+v", item.State, item.Generation, item.Reason)
	}
	if got := w.events(audit.WorkloadIdleStopped); len(got) != 1 {
		t.Errorf("want one event of the end, got %v", got)
	}
	if records, err := w.store.IdleRecords(t.Context()); err != nil || len(records) != 0 {
		t.Errorf("want nothing kept of what is over, got %v %v", records, err)
	}
}

// TestWhatKeepsItRunning: each of these for as long as it lasts, though the GPU is idle all the time.
func TestWhatKeepsItRunning(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(w *world)
		warnings int
	}{
		"Prometheus is away":                           {func(w *world) { w.err = errors.New("away") }, 1},
		"Prometheus tells nothing of it":               {func(w *world) { delete(w.uses, "lazy") }, 1},
		"Prometheus's clock is an hour behind":         {func(w *world) { w.skew = -time.Hour }, 1},
		"Prometheus's clock is an hour ahead":          {func(w *world) { w.skew = time.Hour }, 1},
		"it works again":                               {func(w *world) { w.uses["lazy"] = 5 }, 1},
		"somebody loads a model":                       {func(w *world) { w.memory = map[string]float64{"lazy": 900} }, 1},
		"it is switched off":                           {func(w *world) { w.set(idle.Off, 0) }, 1},
		"only a warning is wanted":                     {func(w *world) { w.set(idle.Warn, time.Hour) }, 1},
		"the portal's clock was set back":              {func(w *world) { w.now = w.now.Add(-24 * time.Hour) }, 1},
		"somebody needs it, and idle time begins anew": {func(w *world) { needs(w) }, 1},
		"somebody stopped it and started it again":     {func(w *world) { again(w) }, 1},
		"another threshold begins the time anew":       {func(w *world) { threshold(w) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.pass(50 * time.Minute)
			w.wants(workload.WantRunning, 1, "warned")
			c.change(w)
			w.pass(30 * time.Minute)
			w.wants(workload.WantRunning, c.warnings, "afterwards")
			if got := w.events(audit.WorkloadIdleStopped); len(got) > 0 {
				t.Errorf("want no end, got %v", got)
			}
		})
	}
}

// sharing is a world in which both have no device of their own, and are judged by CPU and network. The lazy one is a
// share of a card, the other one has no GPU.
func sharing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.uses = map[string]float64{"lazy": 90, "busy": 90} // of others on the card
	w.pods = map[string]idle.PodUse{"lazy": {CPU: 0.01, Network: 300}, "busy": {CPU: 1.5, Network: 300}}
	for name, technology := range map[string]catalog.Technology{"lazy": catalog.TimeSlicing, "busy": catalog.CPUOnly} {
		item := w.item(name)
		if item.Size.Technology = technology; technology == catalog.CPUOnly {
			item.Size.Accelerator = catalog.Accelerator{}
		}
		if err := w.store.SaveObserved(t.Context(), item, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// byPods has CPU and network judged from now on.
func (w *world) byPods() {
	w.Helper()
	now, err := w.Settings(context.Background(), admin)
	if err != nil {
		w.Fatal(err)
	}
	of := *now.Settings.All
	of.CPU, of.Network = idle.UsualCPU, idle.UsualNetwork
	if _, err := w.Save(context.Background(), admin, idle.Settings{All: &of}, now.Version); err != nil {
		w.Fatal(err)
	}
}

// TestWhatHasNoDeviceOfItsOwnIsJudgedByItsPods: as the story above, once the setting has thresholds for it; before that
// nothing happens, and nobody asks for pods.
func TestWhatHasNoDeviceOfItsOwnIsJudgedByItsPods(t *testing.T) {
	w := sharing(t)
	w.pass(2 * time.Hour)
	w.wants(workload.WantRunning, 0, "while the setting has no thresholds for it")
	if is, err := w.Of(t.Context(), dana, "w-lazy"); err != nil || is.Never != idle.Shared || w.askedPods != 0 {
		t.Errorf("want it never judged, and no pods asked for, got %+v %v, %d", is, err, w.askedPods)
	}
	w.byPods()
	w.pass(40 * time.Minute)
	w.wants(workload.WantRunning, 0, "before anything is due")
	w.pass(10 * time.Minute)
	w.wants(workload.WantRunning, 1, "after three quarters of the time")
	is, err := w.Of(t.Context(), dana, "w-lazy")
	if err != nil || is.Never != "" || !is.ByPods || is.Idle < 45*time.Minute ||
		is.PodHigh != (idle.PodUse{CPU: 0.01, Network: 300}) {
		t.Errorf("want what is known on its page, got %+v %v", is, err)
	}
	list, _, err := w.store.Events(t.Context(), audit.Filter{Kinds: []audit.Kind{audit.WorkloadIdle}, Limit: 9})
	if err != nil || len(list) != 1 || list[0].Detail.ID != "idle.pod_facts_end" ||
		list[0].Detail.Args["BelowNetwork"] != "10" || list[0].Detail.Args["CPU"] != "0.01" {
		t.Errorf("want what was measured on record, got %+v %v", list, err)
	}
	w.pass(20 * time.Minute)
	w.wants(workload.WantStopped, 1, "after all of it")
	if item := w.item("lazy"); item.Reason.ID != "workload.stopped_unused" {
		t.Errorf("want it stopped for being idle, got %+v", item.Reason)
	}
}

// TestWhatKeepsPodsRunning: a signal that says work, or says nothing, or somebody inside.
func TestWhatKeepsPodsRunning(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"the CPU works":          func(w *world) { w.pods["lazy"] = idle.PodUse{CPU: 0.05, Network: 300} },
		"the network works":      func(w *world) { w.pods["lazy"] = idle.PodUse{CPU: 0.01, Network: 10_000} },
		"nobody counts network":  func(w *world) { w.pods["lazy"] = idle.PodUse{CPU: 0.01, Network: -1} },
		"nothing is measured":    func(w *world) { delete(w.pods, "lazy") },
		"Prometheus is away":     func(w *world) { w.err = errors.New("away") },
		"somebody starts it":     again,
		"somebody needs it":      needs,
		"somebody is inside now": func(w *world) { visit(w, w.now.Add(30*time.Minute)) },
		"it is judged no more":   func(w *world) { w.set(idle.Stop, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sharing(t)
			w.byPods()
			w.pass(50 * time.Minute)
			w.wants(workload.WantRunning, 1, "warned")
			change(w)
			w.pass(30 * time.Minute)
			w.wants(workload.WantRunning, 1, "afterwards")
			if got := w.events(audit.WorkloadIdleStopped); len(got) > 0 {
				t.Errorf("want no end, got %v", got)
			}
		})
	}
}

// visit has somebody inside up to a moment.
func visit(w *world, at time.Time) {
	w.Helper()
	if err := w.store.SaveVisits(context.Background(), []workload.Visit{{Workload: "w-lazy", Person: "p-dana",
		At: at}}); err != nil {
		w.Fatal(err)
	}
}

// TestAPreviewCoversPods: the same path says whom thresholds of pods would affect, now and in the past; without them
// both are out of its reach.
func TestAPreviewCoversPods(t *testing.T) {
	w := sharing(t)
	w.now = noon.Add(3 * time.Hour)
	of := idle.Setting{Action: idle.Stop, After: catalog.Duration(time.Hour), Below: 5, CPU: idle.UsualCPU,
		Network: idle.UsualNetwork, KeepAlive: catalog.Duration(time.Hour)}
	p, err := w.Preview(t.Context(), admin, idle.Settings{All: &of})
	if err != nil || p.RunningTally != (idle.Tally{Seen: 2, Stopped: 1}) || p.Running[0].Workload.Name != "lazy" ||
		len(p.Unaffected) != 1 || p.Unaffected[0].Workload.Name != "busy" {
		t.Errorf("want the lazy one stopped and the busy one not, got %+v %v", p, err)
	}
	visit(w, w.now.Add(-time.Minute))
	if p, err = w.Preview(t.Context(), admin, idle.Settings{All: &of}); err != nil || p.RunningTally.Stopped != 0 {
		t.Errorf("somebody is inside, got %+v %v", p.RunningTally, err)
	}
	w.pods["lazy"] = idle.PodUse{CPU: 0.01, Network: -1}
	p, err = w.Preview(t.Context(), admin, idle.Settings{All: &of})
	if err != nil || p.RunningTally != (idle.Tally{Seen: 2, Unknown: 1}) || p.Running[0].Reason != idle.NetworkUnmeasured {
		t.Errorf("want it unknown for want of its network, got %+v %v", p, err)
	}
	of.CPU, of.Network = 0, 0
	asked := w.askedPods
	p, err = w.Preview(t.Context(), admin, idle.Settings{All: &of})
	if err != nil || p.RunningTally != (idle.Tally{Seen: 1, Unknown: 1}) || p.Running[0].Reason != idle.Shared ||
		w.askedPods != asked {
		t.Errorf("want the share of a card unknown and what has no GPU left out, got %+v %v", p, err)
	}
}

func needs(w *world) {
	w.Helper()
	is, err := w.KeepAlive(context.Background(), dana, "w-lazy")
	if err != nil || is.KeepAliveBy != "Dana" || !is.KeepAliveUntil.Equal(w.now.Add(2*time.Hour)) {
		w.Fatalf("want it kept, got %+v %v", is, err)
	}
}

func again(w *world) {
	w.Helper()
	item := w.item("lazy")
	item.Generation += 2
	if err := w.store.SaveObserved(context.Background(), item, nil, nil); err != nil {
		w.Fatal(err)
	}
}

func threshold(w *world) {
	w.Helper()
	of := idle.Setting{Action: idle.Stop, After: catalog.Duration(time.Hour), Below: 6,
		KeepAlive: catalog.Duration(time.Hour)}
	if _, err := w.Save(context.Background(), admin, idle.Settings{All: &of}, 1); err != nil {
		w.Fatal(err)
	}
}

// TestAGapBeginsAnew: half an hour without an answer is looked up afterwards, for Prometheus was there; what it does
// not know either is a gap.
func TestAGapBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.pass(30 * time.Minute)
	w.err = errors.New("away")
	w.pass(20 * time.Minute)
	w.err = nil
	asked := w.asked
	w.pass(5 * time.Minute)
	w.wants(workload.WantRunning, 1, "after an answer for all of the time")
	if w.asked != asked+1 {
		t.Errorf("want one call for what was missed, got %d", w.asked-asked)
	}

	w = newWorld(t)
	w.pass(40 * time.Minute)
	delete(w.uses, "lazy")
	w.pass(slot)
	w.uses["lazy"] = 1
	w.pass(40 * time.Minute)
	w.wants(workload.WantRunning, 0, "after a gap")
	w.pass(10 * time.Minute)
	w.wants(workload.WantRunning, 1, "three quarters of the time after the gap")
}

// TestAKeptOneIsWarnedAgainLater: "I still need it" holds for its time and no longer, and is on record.
func TestAKeptOneIsWarnedAgainLater(t *testing.T) {
	w := newWorld(t)
	w.pass(50 * time.Minute)
	needs(w)
	w.pass(150 * time.Minute)
	w.wants(workload.WantRunning, 1, "while it is kept, and shortly after")
	w.pass(30 * time.Minute)
	w.wants(workload.WantRunning, 2, "idle again after that")
	w.pass(20 * time.Minute)
	w.wants(workload.WantStopped, 2, "and stopped")
	if got := w.events(audit.WorkloadKeptAlive); len(got) != 1 {
		t.Errorf("want it on record who needed it, got %v", got)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	w := newWorld(t)
	other := identity.Actor{Person: identity.Person{ID: "p-nora", Name: "Nora"},
		Tenants: map[string][]identity.Role{"speech": {identity.Developer}}, Via: identity.ViaSession}
	auditor := identity.Actor{Person: identity.Person{ID: "p-eli", Name: "Eli"}, Global: []identity.Role{identity.Auditor},
		Via: identity.ViaSession}
	settings := idle.Settings{}
	for name, c := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"a stranger reads":           {second(w.Of(t.Context(), other, "w-lazy")), fault.NotFound},
		"a stranger needs it":        {second(w.KeepAlive(t.Context(), other, "w-lazy")), fault.NotFound},
		"an auditor needs it":        {second(w.KeepAlive(t.Context(), auditor, "w-lazy")), fault.Forbidden},
		"a developer reads settings": {second(w.Settings(t.Context(), dana)), fault.NotFound},
		"an auditor changes them":    {second(w.Save(t.Context(), auditor, settings, 1)), fault.Forbidden},
		"an old version":             {second(w.Save(t.Context(), admin, settings, 0)), fault.Conflict},
	} {
		if !fault.Is(c.err, c.want) {
			t.Errorf("%s: want %s, got %v", name, c.want, c.err)
		}
	}
	w.set(idle.Off, 0)
	if _, err := w.KeepAlive(t.Context(), dana, "w-lazy"); !fault.Is(err, fault.Conflict) {
		t.Errorf("nothing follows: want a conflict, got %v", err)
	}
	bad := idle.Settings{All: &idle.Setting{Action: idle.Stop, After: catalog.Duration(time.Minute), Below: 90,
		KeepAlive: 0},
		Teams: map[string]idle.Setting{"vision": {Action: "shoot"}}}
	if err := w.Check(admin, bad); !fault.Is(err, fault.Invalid) || len(fault.As(err).Fields) != 4 {
		t.Errorf("want every problem by field, got %v", fault.As(err).Fields)
	}
}

func second[T any](_ T, err error) error { return err }
