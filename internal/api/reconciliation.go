package api

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// FleetDay is what the physical cards of one model in one cluster did on one day, in hours of whole cards.
type FleetDay struct {
	Day        string  `json:"day" example:"2026-11-21" doc:"By the clocks of the site"`
	Cluster    string  `json:"cluster"`
	Model      string  `json:"model"`
	Physical   float64 `json:"physical" doc:"The cards that were there, times the time for which they were looked after"`
	HeldPortal float64 `json:"heldPortal" doc:"Held by workloads of the portal"`
	HeldOthers float64 `json:"heldOthers" doc:"Held by others in the cluster"`
	Free       float64 `json:"free"`
	Broken     float64 `json:"broken" doc:"Not held and not to be given out"`
	Unknown    float64 `json:"unknown" doc:"Nobody looked, or the cluster was away"`
	Difference float64 `json:"difference" doc:"What none of the others accounts for: cards that are not offered, what a cut leaves over"`
}

type reconciliationInput struct {
	Month string `query:"month" maxLength:"7" example:"2026-11" doc:"The current one when absent"`
}

func (a *API) reconciliation(ctx context.Context, actor identity.Actor, in *reconciliationInput) (*output[List[FleetDay]], error) {
	month, err := a.month(in.Month)
	if err != nil {
		return nil, err
	}
	r, err := a.deps.Usage.Fleet.Reconciliation(ctx, actor, month)
	if err != nil {
		return nil, err
	}
	views := make([]FleetDay, len(r.Days))
	for i, d := range r.Days {
		views[i] = fleetDayView(d)
	}
	return reply(list(views, ""), nil)
}

func fleetDayView(d usage.FleetDay) FleetDay {
	return FleetDay{Day: d.Day, Cluster: d.Cluster, Model: d.Model, Physical: d.Physical.Hours(), HeldPortal: d.Ours.Hours(), HeldOthers: d.Others.Hours(), Free: d.Free.Hours(),
		Broken: d.Broken.Hours(), Unknown: d.Unknown.Hours(), Difference: d.Difference().Hours()}
}
