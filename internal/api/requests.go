package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type output[T any] struct{ Body T }

func reply[T any](v T, err error) (*output[T], error) {
	if err != nil {
		return nil, err
	}
	return &output[T]{Body: v}, nil
}

// RequestBody is what is posted to ask for something.
type RequestBody struct {
	Kind   string `json:"kind" enum:"notebook,endpoint,job" doc:"What to start"`
	Tenant string `json:"tenant" maxLength:"63" doc:"The team that pays"`
	Size   string `json:"size" maxLength:"100" example:"mig-1g.10gb"`
	Image  string `json:"image,omitempty" maxLength:"100" example:"jupyterlab" doc:"Of the catalog or the team; absent with customImage"`
	// Custom stands in the place of Image.
	Custom   *CustomImage `json:"customImage,omitempty" doc:"An image of one's own in place of image, where the team's owners allow that and the administrator its repository"`
	Name     string       `json:"name,omitempty" maxLength:"100" doc:"Becomes part of the address; made up when absent"`
	Cluster  string       `json:"cluster,omitempty" maxLength:"63"`
	Lease    string       `json:"lease,omitempty" maxLength:"32" example:"8h" doc:"How long; the size's default when absent"`
	Storage  string       `json:"storage,omitempty" maxLength:"32" example:"10Gi"`
	Volume   string       `json:"volume,omitempty" maxLength:"100" doc:"Kept storage to use instead of new"`
	Mounts   []string     `json:"mounts,omitempty" maxItems:"20" doc:"Names of the team's volumes to have at /shared/<name>"`
	Volumes  []VolumeUse  `json:"volumes,omitempty" maxItems:"20" doc:"My personal volumes to have at /data/<name>"`
	Datasets []string     `json:"datasets,omitempty" maxItems:"20" doc:"Names of data sets that the team offers, to read at /datasets/<name>"`
	Secrets  []string     `json:"secrets,omitempty" maxItems:"20" doc:"Names of my secrets, or of the team's, that it gets as variables and in /secrets/<name>; team:<name> where I have one of the same name"`
	Git      *Git         `json:"git,omitempty" doc:"A repository to clone into its home before it starts"`
	Reach    string       `json:"reach,omitempty" enum:"internal,external" doc:"Of an endpoint: external asks, beside the start, that programs outside the company network can call it; that always needs an approval, and the endpoint starts without it"`
	Reason   string       `json:"reason,omitempty" maxLength:"2000" doc:"Needed when a person decides"`
	// Replaces names the old one for people; nothing is done to it.
	Replaces string `json:"replaces,omitempty" maxLength:"100" doc:"Id of a workload in whose place this one is wanted; it goes on until somebody stops it"`

	Schedule  *ScheduleBody     `json:"schedule,omitempty" doc:"When the clock stops and starts it; as the team has it when absent. Not for a job"`
	Replicas  *ReplicaRange     `json:"replicas,omitempty" doc:"Of an endpoint: it starts with min pods of the size, its owner may set up to max; absent for one"`
	Scaling   *Scaling          `json:"scaling,omitempty" doc:"Of an endpoint: how it scales between min and max; its owner sets the number when absent"`
	Model     *Model            `json:"model,omitempty" doc:"Of an endpoint: what it serves; the usual one of the image when absent"`
	Command   []string          `json:"command,omitempty" doc:"Of a job: the program, in place of the image's; needed where the image starts a server"`
	Args      []string          `json:"args,omitempty" doc:"Of a job: its arguments"`
	Env       map[string]string `json:"env,omitempty" doc:"Of a job: variables of its environment"`
	Retries   int               `json:"retries,omitempty" doc:"Of a job: how often it is started again after a failure, at most 20"`
	Nodes     int               `json:"nodes,omitempty" minimum:"0" doc:"Of a job of an image with backend jobset, or an endpoint of a runtime with backend leaderworkerset: pods of the size that begin and restart together; 1 when absent"`
	TimeLimit string            `json:"timeLimit,omitempty" maxLength:"32" example:"2h" doc:"Of a job: from its first place on a node on, at most the lease; absent: the lease alone ends it"`
}

// TransformSchema says that a body needs one of two members: the reference shows the first in its shortest example.
func (RequestBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Extensions = map[string]any{"x-one-of": []string{"image", "customImage"}}
	return s
}

// CustomImage is an image that neither the catalog nor the team has.
type CustomImage struct {
	Reference string `json:"reference" maxLength:"500" example:"registry.example.org/vision/train:1.4" doc:"With registry; a tag is pinned to the digest that it has when the request is sent"`
	Like      string `json:"like" maxLength:"100" example:"jupyterlab" doc:"The catalog's image that it is started like: command, variables, port, user"`
}

