package capacity

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

func TestIsolationIsNeverBetterThanTheNodesSay(t *testing.T) {
	const product = "nvidia.com/gpu.product"
	card := func(labels map[string]string) inventory.Node {
		l := map[string]string{product: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "1",
			"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/mps.capable": "false",
			"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.capable": "true", "nvidia.com/vgpu.present": "false"}
		for k, v := range labels {
			l[k] = v
		}
		return inventory.Node{Name: "n", Ready: true, Model: l[product], Labels: l,
			Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 1, Allocatable: 1}}}
	}
	whole := catalog.Size{Technology: catalog.Full, Isolation: catalog.IsolationHard,
		Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu"}}
	with := func(change func(*catalog.Size)) catalog.Size {
		s := whole
		change(&s)
		return s
	}
	shared := map[string]string{"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.replicas": "4"}
	empty := card(shared)
	empty.Resources = nil
	bare := card(nil)
	bare.Labels = map[string]string{product: bare.Model, "nvidia.com/gpu.count": "1"}
	for name, c := range map[string]struct {
		nodes []inventory.Node
		size  catalog.Size
		want  catalog.Isolation
	}{
		"no node says anything":      {nil, whole, catalog.IsolationHard},
		"the nodes agree":            {[]inventory.Node{card(nil), card(nil)}, whole, catalog.IsolationHard},
		"one node shares its card":   {[]inventory.Node{card(nil), card(shared)}, whole, catalog.IsolationUnknown},
		"a node that has none of it": {[]inventory.Node{card(nil), empty}, whole, catalog.IsolationHard},
		"a node that is not chosen": {[]inventory.Node{card(nil), card(shared)}, with(func(s *catalog.Size) {
			s.Placement.NodeSelector = map[string]string{"nvidia.com/gpu.sharing-strategy": "none"}
		}), catalog.IsolationHard},
		"labels of an older version": {[]inventory.Node{bare}, whole, catalog.IsolationHard},
		"the catalog promises less": {[]inventory.Node{card(nil)},
			with(func(s *catalog.Size) { s.Isolation = catalog.IsolationNone }), catalog.IsolationNone},
		"nothing is promised, and the labels contradict themselves": {[]inventory.Node{card(map[string]string{
			"nvidia.com/gpu.sharing-strategy": "time-slicing"})}, with(func(s *catalog.Size) {
			s.Technology, s.Isolation = catalog.TimeSlicing, catalog.IsolationNone
		}), catalog.IsolationNone},
		"the catalog does not know": {[]inventory.Node{card(nil)},
			with(func(s *catalog.Size) { s.Isolation = catalog.IsolationUnknown }), catalog.IsolationUnknown},
		"labels do not tell of claims": {[]inventory.Node{card(shared)},
			with(func(s *catalog.Size) { s.Technology, s.Accelerator.Resource = catalog.DRA, "" }), catalog.IsolationHard},
		"others say it themselves": {[]inventory.Node{card(shared)},
			with(func(s *catalog.Size) { s.Technology, s.Isolation = "hami", catalog.IsolationMemory }),
			catalog.IsolationMemory},
		"a layout that is changing": {[]inventory.Node{card(map[string]string{"nvidia.com/mig.config.state": "pending"})},
			whole, catalog.IsolationUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Isolation(inventory.Snapshot{Nodes: c.nodes}, c.size); got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
		})
	}
}
