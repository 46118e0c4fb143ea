package api

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Replicas are the pods of a workload, each of its size; 1 of 1 for all that is no endpoint.
type Replicas struct {
	Min    int `json:"min"`
	Max    int `json:"max"`
	Wanted int `json:"wanted" doc:"What its owner has set, between min and max"`
	Ready  int `json:"ready" doc:"How many answer now"`
}

func replicasView(w workload.Workload) Replicas {
	v := Replicas{Min: w.Replicas.Least(), Max: w.Replicas.Most(), Wanted: w.Replicas.Want()}
	if w.Desired == workload.WantRunning {
		v.Ready = w.Observed.ReadyReplicas()
	}
	return v
}

type scaleInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Wanted int `json:"wanted" example:"3" doc:"Between the workload's min and max"`
	}
}

func (a *API) scale(ctx context.Context, actor identity.Actor, in *scaleInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Scale(ctx, actor, workload.ID(in.ID), in.Body.Wanted)
	return a.view(ctx, w, err)
}

type scaleWhatIfInput struct {
	ID     string `path:"id" maxLength:"64"`
	Wanted int    `query:"wanted" example:"3" doc:"How many; absent for as many as now"`
}

// ScalePreview is what another number of replicas would mean.
type ScalePreview struct {
	Wanted       int        `json:"wanted"`
	PricePerHour Money      `json:"pricePerHour" doc:"Of all replicas together"`
	Quota        Quota      `json:"quota" doc:"What the team would hold of the size"`
	Budget       *BudgetAsk `json:"budget,omitempty" doc:"What it would take of the month beyond what is held; absent for a team without a budget"`
	Problem      string     `json:"problem,omitempty" doc:"Why it cannot be set now; absent where it can"`
}

func (a *API) previewScale(ctx context.Context, actor identity.Actor,
	in *scaleWhatIfInput) (*output[ScalePreview], error) {
	s, err := a.deps.Workloads.PreviewScale(ctx, actor, workload.ID(in.ID), in.Wanted)
	if err != nil {
		return nil, err
	}
	v := ScalePreview{Wanted: s.Wanted, PricePerHour: money(s.PerHour), Quota: Quota{Used: s.Used, Limit: s.Limit},
		Problem: i18n.From(ctx).Say(s.Impossible)}
	if s.Budget.Set() {
		v.Budget = askView(s.Budget)
	}
	return reply(v, nil)
}
