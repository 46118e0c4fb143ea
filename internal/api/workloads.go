package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type workloadsInput struct {
	Scope  string `query:"scope" enum:"mine,all" default:"all"`
	Tenant string `query:"tenant" maxLength:"63"`
	State  string `query:"state" enum:"queued,starting,running,asleep,stopping,stopped,ended,failed,succeeded"`
	Ended  bool   `query:"ended" doc:"Also those that were deleted"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Cursor string `query:"cursor" maxLength:"200"`
}

func (a *API) workloads(ctx context.Context, actor identity.Actor,
	in *workloadsInput) (*output[List[Workload]], error) {
	f := workload.Filter{Tenants: one(in.Tenant), Ended: in.Ended || in.State == string(workload.Ended), Cursor: in.Cursor,
		Limit: in.Limit}
	if in.State != "" {
		f.States = []workload.State{workload.State(in.State)}
	}
	items, next, err := a.deps.Workloads.List(ctx, actor, in.Scope == "mine", f)
	if err != nil {
		return nil, err
	}
	costs, err := a.deps.Workloads.Costs(ctx, items...)
	if err != nil {
		return nil, err
	}
	views := make([]Workload, len(items))
	for i, w := range items {
		views[i] = a.workloadView(w, costs[w.ID], i18n.From(ctx))
		views[i].Secrets = secretNames(w, actor)
		views[i].Forecast = a.workloadForecast(ctx, w)
	}
	return reply(list(views, next), nil)
}

// view answers with one workload and its cost.
func (a *API) view(ctx context.Context, w workload.Workload, err error) (*output[Workload], error) {
	if err != nil {
		return nil, err
	}
	costs, err := a.deps.Workloads.Costs(ctx, w)
	if err != nil {
		return nil, err
	}
	v := a.workloadView(w, costs[w.ID], i18n.From(ctx))
	v.Secrets = secretNames(w, identity.ActorFrom(ctx))
	in, _, err := a.deps.Seats.ResumeOf(ctx, w)
	v.WaitsIn, v.Forecast = string(in), a.workloadForecast(ctx, w)
	return reply(v, err)
}

func (a *API) workload(ctx context.Context, actor identity.Actor, in *idInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Get(ctx, actor, workload.ID(in.ID))
	return a.view(ctx, w, err)
}

func (a *API) stop(ctx context.Context, actor identity.Actor, in *idInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Stop(ctx, actor, workload.ID(in.ID))
	return a.view(ctx, w, err)
}

func (a *API) start(ctx context.Context, actor identity.Actor, in *idInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Start(ctx, actor, workload.ID(in.ID))
	return a.view(ctx, w, err)
}

type resumeInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Reason string `json:"reason" maxLength:"2000" doc:"For the approver"`
	}
}

func (a *API) resume(ctx context.Context, actor identity.Actor, in *resumeInput) (*output[Request], error) {
	r, err := a.deps.Requests.Resume(ctx, actor, workload.ID(in.ID), in.Body.Reason)
	return reply(requestView(r, i18n.From(ctx)), err)
}

type extendInput struct {
	ID   string `path:"id" maxLength:"64"`
	Key  string `header:"Idempotency-Key" maxLength:"100" doc:"The same key gives the same request, with other contents a conflict"`
	Body struct {
		Lease  string `json:"lease" maxLength:"32" example:"4h" doc:"How much longer"`
		Reason string `json:"reason,omitempty" maxLength:"2000"`
	}
}

func (a *API) extend(ctx context.Context, actor identity.Actor, in *extendInput) (*output[Request], error) {
	r, err := a.deps.Requests.Extend(ctx, actor, workload.ID(in.ID), in.Body.Lease, in.Body.Reason, in.Key)
	return reply(requestView(r, i18n.From(ctx)), err)
}

type shareInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Shared bool `json:"shared"`
	}
}

func (a *API) share(ctx context.Context, actor identity.Actor, in *shareInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Share(ctx, actor, workload.ID(in.ID), in.Body.Shared)
	return a.view(ctx, w, err)
}

type removeInput struct {
	ID      string `path:"id" maxLength:"64"`
	Storage string `query:"storage" enum:"keep,delete" default:"keep"`
}

func (a *API) remove(ctx context.Context, actor identity.Actor, in *removeInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Delete(ctx, actor, workload.ID(in.ID), in.Storage == "delete")
	return a.view(ctx, w, err)
}

// MetricsView is what a workload's GPUs do now.
type MetricsView struct {
	At      *time.Time `json:"at,omitempty" doc:"When the metrics source last answered; absent for never"`
	Devices []Device   `json:"devices"`

	Replicas []ReplicaMetrics `json:"replicas,omitempty" doc:"Where there are several; devices are of one of them"`
}

// ReplicaMetrics is what the GPUs of one replica do now.
type ReplicaMetrics struct {
	Pod     string   `json:"pod"`
	Node    string   `json:"node,omitempty"`
	Ready   bool     `json:"ready"`
	Devices []Device `json:"devices"`
}

func (a *API) metrics(ctx context.Context, actor identity.Actor, in *idInput) (*output[MetricsView], error) {
	w, err := a.deps.Workloads.Get(ctx, actor, workload.ID(in.ID))
	if err != nil {
		return nil, err
	}
	v := MetricsView{Devices: []Device{}}
	if w.Observed.Pod == "" {
		return reply(v, nil)
	}
	live, devices := a.devicesOf(w, w.Observed.Pod)
	if v.Devices = devices; !live.At.IsZero() {
		v.At = &live.At
	}
	if len(w.Observed.Pods) > 1 {
		for _, p := range w.Observed.Pods {
			_, devices := a.devicesOf(w, p.Pod)
			v.Replicas = append(v.Replicas, ReplicaMetrics{Pod: p.Pod, Node: p.Node, Ready: p.Ready, Devices: devices})
		}
	}
	return reply(v, nil)
}

// devicesOf are what a pod of a workload holds.
func (a *API) devicesOf(w workload.Workload, pod string) (live gpumetrics.Live, devices []Device) {
	live, devices = a.deps.Metrics.Live(w.Cluster, w.Namespace, pod), []Device{}
	if w.Size.SharesDevice() {
		live = live.OnSharedCards()
	}
	for _, d := range live.Devices {
		devices = append(devices, deviceView(d))
	}
	return live, devices
}

// Event is one thing that happened.
type Event struct {
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Who      string    `json:"who"`
	Sentence string    `json:"sentence"`
	Detail   string    `json:"detail,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Tenant   string    `json:"tenant,omitempty"`
	Request  string    `json:"request,omitempty"`
	Workload string    `json:"workload,omitempty"`
	Volume   string    `json:"volume,omitempty"`
	Address  string    `json:"address,omitempty"`

	OnBehalfOf string   `json:"onBehalfOf,omitempty" doc:"In whose place it was said"`
	Via        string   `json:"via,omitempty" doc:"session, token, console or system"`
	Credential string   `json:"credential,omitempty" doc:"Name and id of the API token, or id of the session; never a secret"`
	Changes    []Change `json:"changes,omitempty" doc:"What was changed"`
}

// Change is one value before and after.
type Change struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

func eventViews(events []audit.Event, l *i18n.Localizer) []Event {
	views := make([]Event, len(events))
	for i, e := range events {
		views[i] = Event{Seq: e.Seq, At: e.At, Kind: string(e.Kind), Who: e.ActorName,
			Sentence: l.S("audit." + string(e.Kind)),
			Detail:   l.Say(e.Detail),
			Rule:     e.Rule, Tenant: e.Tenant, Request: e.Request, Workload: e.Workload, Volume: e.Volume, Address: e.Address,
			OnBehalfOf: e.BehalfName, Via: string(e.Via), Credential: e.CredentialOf()}
		for _, c := range e.Changes {
			views[i].Changes = append(views[i].Changes, Change(c))
		}
	}
	return views
}

func (a *API) history(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Event]], error) {
	events, err := a.deps.Workloads.History(ctx, actor, workload.ID(in.ID))
	views := eventViews(events, i18n.From(ctx))
	for i := range views {
		views[i].Address, views[i].Via, views[i].Credential = "", "", "" // where colleagues work from is for auditors only
	}
	return reply(list(views, ""), err)
}
