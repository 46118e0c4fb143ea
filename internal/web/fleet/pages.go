// Package fleet has the pages of the hardware: inventory (fleet.go), the map of cards and slices (map*.go, layout.go),
// who holds GPUs (holders.go, use.go), health and quarantine, licenses, state of the metrics, and differences after a
// restore.
package fleet

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/memo"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Workloads     *workload.Service
	Catalog       *offer.Service
	Drift         *drift.Service
	Licenses      *license.Service
	LicensesEvery time.Duration   // how often license servers are asked
	Quarantine    *health.Service // nil: no hardware is ever quarantined
	Metrics       blocks.Metrics
	Reports       func(cluster string) (gpumetrics.Report, bool) // how well its metrics are
	Seats         *request.SeatQueue
	Snapshots     request.Snapshots
	maps          *mapsCache
	nodes         *inventory.Once[nodesOf]
	holders       *memo.Memo[int64, seatHolders]
}

// New makes the pages of the fleet.
func New(p Pages) *Pages {
	p.maps, p.nodes, p.holders = newMapsCache(), &inventory.Once[nodesOf]{}, &memo.Memo[int64, seatHolders]{}
	return &p
}
