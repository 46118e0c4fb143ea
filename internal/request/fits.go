package request

import (
	"context"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// fits remembers how many of a size the last snapshot of a cluster has room for: every offer asks it, and the answer
// changes only with the snapshot. Decisions do not come here. The zero value is ready.
type fits struct {
	mu       sync.Mutex
	clusters map[string]fitsOf
}

// fitsOf is what was counted on one snapshot. A snapshot is known by where its nodes are, a size by where the catalog
// has it: both are values that nobody changes, and holding them keeps their places from being used again.
type fitsOf struct {
	nodes  *inventory.Node
	bySize map[*catalog.Size]room
}

// room is how many of a size fit, and why none could start now.
type room struct {
	inventory.Fit
	why       i18n.Text
	isolation catalog.Isolation // as it may be told; "" while no snapshot of the cluster is there
}

func roomFor(s inventory.Snapshot, size catalog.Size) room {
	r := room{Fit: capacity.Fit(s, size), isolation: capacity.Isolation(s, size)}
	if r.Free == 0 {
		r.why = capacity.Why(s, size)
	}
	return r
}

// of reads each cluster's snapshot once and answers for any size of a catalog.
func (f *fits) of(ctx context.Context, from Snapshots) func(cluster string, size *catalog.Size) room {
	type read struct {
		snapshot inventory.Snapshot
		ok       bool
	}
	snapshots := map[string]read{}
	return func(cluster string, size *catalog.Size) room {
		s, known := snapshots[cluster]
		if !known {
			s.snapshot, s.ok = from.Snapshot(ctx, cluster)
			snapshots[cluster] = s
		}
		if !s.ok {
			return room{}
		}
		return f.fit(s.snapshot, cluster, size)
	}
}

func (f *fits) fit(s inventory.Snapshot, cluster string, size *catalog.Size) room {
	if len(s.Nodes) == 0 {
		return roomFor(s, *size)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.clusters[cluster]
	if known.nodes != &s.Nodes[0] {
		known = fitsOf{nodes: &s.Nodes[0], bySize: map[*catalog.Size]room{}}
		if f.clusters == nil {
			f.clusters = map[string]fitsOf{}
		}
		f.clusters[cluster] = known
	}
	r, ok := known.bySize[size]
	if !ok {
		r = roomFor(s, *size)
		known.bySize[size] = r
	}
	return r
}
