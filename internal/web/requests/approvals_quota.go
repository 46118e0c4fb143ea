package requests

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// An ask for more quota starts nothing: it has no image, no length and no price, and takes no card from anybody. What
// matters is how many the team may hold, how many it does, and how many there are.

// askedItems are what stands of an ask where a start has its size, image, length and price.
func askedItems(say page.Words, r request.Request) []ui.DefModel {
	return []ui.DefModel{{Term: say.S("team.more_amount"), Value: say.S("requests.quota_amount", "Amount", r.Spec.Amount),
		Test: "amount"}}
}

// quotaTakes is what an approval of more quota would change.
func (w *Pages) quotaTakes(k page.Call, r request.Request) (requests.BarsModel, error) {
	var m requests.BarsModel
	say := k.Words
	if t, ok := w.Site().Directory.ByName(r.Spec.Tenant); ok {
		quotas, err := w.Quotas.Of(k.Ctx, t)
		if err != nil {
			return m, err
		}
		m.Bars = append(m.Bars, raiseBar(say, t.Display(), quotas[r.Spec.Size.Name], r))
	}
	fit := w.everywhere(k.Ctx, r.Spec.Size)
	if !fit.Known {
		m.Bars = append(m.Bars, ui.MeterModel{Label: say.S("requests.free_now"), Value: say.S("web.unknown"),
			Test: "capacity"})
		return m, nil
	}
	m.Bars = append(m.Bars, stockBar(say, fit, r.Spec.Amount))
	return m, nil
}

// everywhere is what there is of a size on all clusters: a quota is not of one.
func (w *Pages) everywhere(ctx context.Context, size catalog.Size) inventory.Fit {
	var all inventory.Fit
	for _, cluster := range w.Site().Clusters {
		if snapshot, ok := w.Snapshots.Snapshot(ctx, cluster); ok {
			fit := capacity.Fit(snapshot, size)
			all.Known, all.Free, all.Total = all.Known || fit.Known, all.Free+fit.Free, all.Total+fit.Total
		}
	}
	return all
}

// raiseBar draws what the team holds, and what it may hold more.
func raiseBar(say page.Words, team string, q request.Quota, r request.Request) ui.MeterModel {
	whole := float64(max(q.Limit, q.Used, r.Spec.Amount, 1))
	m := ui.MeterModel{Label: say.S("requests.quota", "Team", team), Value: say.S("requests.quota_change", "Before",
		q.Limit, "After", max(q.Limit, r.Spec.Amount)), Legend: true, Test: "quota",
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: float64(q.Used) / whole, Words: say.S("requests.held", "Count",
			q.Used)}}}
	if more := r.Spec.Amount - max(q.Limit, q.Used); r.State == request.Pending && more > 0 {
		m.Segments = append(m.Segments, ui.SegmentModel{Fill: ui.FillFree, Share: float64(max(0, q.Limit-q.Used)) / whole},
			ui.SegmentModel{Fill: ui.FillThis, Share: float64(more) / whole, Words: say.S("requests.quota_more", "Count", more)})
	}
	return m
}

// stockBar is what there is of the size for everybody; a promise of more than that can never be kept.
func stockBar(say page.Words, fit inventory.Fit, amount int) ui.MeterModel {
	held := max(0, fit.Total-fit.Free)
	m := ui.MeterModel{Label: say.S("requests.free_now"), Value: say.S("requests.free_of", "Free", fit.Free, "Total",
		fit.Total), Legend: true, Test: "capacity",
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: float64(held) / float64(max(fit.Total, 1)),
			Words: say.S("requests.held", "Count", held)}}}
	if amount > fit.Total {
		m.Segments[0].Fill, m.Detail = ui.FillWarning, say.S("requests.quota_beyond", "Total", fit.Total)
	}
	return m
}
