// Package platform has the start page of administrators: GPUs allocated, used and idle, cost, and what needs somebody
// (platform_attention.go).
package platform

import (
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Workloads  *workload.Service
	Requests   *request.Service
	Budgets    *budget.Service
	Catalog    *offer.Service
	Events     audit.Reader
	Licenses   *license.Service
	Quarantine *health.Service // nil: no hardware is ever quarantined
	Metrics    blocks.Metrics
	Snapshots  request.Snapshots
	Usage      *usage.Service
	overviews  overviews
	fleetUses  fleetUses
}
