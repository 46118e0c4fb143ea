package platform

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	platformview "github.com/gpu-portal/gpu-portal/views/platform"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// attentionItems are what may want somebody, the worst first; what is fine comes last, so that it is seen to have been
// looked at.
func (w *Pages) attentionItems(say page.Words, o overview, pending request.Page) []platformview.ItemModel {
	items := []platformview.ItemModel{healthItem(say, o.levels)}
	if o.fleet.clusters > 0 {
		items = append(items, nodesItem(say, o.fleet))
	}
	items = append(items, approvalsItem(say, pending), w.budgetItem(say, o.books), licenseItem(say, o),
		catalogItem(say, len(o.wrong)))
	for i := range items {
		if items[i].Kind == ui.Danger || items[i].Kind == ui.Warning {
			items[i].Act = say.S("platform.act_" + items[i].ID)
		}
	}
	weight := map[ui.Kind]int{ui.Danger: 0, ui.Warning: 1, ui.Info: 2, ui.OK: 3}
	slices.SortStableFunc(items, func(a, b platformview.ItemModel) int {
		return cmp.Compare(weight[a.Kind], weight[b.Kind])
	})
	return items
}

// healthParts names what there is some of, with how many of each; of one kind alone the figure beside it says that.
func healthParts(say page.Words, broken, warned, quarantined int) string {
	var parts, alone []string
	for _, p := range []struct {
		id string
		n  int
	}{{"broken", broken}, {"warned", warned}, {"quarantined", quarantined}} {
		if p.n > 0 {
			parts = append(parts, say.S("platform.health_"+p.id, "Count", p.n))
			alone = append(alone, say.S("platform.health_all_"+p.id))
		}
	}
	if len(alone) == 1 {
		return alone[0]
	}
	return strings.Join(parts, ", ")
}

func healthItem(say page.Words, count health.LevelCount) platformview.ItemModel {
	broken, warned, quarantined := count[health.Broken], count[health.Warned], count[health.Quarantined]
	m := platformview.ItemModel{ID: "health", Kind: ui.OK, Label: say.S("platform.health"), Href: page.FleetHealthPath,
		Value: strconv.Itoa(broken + warned + quarantined), Detail: healthParts(say, broken, warned, quarantined)}
	switch {
	case broken > 0:
		m.Kind = ui.Danger
	case warned+quarantined > 0:
		m.Kind = ui.Warning
	case count[health.Fine] == 0:
		m.Kind, m.Value, m.Detail = ui.Info, "–", say.S("platform.health_unknown")
	default:
		m.Detail = say.S("platform.health_ok", "Unknown", count[health.Unknown])
	}
	return m
}

// closedNodesPath lists the nodes on which nothing starts.
const closedNodesPath = page.FleetPath + "?state=trouble"

// nodesItem is how many nodes take no workloads, and what that withholds.
func nodesItem(say page.Words, s fleetSums) platformview.ItemModel {
	closed := s.out.notReady + s.out.cordoned + s.out.quarantined
	m := platformview.ItemModel{ID: "nodes", Kind: ui.OK, Label: say.S("platform.nodes"), Value: strconv.Itoa(closed),
		Href: closedNodesPath, Detail: say.S("platform.nodes_ok")}
	if closed > 0 {
		m.Kind, m.Detail = ui.Warning, say.S("platform.nodes_detail", "Count", closed, "Cards",
			cardsText(say, s.broken))
	}
	if s.out.notReady > 0 {
		m.Kind = ui.Danger
	}
	return m
}

func approvalsItem(say page.Words, pending request.Page) platformview.ItemModel {
	m := platformview.ItemModel{ID: "approvals", Kind: ui.OK, Label: say.S("platform.approvals"), Href: "/approvals",
		Value:  countText(min(pending.Total, request.MostCounted), pending.Total > request.MostCounted),
		Detail: say.S("platform.approvals_none")}
	if len(pending.Items) > 0 {
		m.Kind, m.Detail = ui.Warning, say.S("platform.oldest", "Count", pending.Total, "Time",
			say.Since(pending.Items[0].CreatedAt).Words)
	}
	return m
}

// budgetItem counts the budgets whose bar is drawn as a warning.
func (w *Pages) budgetItem(say page.Words, books []budget.Status) platformview.ItemModel {
	m := platformview.ItemModel{ID: "budgets", Kind: ui.OK, Label: say.S("platform.budgets"), Href: page.BudgetsPath,
		Value: "0", Detail: say.S("platform.budgets_ok", "Count", len(books))}
	var names []string
	for _, st := range books {
		if st.Used() < blocks.BudgetAtRisk {
			continue
		}
		names = append(names, budgetWords(w, say, st))
		m.Kind = ui.Warning
		if st.Balance.Left < 0 {
			m.Kind = ui.Danger
		}
	}
	switch {
	case len(books) == 0:
		m.Kind, m.Value, m.Detail = ui.Info, "–", say.S("platform.budgets_none")
	case len(books) == 1 && len(names) == 0:
		m.Detail = say.S("platform.budgets_some", "Count", 1, "All", 1, "Teams", budgetWords(w, say, books[0]))
	case len(names) > 0:
		m.Value = strconv.Itoa(len(names))
		m.Detail = say.S("platform.budgets_some", "Count", len(books), "All", len(books), "Teams",
			strings.Join(names[:min(len(names), mostListed)], " · "))
	}
	return m
}

// budgetWords are a team and how much of its budget is used.
func budgetWords(w *Pages, say page.Words, st budget.Status) string {
	return w.TeamTitle(st.Budget.Tenant) + " " + say.Percent(float64(st.Used()))
}

// licenseItem tells the pool with the fewest seats left in proportion.
func licenseItem(say page.Words, o overview) platformview.ItemModel {
	m := platformview.ItemModel{ID: "licenses", Kind: ui.OK, Label: say.S("platform.licenses"), Href: "/licenses",
		Value: "–", Detail: say.S("platform.licenses_none")}
	least := 2.0
	for _, l := range o.pools {
		p := l.Status.Pool
		if p.Unknown || p.Seats == 0 {
			continue
		}
		share := float64(l.Status.Free()) / float64(p.Seats)
		if share >= least {
			continue
		}
		least = share
		m.Value = strconv.Itoa(l.Status.Free())
		m.Detail = say.S("platform.licenses_detail", "Pool", cmp.Or(p.Title, p.Name), "Seats", p.Seats)
		switch {
		case l.Status.Over() > 0:
			m.Kind = ui.Danger
		case l.Status.Free() == 0 || l.Forecast.UsedUpSoon():
			m.Kind = ui.Warning
		}
	}
	if least > 1 && len(o.pools) == 0 {
		m.Kind = ui.Info
	}
	return m
}

func catalogItem(say page.Words, n int) platformview.ItemModel {
	m := platformview.ItemModel{ID: "catalog", Kind: ui.OK, Label: say.S("platform.catalog"), Href: "/admin/sizes",
		Value: strconv.Itoa(n), Detail: say.S("platform.catalog_ok")}
	if n > 0 {
		m.Kind, m.Detail = ui.Warning, say.S("platform.catalog_detail")
	}
	return m
}
