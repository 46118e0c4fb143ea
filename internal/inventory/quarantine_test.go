package inventory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// four is a node of four cards, of which a pod holds one.
func four(change ...func(*corev1.Node)) Objects {
	return Objects{Nodes: []*corev1.Node{mixedNode(append([]func(*corev1.Node){
		wholeCard, label("nvidia.com/gpu.count", "4"),
		resourcesOf(gpu, "4", "cpu", "64", "memory", "256Gi")}, change...)...)},
		Pods: []*corev1.Pod{pod("a", list(gpu, "1"))}}
}

func quarantineBuilt(seen Objects, cards []PhysicalCard, m Quarantine) *Builder {
	b := NewBuilder("main", ours)
	for _, n := range seen.Nodes {
		b.SetNode(n)
	}
	for _, p := range seen.Pods {
		b.SetPod(p)
	}
	for _, s := range seen.Slices {
		b.SetSlice(s)
	}
	b.SetCards(map[string][]PhysicalCard{"n1": cards})
	b.SetQuarantine(m)
	return b
}

func TestMarkedCardsAreBroken(t *testing.T) {
	each := []PhysicalCard{{UUID: "GPU-a"}, {Index: 1, UUID: "GPU-b"}, {Index: 2, UUID: "GPU-c"},
		{Index: 3, UUID: "GPU-d"}}
	cut := []PhysicalCard{{UUID: "GPU-a", Axis: 8, Slices: []Placement{{Profile: "1g.10gb", Size: 1},
		{Profile: "1g.10gb", Start: 1, Size: 1}}}, {Index: 1, UUID: "GPU-b", Axis: 8,
		Slices: []Placement{{Profile: "1g.10gb", Size: 1}}}}
	sliced := Objects{Nodes: []*corev1.Node{mixedNode(resourcesOf(slice, "3", "cpu", "64", "memory", "256Gi"))}}
	ill := func(n *corev1.Node) { n.Status.Allocatable[gpu] = *q(3) }
	on := func(cards ...string) Quarantine {
		m := Quarantine{Cards: map[string]string{}}
		for _, c := range cards {
			m.Cards[c] = "n1"
		}
		return m
	}
	for sentence, c := range map[string]struct {
		seen       Objects
		cards      []PhysicalCard
		quarantine Quarantine
		bad        bool
		free       int64
		broken     int64
		warning    string // "": nothing is said
	}{
		"nothing is quarantined": {four(), each, Quarantine{}, false, 3, 0, ""},
		"the node": {four(), nil, Quarantine{Nodes: map[string]bool{"n1": true}}, true, 0, 3,
			"inventory.quarantined_node"},
		"another node": {four(), nil, Quarantine{Nodes: map[string]bool{"n2": true}}, false, 3,
			0, ""},
		"one card that the agent sees":    {four(), each, on("GPU-b"), false, 2, 1, "inventory.quarantined_cards"},
		"one card where nobody names any": {four(), nil, on("GPU-b"), false, 2, 1, "inventory.quarantined_cards"},
		"a card that was taken out":       {four(), each, on("GPU-x"), false, 3, 0, ""},
		"a card that came from another node": {four(), each, Quarantine{Cards: map[string]string{"GPU-b": "n2"}}, false,
			2, 1, "inventory.quarantined_cards"},
		"a card elsewhere": {four(), nil, Quarantine{Cards: map[string]string{"GPU-b": "n2"}}, false, 3, 0, ""},
		"the one that the device plugin has taken away": {four(ill), each, on("GPU-b"), false, 2, 1,
			"inventory.quarantined_cards"},
		"all cards": {four(), each, on("GPU-a", "GPU-b", "GPU-c", "GPU-d"), true, 0, 3,
			"inventory.quarantined_all"},
		"slices go with their card": {sliced, cut, on("GPU-a"), false, 1, 2,
			"inventory.quarantined_cards"},
		"slices by share, where their place is not told": {sliced, nil, on("GPU-a"), false, 1, 2,
			"inventory.quarantined_cards"},
	} {
		s := quarantineBuilt(c.seen, c.cards, c.quarantine).Snapshot(now)
		checkTotals(t, s)
		total := Totals(s)[0]
		n := s.Nodes[0]
		if n.Quarantined != c.bad || n.Usable() == c.bad || total.Free != c.free || total.Broken != c.broken {
			t.Errorf("%s: want bad %t, free %d, broken %d; got bad %t, %+v", sentence, c.bad, c.free, c.broken, n.Quarantined,
				total)
		}
		said := slices.ContainsFunc(n.Warnings, func(o i18n.Text) bool { return o.ID == c.warning })
		if c.warning != "" && !said {
			t.Errorf("%s: want it said, got %v", sentence, n.Warnings)
		}
		stock := Stock(s)[0] // of the cut cards not everything is offered, so that the rest is no unit's
		if total.Unit == Card && stock.Cards != stock.Ours+stock.Others+stock.Free+stock.Broken {
			t.Errorf("%s: the parts are not the whole: %+v", sentence, stock)
		}
	}
	if got := Stock(quarantineBuilt(four(), each, on("GPU-b")).Snapshot(now)); got[0].Broken != usage.Parts {
		t.Errorf("want one card counted as broken, got %+v", got)
	}
}

// A quarantine that ends leaves nothing behind, and what a driver published is not touched.
func TestMarksAreTakenBack(t *testing.T) {
	seen := four()
	seen.Slices = []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0), card(1))}
	b := quarantineBuilt(seen, nil, Quarantine{})
	clean := b.Snapshot(now)
	uuid := clean.Nodes[0].Devices[0].CardOf()
	b.SetQuarantine(Quarantine{Cards: map[string]string{uuid: "n1"}})
	quarantined := b.Snapshot(now).Nodes[0]
	if !quarantined.Devices[0].Tainted || quarantined.Devices[1].Tainted || len(quarantined.QuarantinedCards) != 1 {
		t.Errorf("want the first device closed and no other, got %+v", quarantined.Devices)
	}
	b.SetQuarantine(Quarantine{})
	if diff := cmp.Diff(clean, b.Snapshot(now)); diff != "" {
		t.Errorf("after it was taken back (-before +after):\n%s", diff)
	}
}
