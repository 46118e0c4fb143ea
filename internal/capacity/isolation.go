package capacity

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// byLabels are the technologies of which a node's labels tell how a resource is shared out.
var byLabels = []catalog.Technology{catalog.Full, catalog.Passthrough, catalog.MIG, catalog.VGPU, catalog.TimeSlicing,
	catalog.MPS}

// Isolation is what a person may be told of a size: what the catalog says, unless some node that the size may run on
// says less, or contradicts itself. Then it is unknown, for nobody can tell on which node a pod will land; it is never
// better than what the catalog says, and of a size without any there is nothing to doubt. Nodes without any of the
// resource say nothing.
func Isolation(s inventory.Snapshot, size catalog.Size) catalog.Isolation {
	resource := size.Accelerator.Resource
	if size.Isolation == catalog.IsolationUnknown || size.Isolation == catalog.IsolationNone ||
		!strings.HasPrefix(resource, "nvidia.com/") || !slices.Contains(byLabels, size.Technology) {
		return size.Isolation
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if nodeResource(node, resource).Capacity <= 0 || !selectsNode(size.Placement, node.Labels) ||
			!tolerates(size.Placement.Tolerations, persistentTaints(node.Taints)) {
			continue
		}
		if !inventory.Confirms(*node, resource, size.Isolation) {
			return catalog.IsolationUnknown
		}
	}
	return size.Isolation
}
