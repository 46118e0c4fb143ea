package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *API) registerRevisions() {
	add(a, op(http.MethodGet, "/workloads/{id}/revisions", "list-revisions", "Versions of what an endpoint runs, newest "+
		"first", "Workloads"), identity.ReadWorkload, a.revisions)
	add(a, op(http.MethodPost, "/workloads/{id}/revisions", "create-revision", "Roll out another version of an endpoint: "+
		"what is absent stays as it is. With dryRun nothing is written", "Workloads"), identity.ChangeWorkload,
		a.createRevision)
	add(a, op(http.MethodPost, "/workloads/{id}/rollback", "roll-back", "Bring an older version of an endpoint back, or "+
		"end the one that is on its way", "Workloads"), identity.ChangeWorkload, a.rollBack)
	add(a, op(http.MethodPut, "/workloads/{id}/traffic-split", "split-traffic", "Set which part of the calls the canary "+
		"of an endpoint takes", "Workloads"), identity.ChangeWorkload, a.split)
	add(a, op(http.MethodPost, "/workloads/{id}/promote", "promote-revision", "Let the canary of an endpoint take over",
		"Workloads"), identity.ChangeWorkload, a.promote)
}

type splitInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Percent int `json:"percent" minimum:"0" maximum:"99"`
	}
}

func (a *API) split(ctx context.Context, actor identity.Actor, in *splitInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Split(ctx, actor, workload.ID(in.ID), in.Body.Percent)
	return a.view(ctx, w, err)
}

func (a *API) promote(ctx context.Context, actor identity.Actor, in *idInput) (*output[Workload], error) {
	w, err := a.deps.Workloads.Promote(ctx, actor, workload.ID(in.ID))
	return a.view(ctx, w, err)
}

// Revision is one version of an endpoint.
type Revision struct {
	Number  int        `json:"number"`
	State   string     `json:"state" enum:"starting,serving,former,failed,aborted" doc:"starting takes no traffic yet; former served until another one did"`
	Image   string     `json:"image"`
	Pinned  string     `json:"reference" doc:"Of the image, with its digest"`
	Model   *Model     `json:"model,omitempty"`
	Of      int        `json:"of,omitempty" doc:"The older version that it is again"`
	By      string     `json:"by" doc:"Who asked for it"`
	At      time.Time  `json:"at" doc:"When it was asked for"`
	Changed *time.Time `json:"changedAt,omitempty" doc:"Since when it is in its state"`
	Reason  string     `json:"reason,omitempty" doc:"Why it is not ready, or why it failed"`
	Detail  string     `json:"detail,omitempty" doc:"The cluster's own words for that"`
}

// Rollout is a version on its way to take over.
type Rollout struct {
	From      int       `json:"from"`
	To        int       `json:"to"`
	StopFirst bool      `json:"stopFirst" doc:"The version of before was stopped first: no GPU was spare"`
	Deadline  time.Time `json:"deadline" doc:"Not ready by then, it has failed and the one of before goes on"`
	Reason    string    `json:"reason,omitempty" doc:"Why it is not ready yet"`
	Percent   *int      `json:"percent,omitempty" doc:"Of a canary: how much of the calls it takes once it is ready"`
	Ready     bool      `json:"ready,omitempty" doc:"Of a canary: it is, or was; it stays until it is promoted or rolled back"`
}

func revisionViews(w workload.Workload, l *i18n.Localizer) []Revision {
	list := w.RevisionList()
	views := make([]Revision, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		v := Revision{Number: r.Number, State: string(r.State), Image: r.Image.Name, Pinned: r.Image.Reference,
			Model: modelView(r.Model), Of: r.Of, By: r.By, At: r.At, Changed: moment(r.Changed), Reason: l.Say(r.Reason),
			Detail: r.Detail}
		if seen := w.Observed.Rollout; r.State == workload.RevisionStarting && seen != nil && seen.Revision == r.Number {
			v.Reason, v.Detail = l.Say(seen.Reason), seen.Detail
		}
		views = append(views, v)
	}
	return views
}

// revisionNumber is 0 for what has no versions.
func revisionNumber(w workload.Workload) int {
	if !w.Revisable() {
		return 0
	}
	if r := w.Revisions.Rollout; r != nil {
		return r.From
	}
	return w.Revision()
}

func rolloutView(w workload.Workload, l *i18n.Localizer) *Rollout {
	r := w.Revisions.Rollout
	if r == nil {
		return nil
	}
	v := &Rollout{From: r.From, To: r.To, StopFirst: r.StopFirst, Deadline: r.Deadline}
	if r.Canary != nil {
		v.Percent, v.Ready = &r.Canary.Percent, r.Canary.Ready
	}
	if seen := w.Observed.Rollout; seen != nil && seen.Revision == r.To {
		v.Reason = l.Say(seen.Reason)
	}
	return v
}

