package cost

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/budgets"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// budgets answers: which team runs out of money.
func (w *Pages) budgets(k page.Call) (page.View, error) {
	standings, err := w.Budgets.All(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	byTeam := map[string]budget.Status{}
	for _, st := range standings {
		byTeam[st.Budget.Tenant] = st
	}
	say := k.Words
	m := budgets.PageModel{Header: ui.HeaderModel{Title: say.S("budgets.title"), Lead: say.S("budgets.lead")}}
	sets := identity.Can(k.Actor, identity.ChangeBudget, identity.Resource{})
	teams := page.Matching(w.Site().Directory.Tenants, k.Get("q"),
		func(t tenant.Tenant) string { return t.Name + " " + t.Display() })
	teams, m.List = page.RowsOf(say, page.ListOf(k, page.BudgetsPath, budgetOrders, "q"), say.S("budgets.title"),
		teams, budgetKeys(byTeam))
	m.Filter = blocks.TeamFilter(say, page.BudgetsPath, k.Get("q"))
	ahead, unlimited, err := w.forecasts(k, byTeam, teams)
	if err != nil {
		return page.View{}, err
	}
	if k.Get("q") == "" {
		m.Tiles = budgetTiles(say, standings, len(w.Site().Directory.Tenants), unlimited)
	}
	for _, t := range teams {
		row := budgets.RowModel{Team: t.Display(), Href: page.BudgetPath(t.Name), Forecast: ahead[t.Name]}
		if st := byTeam[t.Name]; st.Set() {
			row.Amount, row.Left = say.InUnit(st.Budget.Unit, st.Budget.Amount), say.InUnit(st.Budget.Unit, st.Balance.Left)
			row.AtLimit, row.Bar = budgets.Limit(st.Budget.AtLimit), blocks.BudgetBar(say, st)
			row.Share = say.Percent(float64(st.Used()))
			row.Bar.Bare, row.Bar.Segments = true, withoutLeft(row.Bar.Segments) // which has a column
		}
		if sets {
			row.Set = page.BudgetPath(t.Name) + "#" + budgets.SetID
		}
		m.Rows = append(m.Rows, row)
	}
	return page.View{Title: m.Header.Title, Nav: page.BudgetsPath, Wide: true, Body: budgets.Page(m),
		Parts: []page.Part{{ID: "budgets", Draw: func(page.Words) templ.Component { return budgets.List(m) }}}}, nil
}

// budgetTiles are what all teams have used, those whose budgets are nearly used up, and those without one. Sums are of
// one unit: where teams have several, none is told. Unlimited is what those without a budget have spent.
func budgetTiles(say page.Words, standings []budget.Status, teams int, unlimited usage.Money) []ui.TileModel {
	var used, amount int64
	var unit budget.Unit
	set, near, mixed := 0, 0, false
	for _, st := range standings {
		if !st.Set() {
			continue
		}
		mixed = mixed || set > 0 && st.Budget.Unit != unit
		unit, set = st.Budget.Unit, set+1
		used, amount = used+st.Budget.Amount-st.Balance.Left, amount+st.Budget.Amount
		if st.Used() >= blocks.BudgetAtRisk {
			near++
		}
	}
	if set == 0 {
		return nil
	}
	var tiles []ui.TileModel
	if !mixed {
		all := ui.TileModel{Label: say.S("budgets.used"), Value: say.InUnit(unit, used), Test: "budgets-used",
			Detail: say.S("budgets.of_all", "Amount", say.InUnit(unit, amount), "Left", say.InUnit(unit, amount-used))}
		tiles = append(tiles, all)
	}
	risk := ui.TileModel{Label: say.S("budgets.near"), Value: say.Number(float64(near)), Test: "budgets-near",
		Detail: say.S("budgets.near_more", "Percent", say.Percent(blocks.BudgetAtRisk))}
	if near > 0 {
		risk.Kind = ui.Warning
	}
	without := ui.TileModel{Label: say.S("budgets.without"), Value: say.Number(float64(teams - set)),
		Detail: say.S("budgets.without_more"), Test: "budgets-without"}
	if unlimited.Minor > 0 {
		without.Detail = say.S("budgets.without_spent", "Money", say.Money(unlimited))
	}
	return append(tiles, risk, without)
}

func withoutLeft(list []ui.SegmentModel) []ui.SegmentModel {
	return slices.DeleteFunc(list, func(s ui.SegmentModel) bool { return s.Fill == ui.FillFree })
}

// budgetOrders are what the list of budgets can be sorted by; it opens with those that are nearly used up.
var budgetOrders = []string{"-used", "team", "-amount", "left"}

// budgetKeys sort teams by their budgets; those without one come last.
func budgetKeys(byTeam map[string]budget.Status) map[string]page.Key[tenant.Tenant] {
	by := func(of func(budget.Status) int64) page.Key[tenant.Tenant] {
		return page.ByKnown(func(t tenant.Tenant) (int64, bool) {
			st := byTeam[t.Name]
			return of(st), st.Set()
		})
	}
	return map[string]page.Key[tenant.Tenant]{
		"team":   page.ByText(func(t tenant.Tenant) string { return t.Display() }),
		"amount": by(func(st budget.Status) int64 { return st.Budget.Amount }),
		"used":   by(func(st budget.Status) int64 { return int64(st.Used()) }),
		"left":   by(func(st budget.Status) int64 { return st.Balance.Left }),
	}
}

// teamBudget answers: what is left, and where did it go.
func (w *Pages) teamBudget(k page.Call) (page.View, error) { return w.budgetView(k, url.Values{}, nil) }

func (w *Pages) budgetView(k page.Call, typed url.Values, problems []fault.Field) (page.View, error) {
	team := k.Get("name")
	month := w.Budgets.Month()
	st, lines, next, err := w.Budgets.Ledger(k.Ctx, k.Actor, team, month, k.Get("cursor"), page.RowsPerPage)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	title := w.TeamTitle(team)
	m := budgets.TeamModel{Header: ui.HeaderModel{Title: say.S("budgets.of", "Team", title),
		Lead: say.S("budgets.of_lead", "Month", say.Month(month))},
		Budget: budgetStanding(say, st), NextURL: page.NextURL(page.BudgetPath(team), url.Values{}, next)}
	if m.Budget.Burndown, err = w.burndown(k, st); err != nil {
		return page.View{}, err
	}
	if identity.Can(k.Actor, identity.ReadBudget, identity.Resource{}) {
		m.Header.Crumbs = []ui.CrumbModel{{Label: say.S("budgets.title"), Href: page.BudgetsPath}, {Label: title}}
	} else {
		tabs := blocks.TeamTabs(k, team, page.BudgetPath(team))
		m.Header.Crumbs, m.Header.Tabs = []ui.CrumbModel{{Label: say.S("team.title"), Href: "/team"}, {Label: title}}, &tabs
	}
	if len(problems) > 0 {
		m.Errors = page.FormErrors(say, problems)
	}
	names, err := w.WorkloadNames(k)
	if err != nil {
		return page.View{}, err
	}
	for _, l := range lines {
		m.Book = append(m.Book, bookLine(say, l, names))
	}
	m.Sum = lineModel(say, st.Budget.Unit, st.Balance.Amounts)
	m.Sum.What, m.Sum.At = ui.StackModel{Title: say.S("budgets.balance")}, say.At(k.Words.Now)
	if identity.Can(k.Actor, identity.ChangeBudget, identity.Resource{}) {
		if st.Set() {
			m.Header.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("budgets.change"),
				Href: "#" + budgets.SetID, Icon: "edit", Test: "budget-change"}}}
		}
		m.Forms = w.budgetForms(say, team, st, typed, problems)
	}
	return page.View{Title: m.Header.Title, Nav: page.BudgetsPath, Wide: true, Body: budgets.Team(m),
			Parts: []page.Part{{ID: "budget-standing",
				Draw: func(page.Words) templ.Component { return budgets.Standing(m.Budget) }}}},
		nil
}

