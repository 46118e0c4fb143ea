package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// BudgetAtRisk is from how many per cent on a budget is shown as nearly used up.
const BudgetAtRisk = 80

// BudgetBar is what of a month is spent, committed and left. Spent is less what was refunded, so that the three add up
// to the budget. Of a budget that is overdrawn nothing is left: the line below the bar says by how much.
func BudgetBar(say page.Words, st budget.Status) *ui.MeterModel {
	return budgetBar(say, st, func(word string, amount int64) string {
		return say.S(word) + " " + say.InUnit(st.Budget.Unit, amount)
	})
}

// BudgetKey is the bar for a page that has the amounts beside it: its legend names the colours alone.
func BudgetKey(say page.Words, st budget.Status) *ui.MeterModel {
	return budgetBar(say, st, func(word string, _ int64) string { return say.S(word) })
}

func budgetBar(say page.Words, st budget.Status, words func(word string, amount int64) string) *ui.MeterModel {
	u, whole := st.Budget.Unit, float64(max(st.Budget.Amount, 1))
	used := st.Budget.Amount - st.Balance.Left
	part := func(fill ui.Fill, word string, amount int64) ui.SegmentModel {
		return ui.SegmentModel{Fill: fill, Share: float64(amount) / whole, Words: words(word, amount)}
	}
	spent := part(ui.FillUsed, "budgets.spent", used-st.Balance.Held)
	if st.Used() >= BudgetAtRisk {
		spent.Fill = ui.FillWarning
	}
	m := &ui.MeterModel{Label: say.S("budgets.bar", "Month", say.Month(monthOf(st))), Legend: true,
		Value: say.S("budgets.used_of", "Used", say.InUnit(u, used), "Amount", say.InUnit(u, st.Budget.Amount), "Percent",
			say.Percent(float64(st.Used()))),
		Segments: []ui.SegmentModel{spent, part(ui.FillThis, "budgets.held", st.Balance.Held)}}
	if st.Balance.Left >= 0 {
		m.Segments = append(m.Segments, part(ui.FillFree, "budgets.left", st.Balance.Left))
	} else {
		m.Detail = say.S("budgets.overdrawn", "More", say.InUnit(u, -st.Balance.Left))
	}
	return m
}

// monthOf is the month of a standing; its span begins with it.
func monthOf(st budget.Status) usage.Month {
	return usage.MonthOf(st.Span.From, st.Span.From.Location())
}

// BudgetAfter is what would be left of the month's budget; nil for a team without one.
func BudgetAfter(say page.Words, a budget.Ask) *ui.MeterModel {
	if !a.Set() {
		return nil
	}
	u, whole := a.Budget.Unit, float64(max(a.Budget.Amount, 1))
	m := &ui.MeterModel{Label: say.S("budgets.after"), Value: say.S("budgets.after_value", "After",
		say.InUnit(u, a.After()), "Amount", say.InUnit(u, a.Budget.Amount)), Legend: true,
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: float64(a.Budget.Amount-a.Left) / whole},
			{Fill: ui.FillThis, Share: float64(a.Cost) / whole, Words: say.S("start.this_one")}}}
	if !a.Fits() {
		m.Segments[0].Fill, m.Detail = ui.FillWarning, say.Text(a.Sentence("budget.short"))
	}
	return m
}

// BudgetFact is a team's budget in one line, for pages about the team.
func (w *Blocks) BudgetFact(k page.Call, team string) (*ui.MeterModel, string, error) {
	st, err := w.Budgets.Of(k.Ctx, k.Actor, team)
	if err != nil || !st.Set() {
		return nil, k.Words.Text(i18n.T("budget.not_set")), err
	}
	return BudgetBar(k.Words, st), "", nil
}
