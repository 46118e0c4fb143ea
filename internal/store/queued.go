package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Queued lists, by cluster and size, how many replicas are granted and wait for a place, and which workloads got theirs
// under a lease that began after a time, once for each replica.
func (v view) Queued(ctx context.Context, placedSince time.Time) ([]request.SizeQueue, error) {
	var rows []struct {
		ID, Cluster, SizeName string
		Queued, Recent        bool
		Held, Placed          int
	}
	err := v.at(ctx).Raw(`SELECT id, cluster, size_name, state = 'queued' AS queued, lease_from >= ? AS recent,
			held_replicas AS held, placed_replicas AS placed FROM workloads
		WHERE state <> 'ended' AND desired = 'running'
		AND (state = 'queued' OR state IN ('starting', 'running') AND (lease_from >= ? OR placed_replicas < held_replicas))
		ORDER BY cluster, size_name, id`, timestampOf(placedSince), timestampOf(placedSince)).Scan(&rows).Error
	var list []request.SizeQueue
	for _, r := range rows {
		if n := len(list); n == 0 || list[n-1].Cluster != r.Cluster || list[n-1].Size != r.SizeName {
			list = append(list, request.SizeQueue{Cluster: r.Cluster, Size: r.SizeName})
		}
		line := &list[len(list)-1]
		if r.Queued {
			line.Count += r.Held
			continue
		}
		line.Count += max(0, r.Held-max(1, r.Placed))
		if r.Recent {
			for range min(r.Held, max(1, r.Placed)) {
				line.Placed = append(line.Placed, workload.ID(r.ID))
			}
		}
	}
	return list, failure(err)
}
