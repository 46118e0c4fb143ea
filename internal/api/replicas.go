package api

import (
	"context"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Replicas are the pods of a workload, each of its size; 1 of 1 for all that is no endpoint.
type Replicas struct {
	Min    int `json:"min"`
	Max    int `json:"max"`
	Wanted int `json:"wanted" doc:"What its owner has set or what it scales to, between min and max; 0 while it sleeps"`
	Ready  int `json:"ready" doc:"How many answer now"`

	Autoscaler string `json:"autoscaler,omitempty" enum:"keda" doc:"What sets wanted, where that is not the portal"`
	Ceiling    int    `json:"ceiling,omitempty" doc:"With an autoscaler: how many it may set now, up to max"`
	Trouble    string `json:"trouble,omitempty" doc:"With an autoscaler: its own words where it cannot scale"`

	Reason string `json:"reason,omitempty" doc:"Why there are fewer than it needs: quota, license seats or budget; absent where there are enough"`

	Unready []UnreadyReplica `json:"unready,omitempty" doc:"Those that do not answer while another one does"`
	Missing string           `json:"missing,omitempty" doc:"Why the cluster refuses to make another pod, where there are fewer than wanted"`
}

// UnreadyReplica is a pod of an endpoint that does not answer.
type UnreadyReplica struct {
	Pod    string `json:"pod"`
	Node   string `json:"node,omitempty" doc:"Absent while it waits for one"`
	Reason string `json:"reason,omitempty" doc:"In plain words; absent where nobody knows, and beyond the first ten"`
}

// Scaling is how the number of replicas of an endpoint follows its load.
type Scaling struct {
	Metric string `json:"metric,omitempty" example:"concurrency" doc:"concurrency (requests under way), requests (per second), queue (requests that wait in the servers) or gpu (per cent); absent: its owner sets the number"`
	// a pointer, so that 0 is told from nothing
	Target         *float64 `json:"target,omitempty" example:"8" doc:"Of the metric, for each replica; what suits the server when absent"`
	ScaleDownAfter string   `json:"scaleDownAfter,omitempty" maxLength:"32" example:"5m" doc:"How long fewer replicas must have been enough; 5m when absent"`
	ToZeroAfter    string   `json:"toZeroAfter,omitempty" maxLength:"32" example:"15m" doc:"With a min of 0: after how long without requests it sleeps; 15m when absent"`
}

func (s *Scaling) typed() *autoscale.Typed {
	if s == nil {
		return nil
	}
	t := &autoscale.Typed{Metric: s.Metric, ScaleDownAfter: s.ScaleDownAfter, ToZeroAfter: s.ToZeroAfter}
	if s.Target != nil {
		t.Target = strconv.FormatFloat(*s.Target, 'g', -1, 64)
	}
	return t
}

func scalingView(p autoscale.Policy) *Scaling {
	if !p.Acts() {
		return nil
	}
	t := p.Typed()
	v := &Scaling{Metric: t.Metric, ScaleDownAfter: t.ScaleDownAfter, ToZeroAfter: t.ToZeroAfter}
	if p.Automatic() {
		v.Target = &p.Target
	}
	return v
}

type setScalingInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Min int `json:"min" example:"0" doc:"Fewest replicas, up to the workload's max; 0 lets it sleep"`
		Scaling
	}
}

func (a *API) setScaling(ctx context.Context, actor identity.Actor, in *setScalingInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.SetScaling(ctx, actor, workload.ID(in.ID), in.Body.Min, *in.Body.Scaling.typed())
	return a.view(ctx, w, err)
}

func replicasView(w workload.Workload, l *i18n.Localizer) Replicas {
	v := Replicas{Min: w.Replicas.Lowest(), Max: w.Replicas.Most(), Wanted: w.Replicas.Want(),
		Reason: l.Say(w.Replicas.Short)}
	if w.ScaledByKEDA() {
		v.Autoscaler, v.Ceiling = string(catalog.ByKEDA), w.Replicas.Top()
		if a := w.Observed.Autoscaler; a != nil {
			v.Trouble = a.Detail
		}
	}
	if w.Desired == workload.WantRunning {
		v.Ready = w.Observed.ReadyReplicas()
	}
	for _, p := range w.Unready() {
		v.Unready = append(v.Unready, UnreadyReplica{Pod: p.Pod, Node: p.Node, Reason: l.Say(p.Reason)})
	}
	if v.Ready > 0 { // else the workload's own reason says it
		v.Missing = l.Say(w.Observed.Missing)
	}
	return v
}

type scaleInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Wanted int `json:"wanted" example:"3" doc:"Between the workload's min and max; 0 puts it to sleep until the next request"`
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
