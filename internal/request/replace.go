package request

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// replaced is the workload in whose place another one is asked for: one of the same team that the asker may stop.
// Nothing happens to it; its page and that of the new one say so.
func replaced(ctx context.Context, in Reader, a identity.Actor, d Draft) (workload.ID, *fault.Field, error) {
	if d.Replaces == "" {
		return "", nil, nil
	}
	w, err := in.Workload(ctx, d.Replaces)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", nil, err
	}
	if err != nil || w.Tenant != d.Tenant || workload.Permit(a, identity.ChangeWorkload, w) != nil {
		return "", &fault.Field{Name: "replaces", Reason: i18n.T("request.replaces_unknown")}, nil
	}
	return w.ID, nil, nil
}
