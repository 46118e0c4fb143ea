package fleetmap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/fleetmap"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// drawn are the cards of a node as text: parts by size with their profile, "*" for held, "?" for assumed, "-" for a
// gap.
func drawn(n fleetmap.Node) []string {
	var cards []string
	for _, c := range n.Cards {
		var parts []string
		for _, p := range c.Parts {
			text := fmt.Sprint(p.Size, p.Profile)
			switch {
			case p.Gap:
				text = fmt.Sprintf("-%d", p.Size)
			case p.Assumed:
				text += "?" + p.Pods[0].Name
			case p.Held():
				text += "*" + p.Pods[0].Name
			}
			parts = append(parts, text)
		}
		cards = append(cards, strings.Join(parts, " "))
	}
	return cards
}

func resource(name string, count int64, pods ...string) inventory.Resource {
	r := inventory.Resource{Name: name, Capacity: count, Allocatable: count}
	for _, p := range pods {
		r.Holders = append(r.Holders, inventory.Holder{Namespace: "red", Pod: p, Count: 1})
	}
	return r
}

func measured(cells ...gpumetrics.Cell) *gpumetrics.Fleet {
	return &gpumetrics.Fleet{Nodes: []gpumetrics.Node{{Name: "n", Cards: []gpumetrics.CardUse{{UUID: "GPU-0",
		Model: "NVIDIA H100 80GB HBM3", Cells: cells}}}}}
}

func cell(profile string, part float64, pods ...string) gpumetrics.Cell {
	c := gpumetrics.Cell{Profile: profile, Part: part}
	if profile != "" {
		c.Instance = profile + fmt.Sprint(part, pods)
	}
	for _, p := range pods {
		c.Pods = append(c.Pods, gpumetrics.Pod{Namespace: "red", Name: p})
	}
	return c
}

