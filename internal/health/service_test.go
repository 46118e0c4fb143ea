package health

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// memory is a Store in memory.
type memory struct {
	quarantines []Quarantine
	events      []audit.Event
	living      []workload.Workload
	snapshot    inventory.Snapshot
}

func (m *memory) Quarantines(context.Context) ([]Quarantine, error) {
	return slices.Clone(m.quarantines), nil
}

func (m *memory) SaveQuarantine(_ context.Context, k Quarantine, events ...audit.Event) error {
	m.quarantines = append(slices.DeleteFunc(m.quarantines, func(o Quarantine) bool { return o.Target == k.Target }), k)
	m.events = append(m.events, events...)
	return nil
}

func (m *memory) DeleteQuarantine(_ context.Context, p Target, events ...audit.Event) error {
	m.quarantines = slices.DeleteFunc(m.quarantines, func(o Quarantine) bool { return o.Target == p })
	m.events = append(m.events, events...)
	return nil
}

func (m *memory) Living(context.Context) ([]workload.Workload, error) { return m.living, nil }

func (m *memory) Snapshot(_ context.Context, cluster string) (inventory.Snapshot, bool) {
	if cluster != m.snapshot.Cluster {
		return inventory.Snapshot{}, false
	}
	return m.snapshot, true
}

// dcgm is a source that says what a test wants.
type dcgm struct {
	report gpumetrics.Report
	fleet  gpumetrics.Fleet
}

func (d *dcgm) Report() gpumetrics.Report { return d.report }
func (d *dcgm) Fleet() *gpumetrics.Fleet  { return &d.fleet }

type world struct {
	*Service
	memory  *memory
	dcgm    *dcgm
	changes int
}

func on(node, name string, size catalog.Size) workload.Workload {
	return workload.Workload{ID: workload.ID("w-" + name), Name: name, Tenant: "vision", Cluster: "main",
		Namespace: "gpu-vision", Size: size,
		Observed: workload.Observation{PodPresent: true, Node: node, Pod: name + "-0"}}
}

// newWorld is node-1 with two cards of which pods hold the first and a third one, node-2, and a card of node-3 that
// only DCGM knows.
func newWorld() *world {
	gpu, cpu := catalog.Size{Technology: catalog.Full}, catalog.Size{Technology: catalog.CPUOnly}
	w := &world{memory: &memory{living: []workload.Workload{on("node-1", "nb-a", gpu), on("node-1", "nb-b", gpu),
		on("node-1", "nb-c", gpu), on("node-1", "code", cpu), on("node-2", "nb-d", gpu)},
		snapshot: inventory.Snapshot{Cluster: "main",
			Nodes: []inventory.Node{{Name: "node-1", Cards: inventory.Cards{Each: []inventory.PhysicalCard{{UUID: "GPU-1"},
				{UUID: "GPU-2"}}}}, {Name: "node-2"}}}},
		dcgm: &dcgm{report: gpumetrics.Report{Health: []gpumetrics.Card{{UUID: "GPU-9", Node: "node-3"}}},
			fleet: gpumetrics.Fleet{Nodes: []gpumetrics.Node{{Name: "node-1", Cards: []gpumetrics.CardUse{
				{UUID: "GPU-1", Cells: []gpumetrics.Cell{{Pods: []gpumetrics.Pod{{Namespace: "gpu-vision", Name: "nb-a-0"}}}}},
				{UUID: "GPU-2", Cells: []gpumetrics.Cell{{Pods: []gpumetrics.Pod{{Namespace: "gpu-vision", Name: "nb-b-0"}}}}}}}}}}}
	w.Service = New(Options{Store: w.memory, Sources: map[string]Source{"main": w.dcgm}, Changed: func() { w.changes++ },
		Now: func() time.Time { return noon }})
	return w
}

var pat = identity.Actor{Person: identity.Person{ID: "p-pat", Name: "Pat"}, Global: []identity.Role{identity.Admin}}

// events are the events as "kind workload words".
func (w *world) events() []string {
	var list []string
	for _, e := range w.memory.events {
		list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", e.Kind, e.Workload, e.Detail.ID)), " "))
	}
	return list
}

