// Package cost has the pages of usage and money: statements (usage.go), cost by day and spender, utilization by hour
// (heat.go), unmet demand, reconciliation with the fleet, budgets with their burn-down, prices.
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
