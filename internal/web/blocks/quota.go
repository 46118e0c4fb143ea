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
	}
	return bars, others, nil
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
		Segments: []ui.SegmentModel{{Fill: fill, Share: share}}, Test: "quota-bar"}
}

// MoreQuota leads from a size of which the team may hold no more to the form that asks for it.
func MoreQuota(say page.Words, team, size string) *ui.LinkButtonModel {
	return &ui.LinkButtonModel{Label: say.S("team.more_quota"), Href: page.TeamPath(team) + "/quota?size=" +
		url.QueryEscape(size), Kind: ui.LinkLike, Small: true, Test: "more-quota"}
}

// QuotaAfter is the team's quota with what this would take.
func QuotaAfter(say page.Words, q request.Quota, title string) *ui.MeterModel {
	whole := float64(max(q.Limit, q.Used, 1))
	m := &ui.MeterModel{Label: say.S("start.quota_after", "Size", title), Value: say.S("web.used_of", "Used", q.Used,
		"Limit", q.Limit), Test: "quota-after", Legend: true,
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: float64(q.Used) / whole}}}
	if !q.Full() {
		m.Segments = append(m.Segments, ui.SegmentModel{Fill: ui.FillThis, Share: 1 / whole, Words: say.S("start.this_one")})
	}
	return m
}
