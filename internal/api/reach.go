package api

import (
	"context"
	"net/http"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *API) registerReach() {
	add(a, op(http.MethodPost, "/workloads/{id}/reach", "ask-for-reach", "Ask that programs outside the company network "+
		"can call an endpoint with its keys; answers with the request, which always needs an approval", "Workloads"),
		identity.ChangeWorkload, a.askReach)
	add(a, op(http.MethodDelete, "/workloads/{id}/reach", "end-reach", "Take the access from outside away from an "+
		"endpoint; within five seconds no such call passes", "Workloads"), identity.CloseReach, a.endReach)
}

type reachInput struct {
	ID   string `path:"id" maxLength:"64"`
	Key  string `header:"Idempotency-Key" maxLength:"100" doc:"The same key gives the same request, with other contents a conflict"`
	Body struct {
		Reason string `json:"reason" maxLength:"2000" doc:"For those who decide: who calls it, with which data"`
		Until  string `json:"until,omitempty" maxLength:"40" example:"2026-12-31" doc:"A day, to its end in UTC, or a time (RFC 3339); absent: for as long as the endpoint is there"`
	}
}

func (a *API) askReach(ctx context.Context, actor identity.Actor, in *reachInput) (*output[Request], error) {
	r, err := a.deps.Requests.Reach(ctx, actor, workload.ID(in.ID), request.ReachDraft{Reason: in.Body.Reason,
		Until: in.Body.Until, Key: in.Key})
	return reply(requestView(r, i18n.From(ctx)), err)
}

func (a *API) endReach(ctx context.Context, actor identity.Actor, in *idInput) (*struct{}, error) {
	_, err := a.deps.Workloads.CloseToOutside(ctx, actor, workload.ID(in.ID))
	return &struct{}{}, err
}
