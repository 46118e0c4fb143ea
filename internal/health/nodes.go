package health

import (
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// NodeIndex is what an inventory tells of which node a series of a card is of.
func NodeIndex(s inventory.Snapshot) gpumetrics.NodeIndex {
	x := gpumetrics.NewNodeIndex()
	for _, n := range s.Nodes {
		x.AddNode(n.Name, n.Addresses...)
		for _, e := range n.Exporters {
			x.AddExporter(n.Name, gpumetrics.Pod{Namespace: e.Namespace, Name: e.Pod}, e.Address)
		}
		for _, r := range n.Resources {
			addHolders(x, n.Name, r.Holders)
		}
		for _, d := range n.Devices {
			addHolders(x, n.Name, d.Holders)
			x.AddCard(n.Name, d.CardOf(), d.Bus())
		}
		for _, c := range n.Cards.Each {
			x.AddCard(n.Name, c.UUID, c.Bus)
		}
	}
	return x
}

func addHolders(x gpumetrics.NodeIndex, node string, holders []inventory.Holder) {
	for _, h := range holders {
		x.AddHolder(node, gpumetrics.Pod{Namespace: h.Namespace, Name: h.Pod})
	}
}