func (c *CustomImage) draft() *request.CustomImage {
	if c == nil {
		return nil
	}
	return &request.CustomImage{Reference: c.Reference, Like: c.Like}
}

// customView is what a member has named; nil for an image of the catalog or the team.
func customView(i catalog.Image) *CustomImage {
	_, c := request.CustomOf(i)
	if c == nil {
		return nil
	}
	return &CustomImage{Reference: c.Reference, Like: c.Like}
}

// VolumeUse is a personal volume that a workload has.
type VolumeUse struct {
	Name     string `json:"name" maxLength:"63" doc:"As GET /volumes has it, or what I have called it in the team"`
	ReadOnly bool   `json:"readOnly,omitempty" doc:"For this workload"`
}

func volumeUses(list []VolumeUse) []request.VolumeUse {
	var uses []request.VolumeUse
	for _, u := range list {
		uses = append(uses, request.VolumeUse{Name: u.Name, ReadOnly: u.ReadOnly})
	}
	return uses
}

// ReplicaRange is between how many replicas an endpoint may have.
type ReplicaRange struct {
	Min int `json:"min" example:"1" doc:"0 lets it sleep while nobody calls it"`
	Max int `json:"max" example:"3"`
}

func rangeView(r workload.Range) *ReplicaRange {
	if r.Most() == r.Lowest() {
		return nil
	}
	return &ReplicaRange{Min: r.Lowest(), Max: r.Most()}
}

// Draft is the same request.Draft that the form gives.
func (b RequestBody) Draft(key string) request.Draft {
	var replicas *workload.Range
	if b.Replicas != nil {
		replicas = &workload.Range{Min: b.Replicas.Min, Max: b.Replicas.Max}
	}
	return request.Draft{Schedule: b.Schedule.draft(), Secrets: b.Secrets, Git: b.Git.draft(), Reach: b.Reach,
		Replicas: replicas, Nodes: b.Nodes,
		Scaling: b.Scaling.typed(), Model: b.Model.draft(),
		Kind:   catalog.WorkloadKind(b.Kind),
		Tenant: b.Tenant, Name: b.Name,
		Size: b.Size, Image: b.Image, CustomImage: b.Custom.draft(),
		Cluster: b.Cluster,
		Lease:   b.Lease, Storage: b.Storage, Volume: b.Volume, Mounts: b.Mounts, Volumes: volumeUses(b.Volumes),
		Datasets: b.Datasets,
		Reason:   b.Reason,
		Key:      key,
		Replaces: workload.ID(b.Replaces), JobDraft: request.JobDraft{Command: b.Command, Args: b.Args, Env: b.Env,
			Retries: b.Retries, TimeLimit: b.TimeLimit}}
}

type submitInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"100" doc:"The same key gives the same request, so a call can be sent twice safely; with other contents it is a conflict that names the earlier request"`
	Body RequestBody
}

type submitOutput struct {
	Location string `header:"Location" doc:"Where the request is read"`
	Body     Request
}

func (a *API) submit(ctx context.Context, actor identity.Actor, in *submitInput) (*submitOutput, error) {
	r, err := a.deps.Requests.Submit(ctx, actor, in.Body.Draft(in.Key))
	if err != nil {
		return nil, err
	}
	return &submitOutput{Location: "/api/v1/requests/" + string(r.ID), Body: a.awaited(ctx, r)}, nil
}

// Preview is what would become of a request.
type Preview struct {
	StartsNow bool                   `json:"startsNow"`
	Decision  *Decision              `json:"decision,omitempty"`
	Problems  []problem.FieldProblem `json:"problems" doc:"What must be changed first"`
	Note      string                 `json:"note,omitempty" doc:"What should be looked at and hinders nothing: a custom image exposes other ports than the one at which it must answer"`
	Price     Money                  `json:"price" doc:"Of the size for the whole time, with the replicas that it starts with"`
	PriceMost *Money                 `json:"priceMost,omitempty" doc:"The same with as many replicas as may be set; absent where that is the price"`
	Storage   Money                  `json:"storagePrice" doc:"Of new storage for the whole time; it costs on while it is kept"`
	Seat      Money                  `json:"seatPrice" doc:"Of license seats for the whole time"`
	Until     time.Time              `json:"until"`
	Capacity  Capacity               `json:"capacity"`
	Quota     Quota                  `json:"quota"`
	Budget    *BudgetAsk             `json:"budget,omitempty" doc:"Absent for a team without a budget"`
	Forecast  *Forecast              `json:"forecast,omitempty" doc:"When it would be ready"`
	Instead   string                 `json:"instead,omitempty" doc:"A size that would start now"`
	Weaker    []string               `json:"insteadWeaker,omitempty" doc:"What that size has less of: memory, isolation"`
	Model     *ModelFit              `json:"model,omitempty" doc:"What an endpoint would serve, and whether the size has room for it"`
	Manifest  string                 `json:"manifest" doc:"YAML of what would be created"`
}

type previewInput struct{ Body RequestBody }

func (a *API) preview(ctx context.Context, actor identity.Actor, in *previewInput) (*output[Preview], error) {
	p, err := a.deps.Requests.Preview(ctx, actor, in.Body.Draft(""))
	if err != nil {
		return nil, err
	}
	manifest := ""
	if p.Planned != nil {
		if manifest, err = a.deps.Requests.Manifest(*p.Planned); err != nil {
			return nil, err
		}
	}
	l := i18n.From(ctx)
	v := Preview{StartsNow: p.StartsNow(), Problems: []problem.FieldProblem{}, Price: money(p.Price), Until: p.Until,
		Instead: p.Alternatives.Offer.Size.Name, Manifest: manifest,
		Capacity: Capacity{Known: p.Fit.Known, Total: p.Fit.Total, Free: p.Fit.Free},
		Quota:    Quota{Used: p.Quota.Used, Limit: p.Quota.Limit}}
	for _, w := range p.Alternatives.Weaker {
		v.Weaker = append(v.Weaker, string(w))
	}
	if p.PriceMost != p.Price {
		most := money(p.PriceMost)
		v.PriceMost = &most
	}
	ahead := p.Extras
	v.Storage, v.Seat = money(ahead.Storage), money(ahead.Seats)
	if p.Budget.Set() {
		v.Budget = askView(p.Budget)
	}
	for _, f := range p.Fields {
		v.Problems = append(v.Problems, problem.FieldProblem{Name: f.Name, Reason: l.Say(f.Reason)})
	}
	if p.Verdict.Outcome != "" {
		v.Decision = verdictView(p.Verdict, l)
	}
	if !p.Note.IsZero() {
		v.Note = l.Say(p.Note)
	}
	v.Model = modelFitView(p, l)
	v.Forecast = a.previewForecast(ctx, p)
	return reply(v, nil)
}

type requestsInput struct {
	Scope  string `query:"scope" enum:"mine,inbox,seat,all" default:"all" doc:"mine, those waiting for my decision, those approved that wait for a license seat, or all that I may see"`
	Tenant string `query:"tenant" maxLength:"63"`
	State  string `query:"state" enum:"pending,approved,rejected,withdrawn,expired"`
	Text   string `query:"text" maxLength:"100" doc:"Words, each of which is in the name, the asker's name, the team or the size, or is the id"`
	By     string `query:"decidedBy" enum:"rule,person" doc:"Only what a rule approved, or what a person decided"`
	Sort   string `query:"sort" enum:"newest,oldest,price,cheapest,lease,shortest" default:"newest" doc:"By time, by the highest or lowest price, or by the longest or shortest lease; a cursor is of one order"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Cursor string `query:"cursor" maxLength:"200"`
}

func (a *API) requests(ctx context.Context, actor identity.Actor, in *requestsInput) (*output[List[Request]], error) {
	f := request.Filter{Cursor: in.Cursor, Limit: in.Limit, Tenants: one(in.Tenant), Sort: request.Sort(in.Sort),
		Decider: request.Decider(in.By), Text: request.Words(in.Text)}
	if in.State != "" {
		f.States = []request.State{request.State(in.State)}
	}
	items, next, err := a.deps.Requests.List(ctx, actor, request.Scope(in.Scope), f)
	if err != nil {
		return nil, err
	}
	views := make([]Request, len(items))
	for i, r := range items {
		views[i] = a.awaited(ctx, r)
	}
	return reply(list(views, next), nil)
}

func one(tenant string) []string {
	if tenant == "" {
		return nil
	}
	return []string{tenant}
}

type idInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (a *API) request(ctx context.Context, actor identity.Actor, in *idInput) (*output[Request], error) {
	r, err := a.deps.Requests.Get(ctx, actor, request.ID(in.ID))
	if err != nil {
		return nil, err
	}
	return reply(a.awaited(ctx, r), nil)
}

type decideInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Note     string `json:"note,omitempty" maxLength:"2000"`
		Seen     int64  `json:"seen" minimum:"1" doc:"Version of the request that the answer is meant for; when it has changed since, the answer is a conflict"`
		Undoable bool   `json:"undoable,omitempty" doc:"Take effect only after approvals.undo of the site (10 s), see decision.deferred; until then /requests/{id}/undo takes it back"`
	}
}

type approveInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Note  string `json:"note,omitempty" maxLength:"2000"`
		Size  string `json:"size,omitempty" maxLength:"100" doc:"Grant this size instead, which must not be more than what was asked"`
		Lease string `json:"lease,omitempty" maxLength:"32" example:"24h" doc:"Grant this long instead, which must not be longer"`
		Seen  int64  `json:"seen" minimum:"1" doc:"Version of the request that the answer is meant for; when it has changed since, the answer is a conflict"`
		// Undoable as in decideInput.
		Undoable bool `json:"undoable,omitempty" doc:"Take effect only after approvals.undo of the site (10 s), see decision.deferred; until then /requests/{id}/undo takes it back"`
	}
}

func (a *API) approve(ctx context.Context, actor identity.Actor, in *approveInput) (*output[Request], error) {
	b := in.Body
	said := request.DecisionInput{Verb: request.ApproveVerb, Note: b.Note, Size: b.Size, Lease: b.Lease, Seen: b.Seen,
		Undoable: b.Undoable}
	r, err := a.deps.Approvals.Answer(ctx, actor, request.ID(in.ID), said)
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) reject(ctx context.Context, actor identity.Actor, in *decideInput) (*output[Request], error) {
	said := request.DecisionInput{Verb: request.RejectVerb, Note: in.Body.Note, Seen: in.Body.Seen,
		Undoable: in.Body.Undoable}
	r, err := a.deps.Approvals.Answer(ctx, actor, request.ID(in.ID), said)
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) undo(ctx context.Context, actor identity.Actor, in *idInput) (*output[Request], error) {
	r, err := a.deps.Approvals.Undo(ctx, actor, request.ID(in.ID))
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) undoExtension(ctx context.Context, actor identity.Actor, in *idInput) (*output[Request], error) {
	r, err := a.deps.Requests.UndoExtension(ctx, actor, request.ID(in.ID))
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) assignees(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Candidate]], error) {
	people, err := a.deps.Approvals.Assignees(ctx, actor, request.ID(in.ID))
	if err != nil {
		return nil, err
	}
	return reply(list(candidateViews(people), ""), nil)
}

type reassignInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Person string `json:"person" maxLength:"64" doc:"Id of the approver; see /requests/{id}/assignees"`
		Reason string `json:"reason" maxLength:"2000" doc:"For the one who decides now"`
		Seen   int64  `json:"seen,omitempty" minimum:"1" doc:"Version of the request that is given away; when it has changed since, the answer is a conflict"`
	}
}

func (a *API) reassign(ctx context.Context, actor identity.Actor, in *reassignInput) (*output[Request], error) {
	b := in.Body
	r, err := a.deps.Approvals.Reassign(ctx, actor, request.ID(in.ID),
		request.ReassignInput{To: identity.PersonID(b.Person),
			Reason: b.Reason, Seen: b.Seen})
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) reclaim(ctx context.Context, actor identity.Actor, in *idInput) (*output[Request], error) {
	r, err := a.deps.Approvals.Reclaim(ctx, actor, request.ID(in.ID))
	return reply(requestView(r, i18n.From(ctx)), err)
}

type editInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Size   string `json:"size,omitempty" maxLength:"100" doc:"Absent: as before"`
		Lease  string `json:"lease,omitempty" maxLength:"32" example:"8h" doc:"Absent: as before"`
		Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Absent: as before"`
		Seen   int64  `json:"seen,omitempty" minimum:"1" doc:"Version of the request that is changed; when it has changed since, the answer is a conflict"`
	}
}

func (a *API) edit(ctx context.Context, actor identity.Actor, in *editInput) (*output[Request], error) {
	b := in.Body
	r, err := a.deps.Requests.Edit(ctx, actor, request.ID(in.ID), request.Edited{Size: b.Size, Lease: b.Lease,
		Reason: b.Reason, Seen: b.Seen})
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) withdraw(ctx context.Context, actor identity.Actor, in *idInput) (*output[Request], error) {
	r, err := a.deps.Requests.Withdraw(ctx, actor, request.ID(in.ID))
	return reply(requestView(r, i18n.From(ctx)), err)
}