func TestWhoIsTold(t *testing.T) {
	for sentence, c := range map[string]struct {
		place Target
		want  []string
	}{
		"a node: all on it": {Target{"main", Node, "node-1"},
			[]string{"hardware.quarantined health.quarantine_detail", "hardware.quarantined w-code health.affected",
				"hardware.quarantined w-nb-a health.affected", "hardware.quarantined w-nb-b health.affected",
				"hardware.quarantined w-nb-c health.affected"}},
		"a card: who is on it, and who may be": {Target{"main", Card, "GPU-1"},
			[]string{"hardware.quarantined health.quarantine_detail", "hardware.quarantined w-nb-a health.affected",
				"hardware.quarantined w-nb-c health.perhaps_affected"}},
		"a card that only DCGM knows": {Target{"main", Card, "GPU-9"},
			[]string{"hardware.quarantined health.quarantine_detail"}},
	} {
		w := newWorld()
		m, err := w.Quarantine(t.Context(), pat, c.place, "  XID 79 again ")
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		if m.Note != "XID 79 again" || m.ByName != "Pat" || !m.At.Equal(noon) || m.Node == "" {
			t.Errorf("%s: %+v", sentence, m)
		}
		if diff := cmp.Diff(c.want, w.events()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestQuarantineTwiceAndItsEnd(t *testing.T) {
	w, place := newWorld(), Target{"main", Card, "GPU-2"}
	quarantine := func(note string) {
		t.Helper()
		if _, err := w.Quarantine(t.Context(), pat, place, note); err != nil {
			t.Fatal(err)
		}
	}
	quarantine("first")
	quarantine("first")
	if n := len(w.memory.events); n != 3 || w.changes != 1 {
		t.Errorf("want nothing to happen the second time: %d events, %d changes", n, w.changes)
	}
	w.memory.snapshot.Nodes = nil // the card is gone, and still listed and to be written about
	quarantine("sent back to the vendor")
	if list, err := w.List(t.Context(), pat); err != nil || len(list) != 1 || list[0].Node != "node-1" ||
		list[0].Note != "sent back to the vendor" {
		t.Errorf("want it listed where it was, got %+v, %v", list, err)
	}
	if got := w.Quarantined("main"); got.Cards["GPU-2"] != "node-1" || len(got.Nodes) > 0 ||
		len(w.Quarantined("other").Cards) > 0 {
		t.Errorf("for the inventory: %+v", got)
	}
	for range 2 {
		if err := w.Release(t.Context(), pat, place); err != nil {
			t.Fatal(err)
		}
	}
	events := w.memory.events
	if last := events[len(events)-1]; last.Kind != audit.QuarantineEnded ||
		events[len(events)-2].Kind == audit.QuarantineEnded || last.Changes[0].Old != "sent back to the vendor" {
		t.Errorf("want it taken back once, got %v", w.events())
	}
	if got := w.Quarantined("main"); len(got.Cards) > 0 || w.changes != 3 {
		t.Errorf("want nothing left, got %+v after %d changes", got, w.changes)
	}
}

func TestWhatCannotBeMarked(t *testing.T) {
	dana := identity.Actor{Person: identity.Person{ID: "p-dana"},
		Tenants: map[string][]identity.Role{"vision": {identity.Developer, identity.Owner}}}
	auditor := identity.Actor{Person: identity.Person{ID: "p-rita"}, Global: []identity.Role{identity.Auditor}}
	place := Target{"main", Node, "node-1"}
	for sentence, c := range map[string]struct {
		actor identity.Actor
		place Target
		note  string
		want  fault.Kind
	}{
		"by nobody":            {identity.Actor{}, place, "x", fault.Unauthenticated},
		"by a team's owner":    {dana, place, "x", fault.Forbidden},
		"by an auditor":        {auditor, place, "x", fault.Forbidden},
		"without a note":       {pat, place, " \n", fault.Invalid},
		"with a book":          {pat, place, strings.Repeat("ä", mostNote+1), fault.Invalid},
		"a node nobody knows":  {pat, Target{"main", Node, "node-9"}, "x", fault.NotFound},
		"another cluster":      {pat, Target{"west", Node, "node-1"}, "x", fault.NotFound},
		"a card nobody knows":  {pat, Target{"main", Card, "GPU-7"}, "x", fault.NotFound},
		"a name that is none":  {pat, Target{"main", Card, `GPU-1"] || true`}, "x", fault.NotFound},
		"a kind that is none":  {pat, Target{"main", "rack", "node-1"}, "x", fault.NotFound},
		"a node by its letter": {pat, Target{"main", Card, "node-1"}, "x", fault.NotFound},
	} {
		w := newWorld()
		if _, err := w.Quarantine(t.Context(), c.actor, c.place, c.note); !fault.Is(err, c.want) {
			t.Errorf("%s: want %s, got %v", sentence, c.want, err)
		}
		if len(w.memory.quarantines)+len(w.memory.events) > 0 {
			t.Errorf("%s: something was written", sentence)
		}
	}
	w := newWorld()
	if err := w.Release(t.Context(), auditor, place); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an auditor takes back: %v", err)
	}
	if _, err := w.List(t.Context(), dana); !fault.Is(err, fault.NotFound) {
		t.Errorf("a developer reads all quarantines: %v", err)
	}
}
