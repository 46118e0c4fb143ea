package health

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// brokenCard is a card of which DCGM says that it fell off the bus.
func brokenCard(uuid, node string) gpumetrics.Card {
	return gpumetrics.Card{UUID: uuid, Node: node,
		Issues: []gpumetrics.Issue{{Severity: gpumetrics.Danger, What: i18n.T("gpumetrics.xid_last", "Code", 79),
			Todo: i18n.T("gpumetrics.todo.bus")}}}
}

func TestReportJoinsAllWhoSpeak(t *testing.T) {
	w := newWorld()
	zero, one := uint64(0), uint64(1)
	w.memory.snapshot.Nodes[0].Cards.Each = append(w.memory.snapshot.Nodes[0].Cards.Each,
		inventory.PhysicalCard{Index: 2, Lost: true})
	w.memory.snapshot.Nodes[0].Cards.Each[1].Errors = &inventory.CardErrors{Corrected: &one, Uncorrected: &zero}
	w.memory.snapshot.Nodes[1].Resources = []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 2, Allocatable: 2}}
	w.dcgm.report.Health = append(w.dcgm.report.Health, brokenCard("GPU-1", "node-1"))
	for _, p := range []Target{{"main", Card, "GPU-9"}, {"main", Node, "node-1"}} {
		if _, err := w.Quarantine(t.Context(), pat, p, "look at it"); err != nil {
			t.Fatal(err)
		}
	}
	w.dcgm.report.Health = w.dcgm.report.Health[1:] // GPU-9 was taken out
	r, err := w.Report(t.Context(), pat, "main")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.Nodes {
		got = append(got, n.Name+" "+n.Level().String())
		for _, c := range n.Cards {
			got = append(got, "- "+c.UUID+" "+c.Level().String())
		}
	}
	want := []string{"node-1 danger", "- GPU-1 danger", "-  danger", "- GPU-2 fine", "node-3 quarantined",
		"- GPU-9 quarantined",
		"node-2 unknown"}
	if len(got) != len(want) {
		t.Fatalf("want %q, got %q", want, got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("want %q, got %q", want[i], got[i])
		}
	}
	if want := (LevelCount{Fine: 1, Unknown: 1, Quarantined: 1, Broken: 3}); r.Levels != want {
		t.Errorf("want %v of each level, got %v", want, r.Levels)
	}
	first := r.Nodes[0]
	if first.Quarantine == nil || len(first.Holders) != 4 || len(first.Cards[0].Holders) != 1 ||
		first.Cards[0].Holders[0].Name != "nb-a" {
		t.Errorf("the node: %+v", first)
	}
	if gone := r.Nodes[1]; !gone.Gone || !gone.Cards[0].Gone || gone.Cards[0].Quarantine == nil {
		t.Errorf("a card that is gone: %+v", gone)
	}
}

// TestALostCardIsNamed: a card that the driver has lost has a number and no UUID, and DCGM still names it: it is one
// card. Where several could be meant they stay apart.
func TestALostCardIsNamed(t *testing.T) {
	dcgm := func(uuid string) CardHealth {
		c := brokenCard(uuid, "node-1")
		return CardHealth{UUID: uuid, DCGM: &c}
	}
	fine, lost := CardHealth{UUID: "GPU-1", Number: 1}, CardHealth{Number: 3, Lost: true}
	for name, c := range map[string]struct {
		cards []CardHealth
		want  int
	}{
		"one of each":     {[]CardHealth{fine, lost, dcgm("GPU-9")}, 2},
		"two lost":        {[]CardHealth{fine, lost, {Number: 4, Lost: true}, dcgm("GPU-9")}, 4},
		"two from DCGM":   {[]CardHealth{fine, lost, dcgm("GPU-8"), dcgm("GPU-9")}, 4},
		"none lost":       {[]CardHealth{fine, dcgm("GPU-9")}, 2},
		"no agent at all": {[]CardHealth{dcgm("GPU-9")}, 1},
	} {
		h := NodeHealth{Cards: c.cards}
		h.nameLost()
		if len(h.Cards) != c.want {
			t.Errorf("%s: want %d cards, got %+v", name, c.want, h.Cards)
		}
		if name != "one of each" {
			continue
		}
		if got := h.Cards[1]; got.UUID != "GPU-9" || got.Number != 3 || !got.Lost || len(issues(got, noon, 0)) != 1 {
			t.Errorf("want one card with one problem, got %+v with %v", got, issues(got, noon, 0))
		}
	}
}

func TestWhatTells(t *testing.T) {
	nodes := func(levels ...Level) (list []NodeHealth) {
		for _, l := range levels {
			list = append(list, NodeHealth{rated: &l})
		}
		return list
	}
	for _, c := range []struct {
		levels []Level
		want   int
	}{{nil, 0}, {[]Level{Noticed}, 0}, {[]Level{Fine, Fine}, 0}, {[]Level{Unknown}, 1},
		{[]Level{Broken, Warned, Unknown, Noticed, Fine}, 3}, {[]Level{Broken, Fine, Fine, Fine}, 1}} {
		if got := len(Report{Nodes: nodes(c.levels...)}.Telling()); got != c.want {
			t.Errorf("%v: want %d, got %d", c.levels, c.want, got)
		}
	}
}

