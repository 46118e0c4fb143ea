// Package requests is what waits for a decision: the asker's requests, the approver's list and decisions, delegations.
package requests

import (
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Requests    *request.Service
	Approvals   *request.Approvals
	Quotas      *request.Quotas
	Seats       *request.SeatQueue
	Delegations *delegation.Service
	Snapshots   request.Snapshots
	Usage       *usage.Service
	Workloads   *workload.Service
}
