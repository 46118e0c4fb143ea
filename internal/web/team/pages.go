// Package team has the pages of a team: members, images, quota and requests for more, working hours, shared volumes;
// and one's own storage (storage.go, volume_own.go).
package team

import (
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Tenants   *tenant.Service
	Workloads *workload.Service
	Requests  *request.Service
	Offers    *request.Offers
	Quotas    *request.Quotas
}
