// Package cost is use and money: statements, demand, reconciliation with the fleet, budgets, prices.
package cost

import (
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Usage     *usage.Service
	Prices    *usage.Prices
	Budgets   *budget.Service
	Workloads *workload.Service
}
