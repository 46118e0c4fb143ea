package capacity

import (
	"math"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Why says in a sentence why none of a size could start now, or why that cannot be told. It is zero when some could.
// Where several things are in the way it names the one that somebody can do most about: processors beside free devices,
// then nodes that are closed, then waiting.
func Why(s inventory.Snapshot, size catalog.Size) i18n.Text {
	n, ok := requirementsOf(size)
	switch {
	case !ok:
		return i18n.T("capacity.not_known")
	case n.uncountable:
		return i18n.T("capacity.not_counted")
	case s.Cluster != "" && !size.OfferedOn(s.Cluster):
		return i18n.T("capacity.elsewhere")
	}
	var t tally
	for i := range s.Nodes {
		t.add(&s.Nodes[i], n, size.Placement)
	}
	switch {
	case t.now > 0:
		return i18n.Text{}
	case t.noCPU > 0:
		return i18n.T("capacity.short_cpu", "Count", int(t.noCPU))
	case t.noMemory > 0:
		return i18n.T("capacity.short_memory", "Count", int(t.noMemory))
	case t.closed > 0:
		return i18n.T("capacity.closed", "Count", int(t.closed))
	case t.total > 0:
		return i18n.T("capacity.all_held", "Count", int(t.total))
	}
	if never := neverReason(&s, size); !never.IsZero() {
		return never
	}
	return i18n.T("capacity.ill")
}

// tally counts workloads that a size has devices for, by what keeps them.
type tally struct{ now, noCPU, noMemory, closed, total int64 }

func (t *tally) add(node *inventory.Node, n requirements, place catalog.Placement) {
	if !selectsNode(place, node.Labels) || !tolerates(place.Tolerations, persistentTaints(node.Taints)) {
		return
	}
	all, now, ok := devices(node, n)
	if !ok {
		return
	}
	if !node.Usable() || !tolerates(place.Tolerations, node.Taints) {
		t.closed += min(now, node.CPU.Free()/n.milliCPU, node.Memory.Free()/n.bytes)
		return
	}
	cpu, memory := node.CPU.Free()/n.milliCPU, node.Memory.Free()/n.bytes
	t.now += min(now, cpu, memory)
	t.total += min(all, node.CPU.Allocatable/n.milliCPU, node.Memory.Allocatable/n.bytes)
	switch {
	case now == math.MaxInt32: // no devices are asked for: that processors are taken is no shortage beside something
	case cpu < now && cpu <= memory:
		t.noCPU += now - cpu
	case memory < now:
		t.noMemory += now - memory
	}
}

// devices says for how many workloads a node has devices, and for how many now; more than anyone asks for where none
// are needed.
func devices(node *inventory.Node, n requirements) (all, now int64, ok bool) {
	all, now = math.MaxInt32, math.MaxInt32
	for name, count := range n.resources {
		r := nodeResource(node, name)
		all, now = min(all, r.Usable()/count), min(now, r.Free()/count)
	}
	if n.claim == nil {
		return all, now, true
	}
	a, ok := allocatorFor(node, n.claim)
	if !ok {
		return 0, 0, false
	}
	return a.count(true, min(all, int64(len(node.Devices)))), a.count(false, min(now, int64(len(node.Devices)))), true
}
