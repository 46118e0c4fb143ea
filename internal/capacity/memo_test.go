package capacity_test

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

func TestMemoAnswersOfTheSnapshotAndTheSizeThatAreAskedAbout(t *testing.T) {
	var memo capacity.Memo
	nodes := func(free int64) inventory.Snapshot {
		return inventory.Snapshot{Cluster: "local", Nodes: []inventory.Node{{Name: "n", Ready: true,
			CPU: inventory.Amount{Allocatable: 64_000}, Memory: inventory.Amount{Allocatable: 1 << 40},
			Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 8, Allocatable: free}}}}}
	}
	size := catalog.Size{Name: "full", Technology: catalog.Full, Isolation: catalog.IsolationHard, CPU: "1", Memory: "1Gi",
		Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Count: 1}}
	two := size
	two.Accelerator.Count = 2
	three := size
	three.Accelerator.Extra = map[string]string{"rdma/hca_a": "1"} // which no node has
	first := nodes(4)
	for range 2 {
		for _, s := range []inventory.Snapshot{first, nodes(2), {Cluster: "local"}} {
			for _, z := range []catalog.Size{size, two, three} {
				if want, got := capacity.Fit(s, z), memo.Fit(s, z); want != got {
					t.Errorf("%d of %d: want %+v, got %+v", z.Accelerator.Count, len(s.Nodes), want, got)
				}
				if want, got := capacity.Isolation(s, z), memo.Isolation(s, z); want != got {
					t.Errorf("isolation: want %s, got %s", want, got)
				}
				if want, got := capacity.Why(s, z).ID, memo.Why(s, z).ID; want != got {
					t.Errorf("why: want %s, got %s", want, got)
				}
			}
		}
	}
	if capacity.Fit(first, size) == capacity.Fit(first, two) || capacity.Fit(first, size) == capacity.Fit(first, three) {
		t.Error("the sizes do not differ, so that nothing was compared")
	}
}
