package api

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// TestLeftOverResourcesAreFlagged: what a former layout left on a node is listed, with a flag, and is never free.
func TestLeftOverResourcesAreFlagged(t *testing.T) {
	v := clusterView(inventory.Snapshot{Nodes: []inventory.Node{{Name: "gpu-01", Ready: true,
		Resources: []inventory.Resource{
			{Name: "nvidia.com/mig-1g.10gb", Capacity: 1, LeftOver: true},
			{Name: "nvidia.com/mig-2g.20gb", Capacity: 3, Allocatable: 3}}}}}, nil, nil)
	list := v.Nodes[0].Resources
	if len(list) != 2 || !list[0].LeftOver || list[0].Free != 0 || list[1].LeftOver || list[1].Free != 3 {
		t.Errorf("want the first one left over and the second one free, got %+v", list)
	}
}
