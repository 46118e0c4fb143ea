package api

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Unmet is demand for a size that was not met for one reason.
type Unmet struct {
	Size           string  `json:"size"`
	Reason         string  `json:"reason" enum:"quota,none,seats,budget,rule,withdrawn,expired"`
	Count          int     `json:"count" doc:"A further try of the same person for the same size within an hour is left out"`
	Attempts       int     `json:"attempts" doc:"Every try"`
	People         int     `json:"people"`
	LongestSeconds float64 `json:"longestSeconds" doc:"The longest that somebody waited; 0 for what was refused at once"`
}

type unmetInput struct {
	Month string `query:"month" maxLength:"7" example:"2026-11" doc:"The current one when absent"`
}

func (a *API) unmet(ctx context.Context, actor identity.Actor, in *unmetInput) (*output[List[Unmet]], error) {
	month, err := a.month(in.Month)
	if err != nil {
		return nil, err
	}
	found, err := a.deps.Usage.UnmetDemand(ctx, actor, month)
	if err != nil {
		return nil, err
	}
	views := make([]Unmet, len(found))
	for i, u := range found {
		views[i] = unmetView(u)
	}
	return reply(list(views, ""), nil)
}

func unmetView(u usage.UnmetDemand) Unmet {
	return Unmet{Size: u.Size, Reason: string(u.Reason), Count: u.Count, Attempts: u.Attempts, People: u.People,
		LongestSeconds: u.Longest.Seconds()}
}
