package inventory_test

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// TestWhatIsMadeOfASnapshotIsMadeOnce: while it is the same one, for each cluster, and for the same of what else it
// depends on.
func TestWhatIsMadeOfASnapshotIsMadeOnce(t *testing.T) {
	t.Parallel()
	var o inventory.Once[int]
	made := 0
	of := func(s inventory.Snapshot, with any) int {
		return o.Of(s, with, func() int { made++; return made })
	}
	one := inventory.Snapshot{Cluster: "a", Nodes: []inventory.Node{{Name: "n-1"}, {Name: "n-2"}}}
	other, again := one, one
	other.Cluster = "b"
	again.Nodes = append([]inventory.Node{}, one.Nodes...)
	fewer := again
	fewer.Nodes = again.Nodes[:1]
	for i, c := range []struct {
		s    inventory.Snapshot
		with any
		want int
	}{{one, nil, 1}, {one, nil, 1}, {other, nil, 2}, {one, nil, 1}, {one, "catalog", 3}, {one, "catalog", 3},
		{again, "catalog", 4}, {fewer, "catalog", 5}, {inventory.Snapshot{Cluster: "a"}, nil, 6},
		{inventory.Snapshot{Cluster: "a"}, nil, 7}} {
		if got := of(c.s, c.with); got != c.want {
			t.Errorf("%d: want %d, got %d", i, c.want, got)
		}
	}
}
