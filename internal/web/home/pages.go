// Package home has the start page of developers: their workloads as cards or as a list, what needs attention, and
// pending requests.
package home

import (
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/memo"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Workloads *workload.Service
	Requests  *request.Service
	Offers    *request.Offers
	Idle      *idle.Service
	Snapshots request.Snapshots

	usages memo.Memo[int64, *uses]
}
