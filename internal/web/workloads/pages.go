// Package workloads has the pages of one workload: overview and lease (workload.go, change.go), metrics, logs, events
// and history, versions and replicas of an endpoint, its keys and traffic, schedule, sharing, advice on its size.
package workloads

import (
	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Workloads  *workload.Service
	Requests   *request.Service
	Keys       *endpointkey.Service
	Traffic    *traffic.Service
	Seats      *request.SeatQueue
	Advice     *advice.Service
	Idle       *idle.Service
	Quarantine *health.Service // nil: no hardware is ever quarantined
	Notify     *notify.Service
	Prices     *usage.Prices
	Metrics    blocks.Metrics
	Logs       Logs
	Terminals  *terminal.Service
	Tunnels    tunnel.Rules
	PortalURL  string
	Try        Tries
}
