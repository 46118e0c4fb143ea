package api

import (
	"context"
	"net/http"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func (a *API) registerSystem() {
	add(a, op(http.MethodGet, "/system", "get-system", "Versions, checks of what the portal stands on with how to mend "+
		"what is wrong, processes, queues, jobs and log level; for admins and auditors", "Operation"), identity.ReadSystem,
		a.system)
	add(a, op(http.MethodPost, "/system/check", "check-system", "Have every process look again; the answer says that it "+
		"is under way, and what is found follows within seconds", "Operation"), identity.CheckSystem, a.checkSystem)
}

func (a *API) system(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[doctor.System], error) {
	s, err := a.deps.Doctor.Status(ctx, actor)
	return reply(s.System(i18n.From(ctx)), err)
}

func (a *API) checkSystem(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[doctor.System], error) {
	if err := a.deps.Doctor.Check(ctx, actor); err != nil {
		return nil, err
	}
	return a.system(ctx, actor, nil)
}