func TestCardsStandInTheirPlace(t *testing.T) {
	h100 := map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
	shared := map[string]string{"nvidia.com/gpu.product": "NVIDIA-L4-SHARED", "nvidia.com/gpu.replicas": "4"}
	for name, c := range map[string]struct {
		node  inventory.Node
		fleet *gpumetrics.Fleet
		want  []string
	}{
		"whole cards that nobody measures, and holders somewhere on them": {
			node: inventory.Node{Labels: h100, Resources: []inventory.Resource{resource("nvidia.com/gpu", 3, "a")}},
			want: []string{"1?a", "1", "1"}},
		"a card whose holder the exporter names": {
			node:  inventory.Node{Labels: h100, Resources: []inventory.Resource{resource("nvidia.com/gpu", 1, "a")}},
			fleet: measured(cell("", 1, "a")), want: []string{"1*a"}},
		"slices by their compute, with what is not cut": {
			node:  inventory.Node{Labels: h100, Resources: []inventory.Resource{resource("nvidia.com/mig-3g.40gb", 1, "b")}},
			fleet: measured(cell("3g.40gb", 3.0/7, "b"), cell("1g.10gb", 1.0/7)), want: []string{"33g.40gb*b 11g.10gb -3"}},
		"slices where the agent sees them": {
			node: inventory.Node{Labels: h100, Cards: inventory.Cards{Each: []inventory.PhysicalCard{{UUID: "GPU-0",
				Model: "NVIDIA H100 80GB HBM3", Axis: 8, Slices: []inventory.Placement{{Profile: "1g.10gb", Size: 1},
					{Profile: "3g.40gb", Start: 4, Size: 4}}}}},
				Resources: []inventory.Resource{resource("nvidia.com/mig-3g.40gb", 1)}},
			fleet: measured(cell("3g.40gb", 3.0/7, "b"), cell("1g.10gb", 1.0/7)), want: []string{"11g.10gb 33g.40gb*b -3"}},
		"slices that only the resources tell of, packed": {
			node: inventory.Node{Labels: h100, Model: "NVIDIA-H100-80GB-HBM3", Resources: []inventory.Resource{
				resource("nvidia.com/mig-3g.40gb", 2, "c"), resource("nvidia.com/mig-1g.10gb", 3)}},
			want: []string{"33g.40gb?c 11g.10gb 11g.10gb -2", "33g.40gb 11g.10gb -3"}},
		"shares of a card": {
			node: inventory.Node{Labels: shared, Model: "NVIDIA-L4-SHARED",
				Cards:     inventory.Cards{Known: true, Count: 2},
				Resources: []inventory.Resource{resource("nvidia.com/gpu", 8, "d", "e")}},
			want: []string{"1?d 1?e 1 1", "1 1 1 1"}},
		"a network is no card": {
			node: inventory.Node{Labels: h100, Resources: []inventory.Resource{resource("rdma/hca", 63, "f"),
				resource("nvidia.com/gpu", 1)}}, want: []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.node.Name, c.node.Ready = "n", true
			m := fleetmap.Join(fleetmap.Sources{Inventory: inventory.Snapshot{Nodes: []inventory.Node{c.node}}, Fleet: c.fleet})
			if len(m.Nodes) != 1 {
				t.Fatalf("want the node, got %+v", m.Nodes)
			}
			got := drawn(m.Nodes[0])
			if name == "slices that only the resources tell of, packed" {
				slices.SortFunc(got, func(a, b string) int { return len(b) - len(a) })
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("cards (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGroupsAreAlike: one for each model and way in which GPUs are handed out, the largest first; nodes in the order in
// which people count; a node without GPUs is in none.
func TestGroupsAreAlike(t *testing.T) {
	node := func(name, product string, resources ...inventory.Resource) inventory.Node {
		return inventory.Node{Name: name, Ready: true, Model: product, Resources: resources,
			Labels: map[string]string{"nvidia.com/gpu.product": product}}
	}
	m := fleetmap.Join(fleetmap.Sources{Inventory: inventory.Snapshot{Nodes: []inventory.Node{node("cpu", ""),
		node("n-10", "NVIDIA-L4", resource("nvidia.com/gpu", 2)), node("n-9", "NVIDIA-L4", resource("nvidia.com/gpu", 2)),
		node("m", "NVIDIA-H100-80GB-HBM3", resource("nvidia.com/mig-1g.10gb", 7)),
		node("h", "NVIDIA-H100-80GB-HBM3", resource("nvidia.com/gpu", 8))}}})
	var got []string
	for _, g := range m.Groups {
		var names []string
		for _, i := range g.Nodes {
			names = append(names, m.Nodes[i].Name)
		}
		got = append(got, fmt.Sprint(g.Model, " ", g.Unit, " ", g.Cards, " ", strings.Join(names, ",")))
	}
	want := []string{"NVIDIA-H100-80GB-HBM3 card 8 h", "NVIDIA-L4 card 4 n-9,n-10", "NVIDIA-H100-80GB-HBM3 slice 1 m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if m.Cards != 13 {
		t.Errorf("want 13 cards, got %d", m.Cards)
	}
}

func TestChangesAreTheCardsThatLookDifferent(t *testing.T) {
	m := fleetmap.Join(fleetmap.Sources{Inventory: inventory.Snapshot{Nodes: []inventory.Node{{Name: "n", Ready: true,
		Resources: []inventory.Resource{resource("nvidia.com/gpu", 3)}}}}})
	at := -1
	rule := func(_ *fleetmap.Node, c *fleetmap.Card, _ *fleetmap.Part) fleetmap.Color {
		if c.First == at {
			return 1
		}
		return 0
	}
	before := m.Paint(rule)
	at = 1
	now := m.Paint(rule)
	if got := m.Changes(before, now, []int{0}); !slices.Equal(got, []fleetmap.Change{{Node: 0, Card: 1}}) {
		t.Errorf("want the second card, got %v", got)
	}
	if before.Version == now.Version || m.Paint(rule).Version != now.Version {
		t.Errorf("want one version for the same colors and another one for others, got %s and %s", before.Version,
			now.Version)
	}
	want := []fleetmap.Tally{{Drawn: 2, GPUs: 2}, {Drawn: 1, GPUs: 1}}
	if diff := cmp.Diff(want, m.Count(now, []int{0}, 2)); diff != "" {
		t.Errorf("cards by color (-want +got):\n%s", diff)
	}
}
