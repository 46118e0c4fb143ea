package blocks

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// counted is what pages count of snapshots, once for all who look.
type counted struct {
	totals inventory.Once[[]inventory.Total]
	stock  inventory.Once[[]usage.Stock]
	fits   capacity.Memo
}

// Totals is inventory.Totals of a snapshot, which all pages share.
func (w *Blocks) Totals(s inventory.Snapshot) []inventory.Total {
	return w.counted.totals.Of(s, nil, func() []inventory.Total { return inventory.Totals(s) })
}

// Stock is inventory.Stock of a snapshot, which all pages share.
func (w *Blocks) Stock(s inventory.Snapshot) []usage.Stock {
	return w.counted.stock.Of(s, nil, func() []usage.Stock { return inventory.Stock(s) })
}

// Fit is capacity.Fit of a snapshot, which all pages share.
func (w *Blocks) Fit(s inventory.Snapshot, size catalog.Size) inventory.Fit {
	return w.counted.fits.Fit(s, size)
}

// RequestFit is how many of a request's size its cluster has and has free; unknown where the cluster was not seen.
func (w *Blocks) RequestFit(ctx context.Context, snapshots request.Snapshots, r request.Request) inventory.Fit {
	snapshot, ok := snapshots.Snapshot(ctx, r.Spec.Cluster)
	if !ok {
		return inventory.Fit{}
	}
	return w.Fit(snapshot, r.Spec.Size)
}
