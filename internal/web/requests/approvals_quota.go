package requests

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
)

// An ask for more quota starts nothing: it has no image, no length and no price, and takes no card from anybody. What
// matters is how many the team may hold, how many it does, and how many there are.

// quotaTakes is what an approval of more quota would change.
func (w *Pages) quotaTakes(k page.Call, r request.Request) (requests.BarsModel, error) {
	m := requests.BarsModel{Raise: &requests.RaiseModel{Amount: r.Spec.Amount, Open: r.State == request.Pending}}
	var err error
	if m.Quota, err = w.quotaModel(k, r); err != nil {
		return m, err
	}
	fit := w.everywhere(k.Ctx, r.Spec.Size)
	m.Stock = requests.StockModel{Known: fit.Known, Free: fit.Free, Total: fit.Total}
	return m, nil
}

// quotaModel is nil for a team that is gone.
func (w *Pages) quotaModel(k page.Call, r request.Request) (*requests.QuotaModel, error) {
	t, ok := w.Site().Directory.ByName(r.Spec.Tenant)
	if !ok {
		return nil, nil
	}
	quotas, err := w.Quotas.Of(k.Ctx, t)
	q := quotas[r.Spec.Size.Name]
	m := &requests.QuotaModel{Team: t.Display(), Used: q.Used, Limit: q.Limit, Takes: started(r),
		Refuses: q.Full() && r.Kind == request.StartKind}
	if m.Refuses {
		m.Smaller = len(request.Smaller(w.Site().Catalog, r)) > 0
		if identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
			m.Change = page.TenantEditPath(t.Name)
		}
	}
	return m, err
}

// everywhere is what there is of a size on all clusters: a quota is not of one.
func (w *Pages) everywhere(ctx context.Context, size catalog.Size) inventory.Fit {
	var all inventory.Fit
	for _, cluster := range w.Site().Clusters {
		if snapshot, ok := w.Snapshots.Snapshot(ctx, cluster); ok {
			fit := w.Fit(snapshot, size)
			all.Known, all.Free, all.Total = all.Known || fit.Known, all.Free+fit.Free, all.Total+fit.Total
		}
	}
	return all
}
