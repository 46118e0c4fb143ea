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

// MatchedDay is what the portal's workloads were seen to hold in one cluster on one day, and what was charged of it, in
// hours of whole cards: held = charged + notKnown - notSeen + rest.
type MatchedDay struct {
	Day      string  `json:"day" example:"2026-11-21" doc:"By the clocks of the site"`
	Cluster  string  `json:"cluster"`
	Held     float64 `json:"held" doc:"Seen on cards: heldPortal of all models"`
	Charged  float64 `json:"charged" doc:"Metered, from the moment at which a pod was on a node, also while the workload only started"`
	NotKnown float64 `json:"notKnown" doc:"Metered and not charged: the cluster was silent and the pod gone afterwards"`
	NotSeen  float64 `json:"notSeen" doc:"Metered while nobody looked at the cards, so that it is not in held"`
	Rest     float64 `json:"rest" doc:"Of no known reason: looks some seconds apart, shares in rounded numbers, sizes whose share is not what their slices are"`
}

// FleetDays is a month of the fleet.
type FleetDays struct {
	Items   []FleetDay   `json:"items"`
	Charged []MatchedDay `json:"charged" doc:"By day and cluster: what was held, and what was charged"`
}

type reconciliationInput struct {
	Month string `query:"month" maxLength:"7" example:"2026-11" doc:"The current one when absent"`
}

func (a *API) reconciliation(ctx context.Context, actor identity.Actor,
	in *reconciliationInput) (*output[FleetDays], error) {
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
	matched := make([]MatchedDay, len(r.Reconciled))
	for i, m := range r.Reconciled {
		matched[i] = MatchedDay{Day: m.Day, Cluster: m.Cluster, Held: m.Held.Hours(), Charged: m.Charged.Hours(),
			NotKnown: m.Unknown.Hours(), NotSeen: m.Unseen.Hours(), Rest: m.Rest().Hours()}
	}
	return reply(FleetDays{Items: views, Charged: matched}, nil)
}

func fleetDayView(d usage.FleetDay) FleetDay {
	return FleetDay{Day: d.Day, Cluster: d.Cluster, Model: d.Model, Physical: d.Physical.Hours(),
		HeldPortal: d.Ours.Hours(), HeldOthers: d.Others.Hours(), Free: d.Free.Hours(),
		Broken: d.Broken.Hours(), Unknown: d.Unknown.Hours(), Difference: d.Difference().Hours()}
}
