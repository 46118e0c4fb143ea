// Package start is where a workload is asked for: the form, its summary, and which size fits a model.
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
