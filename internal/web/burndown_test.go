package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestHowABudgetIsUsedUp: the page of a budget draws what is spent by day, to the amount at the top, and says what
// the month comes to. A member of the team sees the same; a budget in GPU-hours, and one of which nothing is spent,
// have no chart.
func TestHowABudgetIsUsedUp(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	set := func(team string, d budget.Draft) {
		if _, err := w.BudgetService.Set(t.Context(), w.Actor(webtest.Dora), team, d); err != nil {
			t.Fatal(err)
		}
	}
	set("vision", budget.Draft{Unit: "EUR", Amount: 100_000, AtLimit: budget.Approval})
	doc := read(t, w.Get(webtest.Dora, "/admin/budgets/vision"), http.StatusOK)
	wantText(t, doc, "burndown", "of €1,000.00")
	wantText(t, doc, "budget-forecast", "Forecast for month-end", "on track")
	wantAbsent(t, doc, "burndown-note")
	days := part(doc, "burndown").Find("tbody tr")
	if days.Length() != 30 {
		t.Errorf("want each day of November, got %d", days.Length())
	}
	if last := textOf(days.Last()); !strings.HasPrefix(last, "30 Nov expected €") {
		t.Errorf("want the last day expected, got %q", last)
	}
	wantText(t, read(t, w.Get(webtest.Anna, "/admin/budgets/vision"), http.StatusOK), "burndown", "of €1,000.00")
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/admin/budgets/speech"), http.StatusOK), "burndown")

	w = webtest.Busy(t)
	set("vision", budget.Draft{Unit: "EUR", Amount: 5_000, AtLimit: budget.Approval})
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/budgets/vision"), http.StatusOK), "burndown-note",
		"the budget runs out on 2")

	w = webtest.Busy(t)
	set("vision", budget.Draft{Unit: budget.GPUHours, Amount: 7_000_000, AtLimit: budget.Approval})
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/admin/budgets/vision"), http.StatusOK), "burndown")
}
