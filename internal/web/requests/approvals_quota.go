package requests

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
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
	room, err := w.Quotas.RoomFor(k.Ctx, t, r)
	m := &requests.QuotaModel{Team: t.Display(), Used: room.Quota.Used, Limit: room.Quota.Limit, Takes: started(r),
		Refuses: room.Refuses}
	if m.Refuses {
		m.Smaller = sizeOptions(k.Words, room.Smaller)
	}
	return m, err
}

// shortModel says what stands in the way of an approval that the quota refuses, and the ways on; nil where it does not,
// and where others have to approve after this person: the quota is checked with the last approval.
func (w *Pages) shortModel(k page.Call, r request.Request, q *requests.QuotaModel) *requests.ShortModel {
	if q == nil || !q.Refuses || !w.Approvals.Completes(k.Actor, r) {
		return nil
	}
	m := &requests.ShortModel{Smaller: q.Smaller}
	switch team := r.Spec.Tenant; {
	case identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}):
		m.Change = page.TenantEditPath(team)
	case identity.Can(k.Actor, identity.SubmitRequest, identity.Resource{Tenant: team}):
		m.Ask = blocks.MoreQuotaPath(team, r.Spec.Size.Name)
	}
	return m
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
