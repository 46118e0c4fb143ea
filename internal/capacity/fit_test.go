package capacity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

const slice = "nvidia.com/mig-1g.10gb"

// node has seven slices, of which three are held, and room for all of them.
func node(change ...func(*inventory.Node)) inventory.Node {
	n := inventory.Node{
		Name: "n1", Ready: true, Labels: map[string]string{"nvidia.com/gpu.product": "H100"},
		Taints: []inventory.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}},
		Resources: []inventory.Resource{{Name: slice, Capacity: 7, Allocatable: 7, Holders: []inventory.Holder{{Count: 2},
			{Count: 1}}}},
		CPU: inventory.Amount{Allocatable: 64_000, Requested: 12_000}, Memory: inventory.Amount{Allocatable: 512 << 30,
			Requested: 48 << 30},
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func size(change ...func(*catalog.Size)) catalog.Size {
	s := catalog.Size{
		Name: "slice", Technology: catalog.MIG, CPU: "4", Memory: "16Gi", Accelerator: catalog.Accelerator{Resource: slice},
		Placement: catalog.Placement{
			NodeSelector: map[string]string{"nvidia.com/gpu.product": "H100"},
			Tolerations:  []catalog.Toleration{{Key: "nvidia.com/gpu", Operator: "Exists", Effect: "NoSchedule"}},
		},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func TestFit(t *testing.T) {
	onNode := func(c func(*inventory.Node)) []inventory.Node { return []inventory.Node{node(c)} }
	cases := map[string]struct {
		nodes []inventory.Node
		size  catalog.Size
		want  inventory.Fit
	}{
		"what is not held is free": {[]inventory.Node{node()}, size(),
			inventory.Fit{Total: 7, Free: 4, Known: true}},
		"nodes add up": {[]inventory.Node{node(), node()}, size(),
			inventory.Fit{Total: 14, Free: 8, Known: true}},
		"no nodes": {nil, size(), inventory.Fit{Known: true}},
		"not ready": {onNode(func(n *inventory.Node) { n.Ready = false }), size(),
			inventory.Fit{Known: true}},
		"cordoned": {onNode(func(n *inventory.Node) { n.Cordoned = true }), size(),
			inventory.Fit{Known: true}},
		"another product": {onNode(func(n *inventory.Node) { n.Labels = nil }), size(),
			inventory.Fit{Known: true}},
		"a label with an empty value counts": {onNode(func(n *inventory.Node) { n.Labels["pool"] = "" }),
			size(func(s *catalog.Size) { s.Placement.NodeSelector["pool"] = "" }),
			inventory.Fit{Total: 7, Free: 4, Known: true}},
		"an absent label is not an empty one": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Placement.NodeSelector["pool"] = "" }),
			inventory.Fit{Known: true}},
		"a taint that nobody bears": {onNode(func(n *inventory.Node) {
			n.Taints = append(n.Taints, inventory.Taint{Key: "maintenance", Effect: "NoExecute"})
		}), size(), inventory.Fit{Known: true}},
		"a toleration for another effect": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Placement.Tolerations[0].Effect = "NoExecute" }), inventory.Fit{Known: true}},
		"a toleration for any effect": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Placement.Tolerations[0].Effect = "" }),
			inventory.Fit{Total: 7, Free: 4, Known: true}},
		"a toleration for the value": {[]inventory.Node{node()}, size(func(s *catalog.Size) {
			s.Placement.Tolerations[0] = catalog.Toleration{Key: "nvidia.com/gpu", Operator: "Equal", Value: "present"}
		}), inventory.Fit{Total: 7, Free: 4, Known: true}},
		"a toleration for another value": {[]inventory.Node{node()}, size(func(s *catalog.Size) {
			s.Placement.Tolerations[0] = catalog.Toleration{Key: "nvidia.com/gpu", Operator: "Equal", Value: "other"}
		}), inventory.Fit{Known: true}},
		"an operator that is not told means Exists": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Placement.Tolerations[0].Operator = "" }),
			inventory.Fit{Total: 7, Free: 4, Known: true}},
		"no such resource": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Accelerator.Resource = "nvidia.com/gpu" }), inventory.Fit{Known: true}},
		"several at once": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Accelerator.Count = 3 }), inventory.Fit{Total: 2, Free: 1, Known: true}},
		"several do not come from two nodes": {[]inventory.Node{node(), node()},
			size(func(s *catalog.Size) { s.Accelerator.Count = 5 }), inventory.Fit{Total: 2, Free: 0, Known: true}},
		"unhealthy devices do not count": {onNode(func(n *inventory.Node) { n.Resources[0].Allocatable = 4 }), size(),
			inventory.Fit{Total: 4, Free: 1, Known: true}},
		"more held than there is": {onNode(func(n *inventory.Node) { n.Resources[0].Allocatable = 2 }), size(),
			inventory.Fit{Total: 2, Free: 0, Known: true}},
		"no processors left": {onNode(func(n *inventory.Node) { n.CPU.Requested = 57_000 }), size(),
			inventory.Fit{Total: 7, Free: 1, Known: true}},
		"processors overcommitted": {onNode(func(n *inventory.Node) { n.CPU.Requested = 90_000 }), size(),
			inventory.Fit{Total: 7, Free: 0, Known: true}},
		"memory ends first": {onNode(func(n *inventory.Node) { n.Memory.Requested = 512<<30 - 33<<30 }), size(),
			inventory.Fit{Total: 7, Free: 2, Known: true}},
		"a node too small for one": {onNode(func(n *inventory.Node) { n.Memory.Allocatable = 8 << 30 }), size(),
			inventory.Fit{Known: true}},
		"CPU only": {[]inventory.Node{node()}, size(func(s *catalog.Size) {
			s.Technology, s.Accelerator = catalog.CPUOnly,
				catalog.Accelerator{}
		}),
			inventory.Fit{Total: 16, Free: 13, Known: true}},
		"not offered on this cluster": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Clusters = []string{"other"} }), inventory.Fit{Known: true}},
		"a claim cannot be counted": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Technology, s.Accelerator.Resource = catalog.DRA, "" }), inventory.Fit{}},
		"an unreadable quantity": {[]inventory.Node{node()}, size(func(s *catalog.Size) { s.CPU = "four" }), inventory.Fit{}},
		"a quantity of zero":     {[]inventory.Node{node()}, size(func(s *catalog.Size) { s.CPU = "0" }), inventory.Fit{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Fit(inventory.Snapshot{Cluster: "main", Nodes: c.nodes}, c.size)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// oracle places workloads one by one, as a scheduler would, until none fits.
func oracle(nodes []inventory.Node, s catalog.Size, empty bool) int {
	const cpu, memory = 4_000, 16 << 30
	placed := 0
	for _, n := range nodes {
		if !n.Ready || n.Cordoned || n.Labels["nvidia.com/gpu.product"] != "H100" {
			continue
		}
		c, m, d := n.CPU.Allocatable, n.Memory.Allocatable, int64(0)
		for _, r := range n.Resources {
			if r.Name != slice {
				continue
			}
			d = r.Allocatable
			for _, h := range r.Holders {
				if !empty {
					d -= h.Count
				}
			}
		}
		if !empty {
			c, m = c-n.CPU.Requested, m-n.Memory.Requested
		}
		for c >= cpu && m >= memory && d >= int64(s.Devices()) {
			c, m, d = c-cpu, m-memory, d-int64(s.Devices())
			placed++
		}
	}
	return placed
}

func TestFitAgreesWithPlacingOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2_000 {
		var nodes []inventory.Node
		for range r.IntN(4) {
			nodes = append(nodes, node(func(n *inventory.Node) {
				n.Ready, n.Cordoned = r.IntN(8) > 0, r.IntN(8) == 0
				if r.IntN(6) == 0 {
					n.Labels["nvidia.com/gpu.product"] = "A100"
				}
				n.Resources[0].Allocatable = r.Int64N(9)
				n.Resources[0].Holders = []inventory.Holder{{Count: r.Int64N(4)}, {Count: r.Int64N(4)}}
				n.CPU = inventory.Amount{Allocatable: r.Int64N(40_000), Requested: r.Int64N(40_000)}
				n.Memory = inventory.Amount{Allocatable: r.Int64N(160 << 30), Requested: r.Int64N(160 << 30)}
			}))
		}
		s := size(func(s *catalog.Size) { s.Accelerator.Count = r.IntN(4) })
		want := inventory.Fit{Total: oracle(nodes, s, true), Free: oracle(nodes, s, false), Known: true}
		got := Fit(inventory.Snapshot{Nodes: nodes}, s)
		if got != want {
			t.Fatalf("round %d: want %+v, got %+v for %+v", i, want, got, nodes)
		}
		if got.Free > got.Total {
			t.Fatalf("round %d: more free than there is: %+v", i, got)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	var nodes []inventory.Node
	for i := range 1_000 {
		nodes = append(nodes, node(func(n *inventory.Node) { n.Name = fmt.Sprintf("n%d", i) }))
	}
	snapshot, s := inventory.Snapshot{Nodes: nodes}, size()
	for b.Loop() {
		Fit(snapshot, s)
	}
}
