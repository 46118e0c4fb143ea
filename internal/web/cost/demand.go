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
func (w *Pages) demandTiles(say page.Words, unmet []usage.UnmetDemand, was earlier) []ui.TileModel {
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
		{Label: say.S("demand.tile_total"), Value: say.Number(float64(total)), Detail: was.words(say, was.total),
			Test: "tile-total"},
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

// earlier is what was missed in the month before, by size and reason.
type earlier struct {
	month usage.Month
	total int
	count map[usage.UnmetReason]map[string]int
}

// before is the month before; nothing where nothing was missed in it, which may be before anybody counted.
func (w *Pages) before(k page.Call, month usage.Month) (earlier, error) {
	was := earlier{month: month.Add(-1), count: map[usage.UnmetReason]map[string]int{}}
	unmet, err := w.Usage.UnmetDemand(k.Ctx, k.Actor, was.month)
	for _, u := range unmet {
		if was.count[u.Reason] == nil {
			was.count[u.Reason] = map[string]int{}
		}
		was.count[u.Reason][u.Size], was.total = u.Count, was.total+u.Count
	}
	return was, err
}

// words say how many it was; "" where nothing is known of the month.
func (e earlier) words(say page.Words, count int) string {
	if e.total == 0 || count == 0 {
		return ""
	}
	return say.S("demand.was", "Number", say.Number(float64(count)), "Month", say.Month(e.month))
}

// mostTeams is how many of the teams that asked are named.
const mostTeams = 5

// unmetModel is one size and reason.
func (w *Pages) unmetModel(k page.Call, u usage.UnmetDemand, was earlier) usageview.UnmetModel {
	say := k.Words
	row := usageview.UnmetModel{Size: w.priceOf(say, usage.PriceSize, u.Size),
		Reason: page.UpperFirst(say.Say(i18n.T("demand.reason_" + string(u.Reason)))),
		Count:  say.Number(float64(u.Count)), Attempts: attempts(say, u),
		Was: was.words(say, was.count[u.Reason][u.Size]), People: say.Number(float64(u.People)), Longest: "–"}
	row.Size.Detail = u.Size
	if _, known := w.Site().Catalog.Size(u.Size); !known {
		row.Size.Detail = say.S("demand.removed")
	}
	for _, t := range u.Tenants[:min(mostTeams, len(u.Tenants))] {
		team := ui.StackModel{Title: w.TeamTitle(t)}
		if _, there := w.Site().Directory.ByName(t); there {
			team.Href = page.TeamPath(t)
		}
		row.Teams = append(row.Teams, team)
	}
	if more := len(u.Tenants) - mostTeams; more > 0 {
		row.Teams = append(row.Teams, ui.StackModel{Title: "+" + say.Number(float64(more))})
	}
	if u.Longest > 0 {
		row.Longest = say.Duration(u.Longest.Round(time.Minute))
	}
	if to := remedies[u.Reason]; identity.Can(k.Actor, identity.ChangeTenants, identity.Resource{}) {
		row.Remedy = &to
	}
	return row
}

// attempts are how often it was asked for; "" where that is the number of requests.
func attempts(say page.Words, u usage.UnmetDemand) string {
	if u.Attempts == u.Count {
		return ""
	}
	return say.S("demand.attempts", "Count", u.Attempts)
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
	was, err := w.before(k, c.month)
	if err != nil {
		return page.View{}, err
	}
	m.Tiles = w.demandTiles(say, unmet, was)
	for _, u := range unmet { // most first
		m.Rows = append(m.Rows, w.unmetModel(k, u, was))
	}
	return page.View{Title: m.Header.Title, Nav: page.DemandPath, Wide: true, Body: usageview.Demand(m),
		Parts: []page.Part{{ID: "usage-demand", Draw: func(page.Words) templ.Component { return usageview.Demand(m) }}}}, nil
}
