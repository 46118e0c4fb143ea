package cost

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/usage", identity.ReadUsage, w.usagePage()),
		page.Get("/usage/export", identity.ReadUsage, w.usageExport),
		w.Shows(page.DemandPath, identity.ReadUsage, w.demandPage()),
		w.Shows(page.ReconciliationPath, identity.ReadUsage, w.fleetHoursPage()),
		page.Get(page.ReconciliationPath+"/export", identity.ReadUsage, w.reconciliationExport),
		w.Shows(page.PricesPath, identity.ReadPrices, w.pricesPage()),
		page.Post(page.PricesPath, identity.ChangePrices, w.priceAdd),
		page.Post(pricesCheckPath, identity.ChangePrices, w.priceCheck),
		page.Post(page.PricesPath+"/:id/end", identity.ChangePrices, w.priceEnd),
		w.Shows("/admin/budgets", identity.ReadBudget, w.budgetsPage()),
		w.Shows("/admin/budgets/:name", identity.ReadBudget, w.teamBudgetPage()),
		page.Post("/admin/budgets/:name", identity.ChangeBudget, w.budgetSet),
		page.Post("/admin/budgets/:name/remove", identity.ChangeBudget, w.budgetRemove),
		page.Post("/admin/budgets/:name/refund", identity.ChangeBudget, w.budgetRefund),
	}
}

func (w *Pages) usagePage() page.Page {
	return page.Page{Name: "usage", Build: w.usage}
}

func (w *Pages) demandPage() page.Page {
	return page.Page{Name: "demand", Build: w.demand}
}

func (w *Pages) fleetHoursPage() page.Page {
	return page.Page{Name: "fleet-hours", Build: w.reconciliation}
}

func (w *Pages) pricesPage() page.Page {
	return page.Page{Name: "prices", Build: w.prices, Topics: page.Topics{live.TopicPrices}}
}

func (w *Pages) budgetsPage() page.Page {
	return page.Page{Name: "budgets", Build: w.budgets, Topics: page.Topics{live.TopicBudget}}
}

func (w *Pages) teamBudgetPage() page.Page {
	return page.Page{Name: "budget", Build: w.teamBudget, Topics: page.Topics{live.TopicBudget}}
}
