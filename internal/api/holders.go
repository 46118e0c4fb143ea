package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// GPUHolder is a workload that holds GPUs now.
type GPUHolder struct {
	Workload    string    `json:"workload"`
	Name        string    `json:"name"`
	Tenant      string    `json:"tenant"`
	Owner       string    `json:"owner"`
	Size        string    `json:"size"`
	Cluster     string    `json:"cluster"`
	Node        string    `json:"node"`
	Since       time.Time `json:"since" doc:"Of this run"`
	WindowHours float64   `json:"windowHours" doc:"How far back use and money are looked at"`
	MeanUse     *float64  `json:"meanUsePercent" doc:"Of the window, as far as it is known; null where nobody knows, as for a share of a card"`
	KnownHours  float64   `json:"knownHours" doc:"Of the window, for how long the use is known"`
	Money       Money     `json:"money" doc:"Of the window"`
	Unused      *Money    `json:"unused" doc:"The part of it that went for nothing: at a mean use of 30 per cent, 70 per cent; null where the use is unknown"`
}

func (a *API) holders(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[GPUHolder]], error) {
	all, err := holders.Service{Workloads: a.deps.Workloads, Metrics: a.deps.Metrics, Now: a.deps.Now}.List(ctx, actor)
	if err != nil {
		return nil, err
	}
	views := make([]GPUHolder, len(all))
	for i, h := range all {
		views[i] = gpuHolderView(h)
	}
	return reply(list(views, ""), nil)
}

func gpuHolderView(h holders.Holder) GPUHolder {
	v := GPUHolder{Workload: string(h.ID), Name: h.Name, Tenant: h.Tenant, Owner: h.OwnerName, Size: h.Size.Name,
		Cluster: h.Cluster, Node: h.Observed.Node, Since: h.Since,
		WindowHours: holders.Window.Hours(), Money: money(h.Money)}
	if unused, ok := h.Unused(); ok {
		lost, mean := money(unused), h.Use.Mean()
		v.MeanUse, v.KnownHours, v.Unused = &mean, h.Use.Measured.Hours(), &lost
	}
	return v
}
