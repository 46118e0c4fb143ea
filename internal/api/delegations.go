package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
)

// Candidate is somebody who could stand in, or be given a request.
type Candidate struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

type candidatesInput struct {
	Search string `query:"search" maxLength:"100" doc:"At least two characters of the name or the e-mail address"`
}

func (a *API) candidates(ctx context.Context, actor identity.Actor,
	in *candidatesInput) (*output[List[Candidate]], error) {
	found, err := a.deps.Delegations.Find(ctx, actor, in.Search)
	if err != nil {
		return nil, err
	}
	return reply(list(candidateViews(found), ""), nil)
}

func candidateViews(people []identity.Person) []Candidate {
	views := make([]Candidate, len(people))
	for i, p := range people {
		views[i] = Candidate{ID: string(p.ID), Name: p.Name, Email: p.Email}
	}
	return views
}

// Delegation is who decides in whose place, from when until when.
type Delegation struct {
	ID        string    `json:"id"`
	Person    string    `json:"person" doc:"Name of the one in whose place it is decided"`
	Delegate  string    `json:"delegate" doc:"Name of the one who decides"`
	From      time.Time `json:"from"`
	Until     time.Time `json:"until"`
	InMyPlace bool      `json:"inMyPlace" doc:"Somebody decides for me; else I decide for somebody"`
	CountsNow bool      `json:"countsNow"`
}

func delegationView(p delegation.Delegation, a identity.Actor, now time.Time) Delegation {
	return Delegation{ID: p.ID, Person: p.Name, Delegate: p.DelegateName, From: p.From, Until: p.Until,
		InMyPlace: p.Person == a.Person.ID, CountsNow: p.Counts(now)}
}

func (a *API) delegations(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Delegation]], error) {
	mine, others, err := a.deps.Delegations.List(ctx, actor)
	if err != nil {
		return nil, err
	}
	views := []Delegation{}
	for _, p := range append(mine, others...) {
		views = append(views, delegationView(p, actor, a.deps.Now()))
	}
	return reply(list(views, ""), nil)
}

type createDelegationInput struct {
	Body struct {
		Person string    `json:"person" maxLength:"64" doc:"Id of who decides in my place; see /delegations/candidates"`
		From   time.Time `json:"from,omitzero" doc:"Absent: now"`
		Until  time.Time `json:"until"`
	}
}

func (a *API) createDelegation(ctx context.Context, actor identity.Actor,
	in *createDelegationInput) (*output[Delegation], error) {
	b := in.Body
	p, err := a.deps.Delegations.Create(ctx, actor, delegation.Draft{Delegate: identity.PersonID(b.Person), From: b.From,
		Until: b.Until})
	return reply(delegationView(p, actor, a.deps.Now()), err)
}

func (a *API) endDelegation(ctx context.Context, actor identity.Actor, in *idInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Delegations.End(ctx, actor, in.ID)
}
