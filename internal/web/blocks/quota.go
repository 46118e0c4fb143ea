package blocks

import (
	"net/url"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// QuotaBars are the quotas of a team, first those of what it has.
func (w *Blocks) QuotaBars(k page.Call, t tenant.Tenant) ([]ui.MeterModel, error) {
	bars, others, err := w.QuotaParts(k, t)
	return append(bars, others...), err
}

// QuotaParts parts the bars that say something from those of sizes that the quota does not name and nobody holds: with
// tenant.EverySize they are as many as the catalog is long.
func (w *Blocks) QuotaParts(k page.Call, t tenant.Tenant) (bars, others []ui.MeterModel, err error) {
	quotas, err := w.Quotas.Of(k.Ctx, t)
	if err != nil {
		return nil, nil, err
	}
	for _, size := range w.Site().Catalog.Sizes {
		q, ok := quotas[size.Name]
		_, named := t.Quota[size.Name]
		switch bar := quotaBar(k.Words, k.Words.SizeTitle(size), q); {
		case !ok:
		case named || q.Used > 0:
			bars = append(bars, bar)
		default:
			others = append(others, bar)
		}
		for _, cluster := range w.Site().Clusters {
			if q, ok := quotas[tenant.QuotaKey(size.Name, cluster)]; ok {
				bars = append(bars, quotaBar(k.Words, k.Words.S("workload.size_on", "Size", k.Words.SizeTitle(size), "Cluster",
					cluster), q))
			}
		}
	}
	return bars, others, nil
}

// RequestQuotas are the quotas of the teams of several requests: a team is looked up once.
type RequestQuotas map[string]map[string]request.Quota

// Of is what the team of a start may hold of its size and holds; ok is false of what takes nothing of a quota.
func (q RequestQuotas) Of(k page.Call, w *Blocks, r request.Request) (of request.Quota, ok bool, err error) {
	t, known := w.Site().Directory.ByName(r.Spec.Tenant)
	if !known || r.Kind != request.StartKind {
		return of, false, nil
	}
	if q[t.Name] == nil {
		if q[t.Name], err = w.Quotas.Of(k.Ctx, t); err != nil {
			return of, false, err
		}
	}
	return q[t.Name][r.Spec.Size.Name], true, nil
}

func quotaBar(say page.Words, title string, q request.Quota) ui.MeterModel {
	fill := ui.FillUsed
	if q.Full() {
		fill = ui.FillWarning
	}
	share := 1.0
	if q.Limit > 0 {
		share = float64(q.Used) / float64(q.Limit)
	}
	return ui.MeterModel{Label: title, Value: say.S("web.used_of", "Used", q.Used, "Limit", q.Limit),
		Segments: []ui.SegmentModel{{Fill: fill, Share: share}}}
}

// MoreQuotaPath leads from a size of which the team may hold no more to the form that asks for it.
func MoreQuotaPath(team, size string) string {
	return page.TeamPath(team) + "/quota?size=" + url.QueryEscape(size)
}
