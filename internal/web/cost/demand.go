package cost

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// remedies are where an administrator does away with a reason.
var remedies = map[usage.UnmetReason]usageview.RemedyModel{
	usage.UnmetQuota:     {ID: "quota", Href: page.TenantsPath},
	usage.UnmetNone:      {ID: "quota", Href: page.TenantsPath},
	usage.UnmetSeats:     {ID: "seats", Href: page.LicensesPath},
	usage.UnmetBudget:    {ID: "budget", Href: page.BudgetsPath},
	usage.UnmetRule:      {ID: "rule", Href: page.RulesPath},
	usage.UnmetExpired:   {ID: "rule", Href: page.RulesPath},
	usage.UnmetWithdrawn: {ID: "capacity", Href: page.FleetPath},
}

// demandTiles are how much was missed, of what, and how long somebody waited for nothing.
func (w *Pages) demandTiles(say page.Words, unmet []usage.UnmetDemand) []ui.TileModel {
	var total int
	var longest usage.UnmetDemand
	bySize := map[string]int{}
	for _, u := range unmet {
		total += u.Count
		bySize[u.Size] += u.Count
		if u.Longest > longest.Longest {
			longest = u
		}
	}
	sizes := slices.Sorted(maps.Keys(bySize))
	if len(sizes) == 0 {
		return nil
	}
	most := slices.MaxFunc(sizes, func(a, b string) int { return cmp.Compare(bySize[a], bySize[b]) })
	tiles := []ui.TileModel{
		{Label: say.S("demand.tile_total"), Value: say.Number(float64(total)), Test: "tile-total"},
		{Label: say.S("demand.tile_size"), Value: w.priceOf(say, usage.PriceSize, most).Title,
			Detail: say.S("demand.tile_size_of", "Count", bySize[most], "Total", total), Test: "tile-size"},
	}
	if longest.Longest > 0 {
		tiles = append(tiles, ui.TileModel{Label: say.S("demand.col_longest"),
			Value:  say.Duration(longest.Longest.Round(time.Minute)),
			Detail: w.priceOf(say, usage.PriceSize, longest.Size).Title, Test: "tile-longest"})
	}
	return tiles
}

// demand answers: what did people ask for and not get.
func (w *Pages) demand(k page.Call) (page.View, error) {
	c := w.usageChoice(k)
	unmet, err := w.Usage.UnmetDemand(k.Ctx, k.Actor, c.month)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := usageview.DemandModel{Header: ui.HeaderModel{Title: say.S("demand.title"), Lead: say.S("demand.lead", "Zone",
		w.Usage.Zone.String())},
		Months: w.monthSwitch(say, c, page.DemandPath)}
	m.Tiles = w.demandTiles(say, unmet)
	for _, u := range unmet {
		row := usageview.UnmetModel{Size: w.priceOf(say, usage.PriceSize, u.Size),
			Reason: say.Say(i18n.T("demand.reason_" + string(u.Reason))),
			Count:  say.Number(float64(u.Count)), Attempts: say.Number(float64(u.Attempts)),
			People: say.Number(float64(u.People)), Longest: "–"}
		row.Size.Detail = u.Size
		if u.Longest > 0 {
			row.Longest = say.Duration(u.Longest.Round(time.Minute))
		}
		if to := remedies[u.Reason]; identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
			row.Remedy = &to
		}
		m.Rows = append(m.Rows, row)
	}
	return page.View{Title: m.Header.Title, Nav: page.DemandPath, Wide: true, Body: usageview.Demand(m),
		Parts: []page.Part{{ID: "usage-demand", Draw: func(page.Words) templ.Component { return usageview.Demand(m) }}}}, nil
}
