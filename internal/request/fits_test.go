package request

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

func TestFitsFollowThePicture(t *testing.T) {
	snapshot := func(cards int64) inventory.Snapshot {
		return inventory.Snapshot{Cluster: "c", Nodes: []inventory.Node{{Name: "n", Ready: true,
			CPU: inventory.Amount{Allocatable: 64_000}, Memory: inventory.Amount{Allocatable: 1 << 40},
			Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: cards, Allocatable: cards}}}}}
	}
	sizes := []catalog.Size{
		{Name: "one", Technology: catalog.Full, CPU: "1", Memory: "1Gi",
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Count: 1}},
		{Name: "two", Technology: catalog.Full, CPU: "1", Memory: "1Gi",
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Count: 2}},
	}
	var f fits
	now := inventory.Snapshot{}
	from := snapshotOf(func() (inventory.Snapshot, bool) { return now, now.Cluster != "" })
	if got := f.of(context.Background(), from)("c", &sizes[0]); got.Known {
		t.Errorf("want nothing known without a snapshot, got %+v", got)
	}
	for _, cards := range []int64{8, 3, 3, 0} {
		now = snapshot(cards)
		for range 2 {
			fitted := f.of(context.Background(), from)
			for i := range sizes {
				if got, want := fitted("c", &sizes[i]), capacity.Fit(now, sizes[i]); got.Fit != want {
					t.Errorf("%d cards, size %s: want %+v, got %+v", cards, sizes[i].Name, want, got)
				} else if got.why.IsZero() != (want.Free > 0) {
					t.Errorf("%d cards, size %s: want a reason where none could start, got %v", cards, sizes[i].Name, got.why)
				}
			}
		}
	}
}

type snapshotOf func() (inventory.Snapshot, bool)

func (s snapshotOf) Snapshot(context.Context, string) (inventory.Snapshot, bool) { return s() }
