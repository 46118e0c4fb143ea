package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/standin"
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
	found, err := a.deps.StandIns.Find(ctx, actor, in.Search)
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

// StandIn is who decides in whose place, from when until when.
type StandIn struct {
	ID        string    `json:"id"`
	Person    string    `json:"person" doc:"Name of the one in whose place it is decided"`
	StandIn   string    `json:"standIn" doc:"Name of the one who decides"`
	From      time.Time `json:"from"`
	Until     time.Time `json:"until"`
	InMyPlace bool      `json:"inMyPlace" doc:"Somebody decides for me; else I decide for somebody"`
	CountsNow bool      `json:"countsNow"`
}

func standInView(p standin.Period, a identity.Actor, now time.Time) StandIn {
	return StandIn{ID: p.ID, Person: p.Name, StandIn: p.StandName, From: p.From, Until: p.Until,
		InMyPlace: p.Person == a.Person.ID, CountsNow: p.Counts(now)}
}

func (a *API) standIns(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[StandIn]], error) {
	mine, others, err := a.deps.StandIns.List(ctx, actor)
	if err != nil {
		return nil, err
	}
	views := []StandIn{}
	for _, p := range append(mine, others...) {
		views = append(views, standInView(p, actor, a.deps.Now()))
	}
	return reply(list(views, ""), nil)
}

type createStandInInput struct {
	Body struct {
		Person string    `json:"person" maxLength:"64" doc:"Id of who decides in my place; see /stand-ins/candidates"`
		From   time.Time `json:"from,omitzero" doc:"Absent: now"`
		Until  time.Time `json:"until"`
	}
}

func (a *API) createStandIn(ctx context.Context, actor identity.Actor,
	in *createStandInInput) (*output[StandIn], error) {
	b := in.Body
	p, err := a.deps.StandIns.Create(ctx, actor, standin.Draft{StandIn: identity.PersonID(b.Person), From: b.From,
		Until: b.Until})
	return reply(standInView(p, actor, a.deps.Now()), err)
}

func (a *API) endStandIn(ctx context.Context, actor identity.Actor, in *idInput) (*struct{}, error) {
	return &struct{}{}, a.deps.StandIns.End(ctx, actor, in.ID)
}
