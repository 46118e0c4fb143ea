package capacity

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

func TestWhyNoneCouldStart(t *testing.T) {
	full := func(n *inventory.Node) { n.Resources[0].Holders = []inventory.Holder{{Count: 7}} }
	cards := func(change func(*inventory.Device)) inventory.Node {
		n := machine("n1", nil, nil)
		n.Devices = []inventory.Device{dra(0, change), dra(1, change)}
		return n
	}
	claim := claiming(catalog.DeviceRequest{Name: "gpu", DeviceClass: "gpu.nvidia.com"})
	cases := map[string]struct {
		nodes []inventory.Node
		size  catalog.Size
		want  i18n.Text
	}{
		"some could":   {[]inventory.Node{node()}, size(), i18n.Text{}},
		"all are held": {[]inventory.Node{node(full)}, size(), i18n.T("capacity.all_held", "Count", 7)},
		"processors are taken": {[]inventory.Node{node(func(n *inventory.Node) { n.CPU.Requested = 64_000 })}, size(),
			i18n.T("capacity.short_cpu", "Count", 4)},
		"memory is taken": {[]inventory.Node{node(func(n *inventory.Node) { n.Memory.Requested = 512 << 30 })},
			size(), i18n.T("capacity.short_memory", "Count", 4)},
		"the node is cordoned": {[]inventory.Node{node(func(n *inventory.Node) { n.Cordoned = true })}, size(),
			i18n.T("capacity.closed", "Count", 4)},
		"the node does not answer": {[]inventory.Node{node(func(n *inventory.Node) { n.Ready = false })}, size(),
			i18n.T("capacity.closed", "Count", 4)},
		"one full, one closed": {[]inventory.Node{node(full), node(func(n *inventory.Node) { n.Cordoned = true })},
			size(), i18n.T("capacity.closed", "Count", 4)},
		"one closed, one free": {[]inventory.Node{node(), node(func(n *inventory.Node) { n.Cordoned = true })}, size(),
			i18n.Text{}},
		"it is nowhere": {[]inventory.Node{machine("cpu", nil, nil)}, size(), i18n.T("capacity.no_resource")},
		"all devices are ill": {[]inventory.Node{node(func(n *inventory.Node) { n.Resources[0].Allocatable = 0 })},
			size(), i18n.T("capacity.ill")},
		"another cluster's": {[]inventory.Node{node()},
			size(func(s *catalog.Size) { s.Clusters = []string{"other"} }), i18n.T("capacity.elsewhere")},
		"another scheduler's": {[]inventory.Node{node()}, size(func(s *catalog.Size) { s.Technology = "kai" }),
			i18n.T("capacity.not_counted")},
		"unreadable": {[]inventory.Node{node()}, size(func(s *catalog.Size) { s.CPU = "?" }),
			i18n.T("capacity.not_known")},
		"every card has a claim": {[]inventory.Node{cards(func(d *inventory.Device) { d.Claim = "a/b" })}, claim,
			i18n.T("capacity.all_held", "Count", 2)},
		"a card has none": {[]inventory.Node{cards(func(*inventory.Device) {})}, claim, i18n.Text{}},
		"no processors for CPU alone": {[]inventory.Node{machine("n", nil, nil, func(n *inventory.Node) {
			n.CPU.Requested = 192_000
		})}, catalog.Size{Technology: catalog.CPUOnly, CPU: "1", Memory: "1Gi"}, i18n.T("capacity.all_held", "Count", 192)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := inventory.Snapshot{Cluster: "main", Nodes: c.nodes}
			got := Why(s, c.size)
			if got.ID != c.want.ID || c.want.Args["Count"] != got.Args["Count"] {
				t.Errorf("want %v, got %v", c.want, got)
			}
			if fit := Fit(s, c.size); fit.Known && (fit.Free > 0) != got.IsZero() {
				t.Errorf("Fit says %+v, Why says %v", fit, got)
			}
		})
	}
}
