// Package search has global search: pages of the navigation, actions, workloads, requests, teams, people, nodes, sizes
// and documents that the reader may see (find.go), in order of relevance (rank.go). The page and the command palette
// show the same results.
package search

import (
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Snapshots request.Snapshots
	Tenants   *tenant.Service
	lower     inventory.Once[lowerNodes]
}