func budgetStanding(say page.Words, st budget.Status) budgets.StandingModel {
	if !st.Set() {
		return budgets.StandingModel{}
	}
	u := st.Budget.Unit
	m := budgets.StandingModel{Bar: blocks.BudgetKey(say, st), Left: say.InUnit(u, st.Balance.Left),
		Spent: say.InUnit(u, st.Balance.Spent), Held: say.InUnit(u, st.Balance.Held),
		Amount: say.InUnit(u, st.Budget.Amount), AtLimit: budgets.Limit(st.Budget.AtLimit)}
	switch m.Bar.Bare = true; { // its words are those of the number above it
	case st.Balance.Left < 0:
		m.Kind = ui.Danger
	case st.Used() >= blocks.BudgetAtRisk:
		m.Kind = ui.Warning
	}
	if st.Balance.Refunded != 0 {
		m.Refunded = say.InUnit(u, -st.Balance.Refunded)
	}
	return m
}

func lineModel(say page.Words, u budget.Unit, a budget.Amounts) budgets.LineModel {
	amount := func(n int64) string {
		if n == 0 {
			return "–"
		}
		return say.InUnit(u, n)
	}
	return budgets.LineModel{Left: amount(a.Left), Held: amount(a.Held), Spent: amount(a.Spent),
		Refunded: amount(a.Refunded)}
}

