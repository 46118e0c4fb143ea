package cost

import (
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/budgets"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// burndown draws how a budget in money is used up; nil for one in GPU-hours, and before anything was spent.
func (w *Pages) burndown(k page.Call, st budget.Status) (*budgets.BurndownModel, error) {
	b := st.Budget
	if !st.Set() || b.Unit == budget.GPUHours || b.Amount <= 0 {
		return nil, nil
	}
	scope := usage.All
	if !slices.Contains(usage.Scopes(k.Actor), scope) {
		scope = usage.Team
	}
	month, err := w.Usage.Statement(k.Ctx, k.Actor, scope, w.Usage.Month())
	if err != nil {
		return nil, err
	}
	days, err := w.Usage.Daily(k.Ctx, k.Actor, scope, month, "team", string(b.Unit))
	if err != nil {
		return nil, err
	}
	b, d, begun := w.burned(st, days, month.Whole)
	if !begun {
		return nil, nil
	}
	return w.burndownModel(k.Words, b, days, d), nil
}

// burned is how a budget is used up by what the days of a month cost, and begun whether anything was spent of it.
func (w *Pages) burned(st budget.Status, days []usage.DailyCost, whole usage.Span) (b budget.Budget,
	d budget.Burndown, begun bool) {
	b = st.Budget
	b.Amount -= st.Balance.Refunded // which is what came back, below zero
	d = budget.NewBurndown(b.Tenant, b.Amount, days, whole, w.Usage.Zone)
	return b, d, len(d.Left) > 0 && d.Left[len(d.Left)-1] != b.Amount
}

// forecasts are what the teams of a list will have spent by the end of the month, by their names. Nobody knows it of a
// budget in GPU-hours, nor of one of which nothing was spent; for readers who do not see all usage there are none.
// Unlimited is what all without a budget have spent.
func (w *Pages) forecasts(k page.Call, byTeam map[string]budget.Status,
	teams []tenant.Tenant) (list map[string]budgets.ForecastModel, unlimited usage.Money, err error) {
	list = map[string]budgets.ForecastModel{}
	if !slices.Contains(usage.Scopes(k.Actor), usage.All) {
		return list, unlimited, nil
	}
	var month usage.Statement
	days := map[budget.Unit][]usage.DailyCost{} // budgets of one site may be in several currencies
	for _, t := range teams {
		st, set := byTeam[t.Name], byTeam[t.Name].Set()
		if !set { // what it spends counts all the same
			st.Budget = budget.Budget{Tenant: t.Name, Unit: budget.Unit(w.Site().Catalog.Currency())}
		}
		unit := st.Budget.Unit
		if unit == "" || unit == budget.GPUHours || set && st.Budget.Amount <= 0 {
			continue
		}
		if len(days) == 0 {
			month, err = w.Usage.Statement(k.Ctx, k.Actor, usage.All, w.Usage.Month())
		}
		if _, read := days[unit]; err == nil && !read {
			days[unit], err = w.Usage.Daily(k.Ctx, k.Actor, usage.All, month, "team", string(unit))
		}
		if err != nil {
			return nil, unlimited, err
		}
		b, d, begun := w.burned(st, days[unit], month.Whole)
		last := len(d.Ahead) - 1
		switch {
		case !begun:
		case !set:
			f := budgets.ForecastModel{Spent: k.Words.InUnit(unit, -d.Left[len(d.Left)-1])}
			if last >= 0 {
				f.Words = k.Words.InUnit(unit, -d.Ahead[last])
			}
			list[t.Name] = f
		case last < 0 && d.UsedUp.IsZero():
		case !d.UsedUp.IsZero():
			list[t.Name] = budgets.ForecastModel{Words: k.Words.S("budgets.runs_out", "Day",
				k.Words.Day(d.UsedUp, w.Usage.Zone)), Short: true}
		default:
			list[t.Name] = budgets.ForecastModel{Words: k.Words.InUnit(unit, b.Amount-d.Ahead[last]),
				Short: d.Ahead[last] < 0}
		}
	}
	unlimited.Currency = w.Site().Catalog.Currency()
	for _, t := range w.Site().Directory.Tenants {
		if byTeam[t.Name].Set() {
			continue
		}
		for _, day := range days[budget.Unit(unlimited.Currency)] {
			unlimited.Minor += day.Cost[t.Name].Minor
		}
	}
	return list, unlimited, nil
}

// burndownModel is the chart of what was spent of an amount, with the sentence that it comes to and the table of what
// it shows. What is left is not drawn: commitments are not spent, so that it would be another number than that of the
// book.
func (w *Pages) burndownModel(say page.Words, b budget.Budget, days []usage.DailyCost,
	d budget.Burndown) *budgets.BurndownModel {
	first := days[0].Day.From.In(w.Usage.Zone)
	noon := time.Date(first.Year(), first.Month(), first.Day(), 12, 0, 0, 0, w.Usage.Zone)
	parts := func(left []int64) []float64 {
		values := make([]float64, len(left))
		for n, v := range left {
			values[n] = max(0, float64(b.Amount-v)/float64(b.Unit.Parts()))
		}
		return values
	}
	left := d.Left[len(d.Left)-1]
	m := &budgets.BurndownModel{
		Chart: ui.ChartModel{Label: say.S("budgets.burndown"), Values: parts(d.Left), Ahead: parts(d.Ahead), From: noon,
			Step: 24 * time.Hour, Top: float64(b.Amount) / float64(b.Unit.Parts()),
			TopWords: say.S("budgets.burndown_of", "Amount", say.InUnit(b.Unit, b.Amount))},
	}
	if m.Chart.Unit = string(b.Unit); b.Unit != budget.GPUHours {
		m.Chart.Sign, m.Chart.Unit = say.CurrencyMarks(string(b.Unit))
	}
	switch last := len(d.Ahead) - 1; {
	case left <= 0:
		m.Kind, m.Note = ui.Danger, say.S("budgets.used_up")
	case !d.UsedUp.IsZero():
		m.Kind, m.Note = ui.Warning, say.S("budgets.used_up_on", "Day", say.Day(d.UsedUp, w.Usage.Zone))
	case last >= 0:
		m.Forecast, m.Spare = say.InUnit(b.Unit, b.Amount-d.Ahead[last]), say.InUnit(b.Unit, d.Ahead[last])
	}
	all := slices.Concat(d.Left, d.Ahead)
	for n, v := range all {
		day := noon.AddDate(0, 0, n)
		m.Rows = append(m.Rows, budgets.BurndownRowModel{Day: say.Day(day, w.Usage.Zone),
			Spent: say.InUnit(b.Unit, b.Amount-v), Expected: n >= len(d.Left)})
	}
	m.Chart.Times = make([]ui.TimeModel, len(all))
	for _, n := range blocks.NamedDays(len(all)) {
		m.Chart.Times[n] = ui.TimeModel{Words: say.Day(noon.AddDate(0, 0, n), w.Usage.Zone),
			Machine: noon.AddDate(0, 0, n).Format(time.DateOnly)}
	}
	return m
}
