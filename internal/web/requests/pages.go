// Package requests has the pages of approvals: the asker's requests (requests.go, edit.go), the approver's inbox with
// decisions one by one, in bulk and undone (approvals*.go, undo.go), reassignment and delegations.
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