func bookLine(say page.Words, t budget.Transaction, names blocks.WorkloadNames) budgets.LineModel {
	m := lineModel(say, t.Book.Unit, t.Amounts)
	m.At, m.What = say.Ago(t.At), ui.StackModel{Title: say.S("budgets.kind." + string(t.Kind))}
	if t.Workload != "" {
		m.What.Detail = t.Workload
	}
	if known, ok := names[workload.ID(t.Workload)]; ok {
		m.What.Detail, m.What.Href = known.Name, page.WorkloadPath(known.ID)
	}
	if _, volume, ok := budget.VolumeOf(t.Workload); ok {
		m.What.Detail = say.S("budgets.storage", "Name", volume)
	}
	if t.Note != "" {
		m.What.Detail += " · " + t.ByName + ": " + t.Note
	}
	return m
}

// budgetForms is what an administrator can do, with what was typed.
func (w *Pages) budgetForms(say page.Words, team string, st budget.Status, typed url.Values,
	problems []fault.Field) *budgets.FormsModel {
	field := func(name, usual string) budgets.FieldModel {
		m := budgets.FieldModel{Value: usual, Error: page.WrongIn(say, problems, name)}
		if typed.Has(name) {
			m.Value = typed.Get(name)
		}
		return m
	}
	money := w.Budgets.Money()
	now := budget.Budget{Unit: money, AtLimit: budget.Stop}
	amount := ""
	if st.Set() {
		now, amount = st.Budget, st.Budget.Unit.Format(st.Budget.Amount)
	}
	m := &budgets.FormsModel{Path: page.BudgetPath(team), Version: strconv.FormatInt(now.Version, 10),
		Money: string(money), Amount: field("amount", amount), Unit: field("unit", string(now.Unit)),
		AtLimit: field("atLimit", string(now.AtLimit))}
	if st.Set() {
		m.Refund = &budgets.RefundModel{Workload: field("workload", ""), From: field("from", ""),
			Until: field("until", ""), Note: field("note", "")}
	}
	return m
}

// budgetAnswer shows the page again with what was typed when it was not right, and goes on when it was.
func (w *Pages) budgetAnswer(c echo.Context, k page.Call, err error, flash string) error {
	if fault.Is(err, fault.Invalid) {
		typed, formErr := c.FormParams()
		if formErr != nil {
			return formErr
		}
		v, drawn := w.budgetView(k, typed, fault.As(err).Fields)
		if drawn != nil {
			return drawn
		}
		return w.Reply(c, k, w.teamBudgetPage(), v, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return w.Done(c, flash, page.BudgetPath(c.Param("name")))
}

func (w *Pages) budgetSet(c echo.Context) error {
	k := w.CallOf(c)
	version, _ := strconv.ParseInt(c.FormValue("version"), 10, 64)
	unit := budget.Unit(c.FormValue("unit"))
	amount, ok := unit.Parse(c.FormValue("amount"))
	if !ok {
		amount = -1 // the service says what is wrong with it, after it has looked who asks
	}
	_, err := w.Budgets.Set(k.Ctx, k.Actor, c.Param("name"), budget.Draft{Unit: unit, Amount: amount,
		AtLimit: budget.Limit(c.FormValue("atLimit")), Version: version})
	return w.budgetAnswer(c, k, err, "budget-saved")
}

func (w *Pages) budgetRemove(c echo.Context) error {
	k := w.CallOf(c)
	version, _ := strconv.ParseInt(c.FormValue("version"), 10, 64)
	return w.budgetAnswer(c, k, w.Budgets.Remove(k.Ctx, k.Actor, c.Param("name"), version), "budget-removed")
}

func (w *Pages) budgetRefund(c echo.Context) error {
	k := w.CallOf(c)
	at := func(name string) time.Time {
		t, err := time.Parse("2006-01-02T15:04", c.FormValue(name))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	_, err := w.Budgets.Refund(k.Ctx, k.Actor, c.Param("name"),
		budget.Refund{Workload: strings.TrimSpace(c.FormValue("workload")), From: at("from"), Until: at("until"),
			Note: c.FormValue("note")})
	return w.budgetAnswer(c, k, err, "budget-refunded")
}
