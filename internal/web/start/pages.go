// Package start has the form with which a workload is requested: size, image or model, team, lease, storage, secrets;
// its live summary (summary.go: the preview of the decision); and sizing (sizing.go: which size fits a model).
package start

import (
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Requests  *request.Service
	Offers    *request.Offers
	Workloads *workload.Service
	Secrets   *secret.Service
	Snapshots request.Snapshots
}
