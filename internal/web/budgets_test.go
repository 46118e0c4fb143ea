package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestABudgetIsSetAndStopsAStart(t *testing.T) {
	w := webtest.Busy(t)
	if page := w.Get(webtest.Anna, "/team").Body.String(); !strings.Contains(page, "no budget") {
		t.Error("a team without a budget is told so")
	}
	form := url.Values{"amount": {"0,01"}, "unit": {"EUR"}, "atLimit": {"stop"}, "version": {"0"}}
	if answer := w.Post(webtest.Anna, "/admin/budgets/vision", form); answer.Code < 400 {
		t.Errorf("want a member refused, got %d", answer.Code)
	}
	wrong := url.Values{"amount": {"ten"}, "unit": {"EUR"}, "atLimit": {"stop"}, "version": {"0"}}
	if answer := w.Post(webtest.Dora, "/admin/budgets/vision", wrong); answer.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(answer.Body.String(), `value="ten"`) {
		t.Errorf("want the form back with what was typed, got %d", answer.Code)
	}
	if answer := w.Post(webtest.Dora, "/admin/budgets/vision", form); answer.Code != http.StatusSeeOther {
		t.Fatalf("want it saved, got %d: %s", answer.Code, answer.Body)
	}
	if answer := w.Post(webtest.Dora, "/admin/budgets/vision", form); answer.Code != http.StatusConflict {
		t.Errorf("want the second of two to hear of it, got %d", answer.Code)
	}
	page := w.Get(webtest.Dora, "/admin/budgets/vision").Body.String()
	for _, want := range []string{`data-test="budget-bar"`, `data-test="book-line"`, `data-test="book-sum"`,
		`data-test="refund-form"`, "Monthly budget"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if page = w.Get(webtest.Anna, "/admin/budgets/vision").Body.String(); strings.Contains(page,
		`data-test="budget-form"`) || !strings.Contains(page, `data-test="book-line"`) {
		t.Error("a member reads the book and cannot change the budget")
	}
	start := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"mig-1g.10gb"}, "image": {"jupyterlab"},
		"lease": {"8h"}, "reason": {"a test"}, "name": {"too-dear"}}
	summary := w.Post(webtest.Anna, "/start/summary", start).Body.String()
	if !strings.Contains(summary, `data-test="budget-after"`) {
		t.Error("the summary does not say what is left of the budget")
	}
	answer := w.Post(webtest.Anna, "/start", start)
	if answer.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(answer.Body.String(), "left of this month&#39;s budget") {
		t.Errorf("want the start refused with the budget as its reason, got %d", answer.Code)
	}
	if answer := w.Get(webtest.Anna, "/admin/budgets/speech"); answer.Code != http.StatusNotFound {
		t.Errorf("another team's budget is not there for her, got %d", answer.Code)
	}
}

// TestABudgetHasOneNumberThatIsLeft: the page once said what was left in three ways that differed, for commitments and
// the forecast. What is spent, committed and left adds up to the budget, in the list too.
func TestABudgetHasOneNumberThatIsLeft(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	d := budget.Draft{Unit: "EUR", Amount: 100_000, AtLimit: budget.Approval}
	if _, err := w.BudgetService.Set(t.Context(), w.Actor(webtest.Dora), "vision", d); err != nil {
		t.Fatal(err)
	}
	doc := read(t, w.Get(webtest.Dora, "/admin/budgets/vision"), http.StatusOK)
	standing := part(doc, "budget")
	amount := func(tile string) string { return textOf(In(standing, tile).Find(".gp-tile__value")) }
	left, spent, held := amount("budget-left"), amount("budget-spent"), amount("budget-held")
	legend := textOf(In(standing, "budget-bar").Find(".gp-legend-list"))
	if !strings.HasPrefix(left, "€") || legend != "Spent Committed Left" {
		t.Errorf("want what is left, and a legend that names the parts, got %q and %q", left, legend)
	}
	if text := textOf(standing); strings.Contains(text, "unspent") || strings.Contains(text, "is left at month end") {
		t.Errorf("want nothing else that is left, got %q", text)
	}
	list := read(t, w.Get(webtest.Dora, "/admin/budgets"), http.StatusOK)
	if ahead := amount("budget-forecast"); textOf(part(list, "budget-forecast").First()) != ahead || ahead == "" {
		t.Errorf("want the forecast of the team's own page, %q, in the list too, got %q", ahead,
			textOf(part(list, "budget-forecast")))
	}
	wantText(t, list, "budgets-without", "spent, no limit")
	last := textOf(part(list, "budget-row").Last())
	if !strings.Contains(last, "Speech") || !strings.Contains(last, "Spent €") {
		t.Errorf("want what a team without a budget has spent, below those that have one, got %q", last)
	}
	if bar := textOf(part(list, "budget-bar")); bar != "Spent "+spent+" Committed "+held {
		t.Errorf("want the parts without what is left, which has a column, got %q", bar)
	}

	tile := func(doc *goquery.Document, name string) string {
		return textOf(part(doc, name).Find(".gp-tile__value"))
	}
	wantText(t, list, "budgets-used", "of €1,000.00 in budgets, €918.86 left")
	wantText(t, list, "budget-share", "8 %")
	wantText(t, list, "limit-words", "When used up: approval")
	if used, none := tile(list, "budgets-used"), tile(list, "budgets-without"); used != "€81.14" || none != "1" ||
		tile(list, "budgets-near") != "0" {
		t.Errorf("want what the budgets have used, and one team without a budget, got %q and %q", used, none)
	}
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/admin/budgets?q=vis"), http.StatusOK), "budgets-used")
	hours := budget.Draft{Unit: budget.GPUHours, Amount: 10 * budget.GPUHours.Parts(), AtLimit: budget.Approval}
	if _, err := w.BudgetService.Set(t.Context(), w.Actor(webtest.Dora), "speech", hours); err != nil {
		t.Fatal(err)
	}
	mixed := read(t, w.Get(webtest.Dora, "/admin/budgets"), http.StatusOK)
	wantAbsent(t, mixed, "budgets-used") // euros and hours have no sum
	if none := tile(mixed, "budgets-without"); none != "0" {
		t.Errorf("want no team without a budget, got %q", none)
	}

	over := webtest.Busy(t)
	d.Amount = 100
	if _, err := over.BudgetService.Set(t.Context(), over.Actor(webtest.Dora), "vision", d); err != nil {
		t.Fatal(err)
	}
	if near := tile(read(t, over.Get(webtest.Dora, "/admin/budgets"), http.StatusOK), "budgets-near"); near != "1" {
		t.Errorf("want one that is used up, got %q", near)
	}
	doc = read(t, over.Get(webtest.Dora, "/admin/budgets/vision"), http.StatusOK)
	wantText(t, doc, "budget-left", "−€80.14")
	if text := textOf(part(doc, "budget-bar")); strings.Contains(text, "Left") || !strings.Contains(text, "by €80.14") {
		t.Errorf("want an overdrawn budget to say by how much, got %q", text)
	}
}

// TestATeamWithoutABudgetLeadsToTheForm: for those who may set one.
func TestATeamWithoutABudgetLeadsToTheForm(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	link := part(read(t, w.Get(webtest.Dora, "/admin/budgets"), http.StatusOK), "set-budget").First()
	page, id, _ := strings.Cut(link.AttrOr("href", ""), "#")
	if doc := read(t, w.Get(webtest.Dora, page), http.StatusOK); doc.Find("form#"+id).Length() != 1 {
		t.Errorf("want the form behind %q", link.AttrOr("href", ""))
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/admin/budgets"), http.StatusOK), "set-budget")
}