func (a *API) revisions(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Revision]], error) {
	w, err := a.deps.Workloads.Get(ctx, actor, workload.ID(in.ID))
	if err == nil && !w.Revisable() {
		err = fault.New(fault.Conflict, i18n.T("versions.endpoints_only"))
	}
	if err != nil {
		return nil, err
	}
	return reply(list(revisionViews(w, i18n.From(ctx)), ""), nil)
}

type createRevisionInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Image       string `json:"image,omitempty" maxLength:"100" doc:"Name in the catalog, of kind endpoint; the present one when absent. The name of the present one takes what the catalog has for it now"`
		Model       *Model `json:"model,omitempty" doc:"The present one when absent"`
		StopFirst   bool   `json:"stopFirst,omitempty" doc:"Agree that the present version stops before this one starts, where no GPU is spare; 409 without it"`
		ReadyWithin string `json:"readyWithin,omitempty" maxLength:"32" example:"30m" doc:"Not ready by then, it has failed; 30m when absent, from 1m to 2h"`
		Percent     *int   `json:"percent,omitempty" minimum:"0" maximum:"99" doc:"Try it as a canary: one replica takes this part of the calls until it is promoted. With 0 only calls that name it in X-Revision"`
		DryRun      bool   `json:"dryRun,omitempty" doc:"Say what would happen; nothing is written"`
	}
}

// RevisionPlan is how a version comes up.
type RevisionPlan struct {
	Number    int       `json:"number"`
	Image     string    `json:"image"`
	Model     *Model    `json:"model,omitempty"`
	DryRun    bool      `json:"dryRun"`
	StopFirst bool      `json:"stopFirst" doc:"The present version stops before this one starts: the endpoint does not answer in between"`
	Why       string    `json:"why,omitempty" doc:"Why it has to stop first"`
	Problems  []string  `json:"problems,omitempty" doc:"With dryRun: why it would be refused"`
	Fits      *bool     `json:"fits,omitempty" doc:"With dryRun: whether the size has room for the model; absent where its name does not tell"`
	Workload  *Workload `json:"workload,omitempty" doc:"As it is now; absent with dryRun"`
}

func (a *API) createRevision(ctx context.Context, actor identity.Actor,
	in *createRevisionInput) (*output[RevisionPlan], error) {
	b := in.Body
	d := request.RevisionDraft{Image: b.Image, Model: b.Model.draft(), StopFirst: b.StopFirst, ReadyWithin: b.ReadyWithin,
		Percent: b.Percent}
	if !b.DryRun {
		w, err := a.deps.Requests.Revise(ctx, actor, workload.ID(in.ID), d)
		return a.rolling(ctx, w, err)
	}
	p, err := a.deps.Requests.PreviewRevision(ctx, actor, workload.ID(in.ID), d)
	if err != nil {
		return nil, err
	}
	l := i18n.From(ctx)
	v := RevisionPlan{Number: p.Number, Image: p.Image.Name, Model: modelView(p.Model), DryRun: true,
		StopFirst: p.StopFirst, Why: l.Say(p.Why)}
	if p.Fit != nil {
		v.Fits = new(p.Fit.Fits())
	}
	for _, f := range p.Fields() {
		v.Problems = append(v.Problems, l.Say(f.Reason))
	}
	if p.Problem != nil && len(v.Problems) == 0 {
		v.Problems = []string{l.Say(fault.As(p.Problem).Sentence)}
	}
	return reply(v, nil)
}

// rolling is what became of a version that was sent.
func (a *API) rolling(ctx context.Context, w workload.Workload, err error) (*output[RevisionPlan], error) {
	if err != nil {
		return nil, err
	}
	item, err := a.view(ctx, w, nil)
	if err != nil {
		return nil, err
	}
	v := RevisionPlan{Number: w.Revision(), Image: w.Image.Name, Model: modelView(w.Model), Workload: &item.Body}
	if r := w.Revisions.Rollout; r != nil {
		v.StopFirst = r.StopFirst
	}
	return reply(v, nil)
}

type rollBackInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body *struct {
		Revision int `json:"revision,omitempty" minimum:"0" doc:"One that has served; the one of before when absent"`
	}
}

func (a *API) rollBack(ctx context.Context, actor identity.Actor, in *rollBackInput) (*output[RevisionPlan], error) {
	number := 0
	if in.Body != nil {
		number = in.Body.Revision
	}
	w, err := a.deps.Requests.RollBack(ctx, actor, workload.ID(in.ID), number)
	return a.rolling(ctx, w, err)
}
