package store

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Queued lists, by cluster and size, how many workloads are granted and wait for a place, and which got theirs under a
// lease that began after a time.
func (v view) Queued(ctx context.Context, placedSince time.Time) ([]request.SizeQueue, error) {
	var rows []struct {
		ID, Cluster, SizeName string
		Queued                bool
	}
	err := v.at(ctx).Raw(`SELECT id, cluster, size_name, state = 'queued' AS queued FROM workloads
		WHERE state <> 'ended' AND desired = 'running'
		AND (state = 'queued' OR state IN ('starting', 'running') AND lease_from >= ?)
		ORDER BY cluster, size_name, id`, timestampOf(placedSince)).Scan(&rows).Error
	var list []request.SizeQueue
	for _, r := range rows {
		if n := len(list); n == 0 || list[n-1].Cluster != r.Cluster || list[n-1].Size != r.SizeName {
			list = append(list, request.SizeQueue{Cluster: r.Cluster, Size: r.SizeName})
		}
		if line := &list[len(list)-1]; r.Queued {
			line.Count++
		} else {
			line.Placed = append(line.Placed, workload.ID(r.ID))
		}
	}
	return list, failure(err)
}