func TestAReportStandsUntilSomethingChanges(t *testing.T) {
	w, now := newWorld(), noon
	w.o.Now = func() time.Time { return now }
	read := func() Report {
		r, err := w.Report(t.Context(), pat, "main")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := read()
	if again := read(); &again.Nodes[0] != &first.Nodes[0] {
		t.Error("it was joined again although nothing has changed")
	}
	for what, change := range map[string]func(){
		"workloads": func() { w.memory.living = append([]workload.Workload{}, w.memory.living[1:]...) },
		"a snapshot": func() {
			w.memory.snapshot.Nodes = append([]inventory.Node{{Name: "node-0"}}, w.memory.snapshot.Nodes...)
		},
		"DCGM":                   func() { w.dcgm.report.Health = []gpumetrics.Card{brokenCard("GPU-1", "node-1")} },
		"a later answer of DCGM": func() { w.dcgm.report.HealthAt = noon },
		"a quarantine": func() {
			if _, err := w.Quarantine(t.Context(), pat, Target{"main", Node, "node-1"}, "look at it"); err != nil {
				t.Fatal(err)
			}
		},
		"time": func() { now = now.Add(reportsLast + time.Second) },
	} {
		before := read()
		change()
		if after := read(); &after.Nodes[0] == &before.Nodes[0] {
			t.Errorf("%s: the report is the one from before", what)
		}
	}
}

func TestWhatTheAgentSays(t *testing.T) {
	two := uint64(2)
	for sentence, c := range map[string]struct {
		errors inventory.CardErrors
		want   Level
	}{
		"nothing":                        {inventory.CardErrors{}, Fine},
		"rows wait for a reset":          {inventory.CardErrors{RowsPending: true}, Warned},
		"no row is left":                 {inventory.CardErrors{RowsFailed: true}, Broken},
		"errors that were not corrected": {inventory.CardErrors{Uncorrected: &two}, Broken},
		"errors that were":               {inventory.CardErrors{Corrected: &two}, Fine},
		"off the bus an hour ago": {inventory.CardErrors{XIDs: []inventory.CardXID{{Code: 79, Count: 1,
			Last: noon.Add(-time.Hour)}}}, Broken},
		"off the bus last week": {inventory.CardErrors{XIDs: []inventory.CardXID{{Code: 79, Count: 1,
			Last: noon.Add(-7 * 24 * time.Hour)}}}, Noticed},
		"a program's fault": {inventory.CardErrors{XIDs: []inventory.CardXID{{Code: 31, Count: 9, Last: noon}}},
			Noticed},
		"a code that nobody knows": {inventory.CardErrors{XIDs: []inventory.CardXID{{Code: 9999, Count: 1, Last: noon}}},
			Warned},
	} {
		card := CardHealth{Agent: &c.errors}
		card.Issues = issues(card, noon, gpumetrics.UsualRecent)
		if got := card.Level(); got != c.want {
			t.Errorf("%s: want %s, got %s: %+v", sentence, c.want, got, card.Issues)
		}
	}
	if got := (&CardHealth{DCGM: &gpumetrics.Card{}}).Level(); got != Unknown {
		t.Errorf("silence is unknown and not well, got %s", got)
	}
}

func TestWhatIsUnderAWorkload(t *testing.T) {
	gpu := catalog.Size{Technology: catalog.Full}
	quarantine := func(p Target) func(*world) {
		return func(w *world) {
			if _, err := w.Quarantine(t.Context(), pat, p, "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for sentence, c := range map[string]struct {
		change      func(*world)
		name        string
		quarantined bool
		perhaps     bool
		troubles    int
	}{
		"nothing":            {func(*world) {}, "nb-a", false, false, 0},
		"its node":           {quarantine(Target{"main", Node, "node-1"}), "nb-a", true, false, 0},
		"another node":       {quarantine(Target{"main", Node, "node-2"}), "nb-a", false, false, 0},
		"its card":           {quarantine(Target{"main", Card, "GPU-1"}), "nb-a", true, false, 0},
		"a neighbour's card": {quarantine(Target{"main", Card, "GPU-2"}), "nb-a", false, false, 0},
		"perhaps its card":   {quarantine(Target{"main", Card, "GPU-2"}), "nb-c", true, true, 0},
		"its card fell off": {func(w *world) {
			w.dcgm.report.Health = append(w.dcgm.report.Health, brokenCard("GPU-1", "node-1"))
		}, "nb-a", false, false, 1},
		"a neighbour's fell off": {func(w *world) {
			w.dcgm.report.Health = append(w.dcgm.report.Health, brokenCard("GPU-2", "node-1"))
		}, "nb-a", false, false, 0},
	} {
		w := newWorld()
		c.change(w)
		got := w.Under(t.Context(), on("node-1", c.name, gpu))
		if (got.Quarantine != nil) != c.quarantined || got.Perhaps != c.perhaps || len(got.Issues) != c.troubles {
			t.Errorf("%s: got %+v", sentence, got)
		}
	}
	if w := newWorld(); w.Under(t.Context(), on("", "nb-z", gpu)).Quarantine != nil {
		t.Error("what is on no node has nothing under it")
	}
}
