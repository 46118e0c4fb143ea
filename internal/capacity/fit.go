package capacity

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Fit counts how many of a size exist on nodes that may take it, and how many could start now. It looks at what the
// scheduler looks at: node labels, taints, cordons, readiness, free devices, CPU and memory.
//
// It is not Known where the numbers would mean nothing: of technologies that nodes do not count, of claims for classes
// that are not known. Claims are given out one after another as the scheduler does; another order might fit one more.
//
// A node whose CPU or memory ends before its devices do has as many as CPU and memory allow: what cannot start does not
// exist for a person.
func Fit(s inventory.Snapshot, size catalog.Size) inventory.Fit {
	n, ok := requirementsOf(size)
	if !ok || n.uncountable {
		return inventory.Fit{}
	}
	fit := inventory.Fit{Known: true}
	if s.Cluster != "" && !size.OfferedOn(s.Cluster) {
		return fit
	}
	for i := range s.Nodes {
		total, free := fitNode(&s.Nodes[i], n, size.Placement)
		fit.Total += total
		fit.Free += free
	}
	return fit
}

// WithoutQuarantined are the nodes that could take one of a size now if an administrator had not quarantined them, or
// all of their cards; where a size is on quarantined nodes only, those as well that are full.
func WithoutQuarantined(s inventory.Snapshot, size catalog.Size) []string {
	n, ok := requirementsOf(size)
	if !ok || n.uncountable || s.Cluster != "" && !size.OfferedOn(s.Cluster) {
		return nil
	}
	var open, full []string
	others := 0
	for i := range s.Nodes {
		node := s.Nodes[i]
		if !node.Quarantined {
			total, _ := fitNode(&node, n, size.Placement)
			others += total
			continue
		}
		node.Quarantined, node.Resources = false, slices.Clone(node.Resources)
		for j := range node.Resources {
			node.Resources[j].Quarantined = 0
		}
		switch total, free := fitNode(&node, n, size.Placement); {
		case free > 0:
			open = append(open, node.Name)
		case total > 0:
			full = append(full, node.Name)
		}
	}
	if len(open) == 0 && others == 0 {
		return full
	}
	return open
}

func fitNode(node *inventory.Node, n requirements, place catalog.Placement) (total, free int) {
	if !node.Usable() || !selectsNode(place, node.Labels) || !tolerates(place.Tolerations, node.Taints) {
		return 0, 0
	}
	all := min(node.CPU.Allocatable/n.milliCPU, node.Memory.Allocatable/n.bytes)
	now := min(node.CPU.Free()/n.milliCPU, node.Memory.Free()/n.bytes)
	for name, count := range n.resources {
		devices := nodeResource(node, name)
		all, now = min(all, devices.Usable()/count), min(now, devices.Free()/count)
	}
	if n.claim == nil || all <= 0 {
		return int(max(0, all)), int(max(0, now))
	}
	a, ok := allocatorFor(node, n.claim)
	if !ok {
		return 0, 0
	}
	return int(a.count(true, all)), int(a.count(false, max(0, now)))
}

// Freed is what a workload of a size gives back of its node's CPU and memory; nothing where the size cannot be read.
func Freed(size catalog.Size) inventory.Freed {
	n, ok := requirementsOf(size)
	if !ok {
		return inventory.Freed{}
	}
	return inventory.Freed{MilliCPU: n.milliCPU, Bytes: n.bytes}
}
