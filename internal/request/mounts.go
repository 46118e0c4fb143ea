package request

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// mounted fills in what the team's volumes are that a spec names. One of another team is one that does not exist.
func mounted(ctx context.Context, in Reader, w *Spec) (fields []fault.Field, err error) {
	var mounts []workload.Mount
	for _, m := range w.Mounts {
		v, err := in.Volume(ctx, workload.ClaimOf(w.Tenant, m.Name))
		switch {
		case err != nil && !fault.Is(err, fault.NotFound):
			return nil, err
		case err != nil || v.Deleted || !v.OfTeam() || v.Tenant != w.Tenant:
			fields = append(fields, fault.Field{Name: w.mountField(m.Name), Reason: i18n.T("request.mount_unknown", "Volume",
				clip(m.Name))})
		case v.PendingDeletion():
			fields = append(fields, fault.Field{Name: w.mountField(m.Name), Reason: i18n.T("request.mount_pending_deletion",
				"Volume", clip(m.Name))})
		case w.Cluster != "" && v.Cluster != w.Cluster:
			fields = append(fields, fault.Field{Name: w.mountField(m.Name), Reason: i18n.T("request.mount_elsewhere",
				"Volume", m.Name, "Cluster", v.Cluster, "Here", w.Cluster)})
		default:
			mounts = append(mounts, v.Mounted())
		}
	}
	w.Mounts = slices.Clip(mounts)
	return fields, nil
}
