package store

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// Queued counts the workloads that are granted and wait for a place, by cluster and size.
func (v view) Queued(ctx context.Context) ([]request.Line, error) {
	rows,
		err := v.at(ctx).Raw(
		`SELECT cluster, size_name, count(*) FROM workloads WHERE state <> 'ended' AND state = 'queued' AND desired = 'running' GROUP BY cluster, size_name`).Rows()
	if err != nil {
		return nil, failure(err)
	}
	defer rows.Close()
	var list []request.Line
	for rows.Next() {
		var l request.Line
		if err := rows.Scan(&l.Cluster, &l.Size, &l.Count); err != nil {
			return nil, failure(err)
		}
		list = append(list, l)
	}
	return list, failure(rows.Err())
}
