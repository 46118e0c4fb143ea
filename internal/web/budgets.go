package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/budgets"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

const budgetsPath = "/admin/budgets"

func budgetPath(team string) string { return budgetsPath + "/" + url.PathEscape(team) }

// inUnit is an amount of a budget as people read it.
func (w words) inUnit(u budget.Unit, amount int64) string {
	if u == budget.GPUHours {
		return w.S("budget.hours", "Hours", ui.Number(w.Localizer, float64(amount)/float64(u.Parts()), 2))
	}
	return w.money(usage.Money{Minor: amount, Currency: string(u)})
}

// budgets answers: which team runs out of money.
func (w *Web) budgets(k call) (view, error) {
	standings, err := w.Budgets.All(k.ctx, k.actor)
	if err != nil {
		return view{}, err
	}
	byTeam := map[string]budget.Standing{}
	for _, st := range standings {
		byTeam[st.Budget.Tenant] = st
	}
	say := k.words
	m := budgets.PageModel{Header: ui.HeaderModel{Title: say.S("budgets.title"), Lead: say.S("budgets.lead")}}
	for _, t := range w.Site().Directory.Tenants {
		row := budgets.RowModel{Team: ui.StackModel{Title: t.Display(), Href: budgetPath(t.Name), Icon: "team"}, Amount: "–",
			Left: "–", AtLimit: say.S("budgets.unlimited")}
		if st := byTeam[t.Name]; st.Set() {
			row.Amount, row.Left = say.inUnit(st.Budget.Unit, st.Budget.Amount), say.inUnit(st.Budget.Unit, st.Balance.Left)
			row.AtLimit, row.Bar = upperFirst(say.S("budget.limit."+string(st.Budget.AtLimit))), budgetBar(say, st)
			row.Bar.Bare = true
		}
		m.Rows = append(m.Rows, row)
	}
	if len(m.Rows) == 0 {
		m.Empty = &ui.EmptyStateModel{Icon: "team", Title: say.S("budgets.empty"),
			Lines: []string{say.S("budgets.empty_why")}, Test: "empty"}
	}
	return view{title: m.Header.Title, nav: budgetsPath, wide: true, body: budgets.Page(m),
		parts: []part{{id: "budgets", draw: func(words) templ.Component { return budgets.List(m) }}}}, nil
}

// budgetAtRisk is from how many per cent on a budget is shown as nearly used up.
const budgetAtRisk = 80

// budgetBar is what of a month is spent and held.
func budgetBar(say words, st budget.Standing) *ui.MeterModel {
	u, whole := st.Budget.Unit, float64(max(st.Budget.Amount, 1))
	used := st.Budget.Amount - st.Balance.Left
	spent := ui.SegmentModel{Fill: ui.FillUsed, Share: float64(used-st.Balance.Held) / whole,
		Words: say.S("budgets.spent")}
	if st.Used() >= budgetAtRisk {
		spent.Fill = ui.FillWarning
	}
	m := &ui.MeterModel{Label: say.S("budgets.bar", "Month", monthOf(st).String()), Test: "budget-bar", Legend: true,
		Value: say.S("budgets.used_of", "Used", say.inUnit(u, used), "Amount", say.inUnit(u, st.Budget.Amount), "Percent",
			say.percent(float64(st.Used()))),
		Segments: []ui.SegmentModel{spent, {Fill: ui.FillThis, Share: float64(st.Balance.Held) / whole,
			Words: say.S("budgets.held")}}}
	if st.Balance.Left < 0 {
		m.Detail = say.S("budgets.overdrawn", "More", say.inUnit(u, -st.Balance.Left))
	}
	return m
}

// monthOf is the month of a standing; its span begins with it.
func monthOf(st budget.Standing) usage.Month {
	return usage.MonthOf(st.Span.From, st.Span.From.Location())
}

// teamBudget answers: what is left, and where did it go.
func (w *Web) teamBudget(k call) (view, error) { return w.budgetView(k, url.Values{}, nil) }

func (w *Web) budgetView(k call, typed url.Values, problems []fault.Field) (view, error) {
	team := k.get("name")
	month := w.Budgets.Month()
	st, lines, next, err := w.Budgets.Ledger(k.ctx, k.actor, team, month, k.get("cursor"), 100)
	if err != nil {
		return view{}, err
	}
	say := k.words
	title := w.teamTitle(team)
	m := budgets.TeamModel{Header: ui.HeaderModel{Title: say.S("budgets.of", "Team", title),
		Lead: say.S("budgets.of_lead", "Month", month.String())},
		Budget: budgetStanding(say, "budget-standing", st), NoLines: say.S("budgets.no_lines"),
		More: ui.PaginationModel{Label: say.S("budgets.pages"), NextURL: nextURL(budgetPath(team), url.Values{}, next)}}
	if identity.Can(k.actor, identity.ReadBudget, identity.Resource{}) {
		m.Header.Crumbs = []ui.CrumbModel{{Label: say.S("budgets.title"), Href: budgetsPath}, {Label: title}}
	} else {
		tabs := teamTabs(k, team, budgetPath(team))
		m.Header.Crumbs, m.Header.Tabs = []ui.CrumbModel{{Label: say.S("team.title"), Href: "/team"}, {Label: title}}, &tabs
	}
	if len(problems) > 0 {
		m.Errors = formErrors(say, problems)
	}
	names, err := w.workloadNames(k)
	if err != nil {
		return view{}, err
	}
	for _, l := range lines {
		m.Book = append(m.Book, bookLine(say, l, names))
	}
	m.Sum = lineModel(say, st.Budget.Unit, st.Balance.Amounts)
	m.Sum.What, m.Sum.At = ui.StackModel{Title: say.S("budgets.balance")}, say.at(k.words.now)
	if identity.Can(k.actor, identity.ChangeBudget, identity.Resource{}) {
		w.budgetForms(say, &m, team, st, typed, problems)
	}
	return view{title: m.Header.Title, nav: budgetsPath, wide: true, body: budgets.Team(m),
		parts: []part{{id: m.Budget.ID, draw: func(words) templ.Component { return budgets.Standing(m.Budget) }}}}, nil
}

func budgetStanding(say words, id string, st budget.Standing) budgets.StandingModel {
	if !st.Set() {
		return budgets.StandingModel{ID: id, None: say.S("budget.not_set")}
	}
	u := st.Budget.Unit
	fact := func(id string, amount int64) ui.DefModel {
		return ui.DefModel{Term: say.S("budgets." + id), Value: say.inUnit(u, amount), Test: "budget-" + id}
	}
	m := budgets.StandingModel{ID: id, Bar: budgetBar(say, st), Facts: []ui.DefModel{fact("left", st.Balance.Left),
		fact("held", st.Balance.Held), fact("spent", st.Balance.Spent)}}
	if st.Balance.Refunded != 0 {
		m.Facts = append(m.Facts, fact("refunded", -st.Balance.Refunded))
	}
	m.Facts = append(m.Facts, ui.DefModel{Term: say.S("budgets.at_limit"),
		Value: upperFirst(say.S("budget.limit." + string(st.Budget.AtLimit)))})
	return m
}

func lineModel(say words, u budget.Unit, a budget.Amounts) budgets.LineModel {
	amount := func(n int64) string {
		if n == 0 {
			return "–"
		}
		return say.inUnit(u, n)
	}
	return budgets.LineModel{Left: amount(a.Left), Held: amount(a.Held), Spent: amount(a.Spent),
		Refunded: amount(a.Refunded), Platform: amount(a.Platform)}
}

func bookLine(say words, t budget.Transaction, names map[workload.ID]workload.Workload) budgets.LineModel {
	m := lineModel(say, t.Book.Unit, t.Amounts)
	m.At, m.What = say.ago(t.At), ui.StackModel{Title: say.S("budgets.kind." + string(t.Kind))}
	if t.Workload != "" {
		m.What.Detail = t.Workload
	}
	if known, ok := names[workload.ID(t.Workload)]; ok {
		m.What.Detail, m.What.Href = known.Name, workloadPath(known.ID)
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
func (w *Web) budgetForms(say words, m *budgets.TeamModel, team string, st budget.Standing, typed url.Values,
	problems []fault.Field) {
	wrong := map[string]string{}
	for _, p := range problems {
		wrong[p.Name] = say.say(p.Reason)
	}
	value := func(name, usual string) string {
		if typed.Has(name) {
			return typed.Get(name)
		}
		return usual
	}
	money := w.Budgets.Money()
	now := budget.Budget{Unit: money, AtLimit: budget.Stop}
	amount := ""
	if st.Set() {
		now, amount = st.Budget, st.Budget.Unit.Write(st.Budget.Amount)
	}
	path, version := budgetPath(team), []ui.HiddenModel{{Name: "version", Value: strconv.FormatInt(now.Version, 10)}}
	m.Set = &budgets.FormModel{Title: say.S("budgets.set"), Lead: say.S("budgets.set_lead"),
		Form: ui.FormModel{ID: "budget-form", Action: path, Hidden: version, Test: "budget-form"}, Test: "set",
		Button: ui.ButtonModel{Label: say.S("budgets.save"), Kind: ui.Primary, Test: "save"}, Fields: []ui.FieldModel{
			{ID: "amount", Name: "amount", Label: say.S("budgets.amount"), Value: value("amount", amount), InputMode: "decimal",
				Required: true, Short: true, Autocomplete: "off", Error: wrong["amount"], Test: "amount"},
			{ID: "unit", Name: "unit", Kind: ui.SelectField, Label: say.S("budgets.unit"),
				Hint: say.S("budgets.unit_hours_hint"), Value: value("unit", string(now.Unit)), Error: wrong["unit"], Test: "unit",
				Options: []ui.OptionModel{{Value: string(money), Label: string(money)},
					{Value: string(budget.GPUHours), Label: say.S("budgets.unit_hours")}}},
			{ID: "atLimit", Name: "atLimit", Kind: ui.SelectField, Label: say.S("budgets.at_limit"),
				Value: value("atLimit", string(now.AtLimit)), Error: wrong["atLimit"], Test: "at-limit",
				Options: []ui.OptionModel{{Value: string(budget.Stop), Label: upperFirst(say.S("budget.limit.stop"))},
					{Value: string(budget.Approval), Label: upperFirst(say.S("budget.limit.approval"))}}}}}
	if !st.Set() {
		return
	}
	m.Refund = &budgets.FormModel{Title: say.S("budgets.refund"), Lead: say.S("budgets.refund_lead"),
		Form: ui.FormModel{ID: "refund-form", Action: path + "/refund", Test: "refund-form"}, Test: "refund",
		Button: ui.ButtonModel{Label: say.S("budgets.refund"), Kind: ui.Secondary, Test: "refund-send"},
		Fields: []ui.FieldModel{
			{ID: "workload", Name: "workload", Label: say.S("budgets.refund_workload"),
				Hint: say.S("budgets.refund_workload_hint"), Value: typed.Get("workload"), Required: true, Autocomplete: "off",
				Error: wrong["workload"], Test: "refund-workload"},
			{ID: "from", Name: "from", Kind: ui.DateTimeField, Label: say.S("budgets.refund_from"), Value: typed.Get("from"),
				Required: true, Error: wrong["from"], Test: "refund-from"},
			{ID: "until", Name: "until", Kind: ui.DateTimeField, Label: say.S("budgets.refund_until"), Value: typed.Get("until"),
				Required: true, Error: wrong["until"], Test: "refund-until"},
			{ID: "note", Name: "note", Label: say.S("budgets.refund_note"), Value: typed.Get("note"), Required: true,
				MaxLength: 300, Autocomplete: "off", Error: wrong["note"], Test: "refund-note"}}}
	m.Remove = &budgets.FormModel{Title: say.S("budgets.remove"), Lead: say.S("budgets.remove_lead"),
		Form: ui.FormModel{ID: "remove-form", Action: path + "/remove", Hidden: version, Test: "remove-form"}, Test: "remove",
		Button: ui.ButtonModel{Label: say.S("budgets.remove"), Kind: ui.DangerSecondary, Test: "remove-send"}}
}

// budgetAnswer shows the page again with what was typed when it was not right, and goes on when it was.
func (w *Web) budgetAnswer(c echo.Context, k call, err error, flash string) error {
	if fault.Is(err, fault.Invalid) {
		typed, formErr := c.FormParams()
		if formErr != nil {
			return formErr
		}
		v, drawn := w.budgetView(k, typed, fault.As(err).Fields)
		if drawn != nil {
			return drawn
		}
		return w.reply(c, k, teamBudgetPage, v, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return w.done(c, flash, budgetPath(c.Param("name")))
}

func (w *Web) budgetSet(c echo.Context) error {
	k := w.callOf(c)
	version, _ := strconv.ParseInt(c.FormValue("version"), 10, 64)
	unit := budget.Unit(c.FormValue("unit"))
	amount, ok := unit.Parse(c.FormValue("amount"))
	if !ok {
		amount = -1 // the service says what is wrong with it, after it has looked who asks
	}
	_, err := w.Budgets.Set(k.ctx, k.actor, c.Param("name"), budget.Draft{Unit: unit, Amount: amount,
		AtLimit: budget.Limit(c.FormValue("atLimit")), Version: version})
	return w.budgetAnswer(c, k, err, "budget-saved")
}

func (w *Web) budgetRemove(c echo.Context) error {
	k := w.callOf(c)
	version, _ := strconv.ParseInt(c.FormValue("version"), 10, 64)
	return w.budgetAnswer(c, k, w.Budgets.Remove(k.ctx, k.actor, c.Param("name"), version), "budget-removed")
}

func (w *Web) budgetRefund(c echo.Context) error {
	k := w.callOf(c)
	at := func(name string) time.Time {
		t, err := time.Parse("2006-01-02T15:04", c.FormValue(name))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	_, err := w.Budgets.Refund(k.ctx, k.actor, c.Param("name"),
		budget.Refund{Workload: strings.TrimSpace(c.FormValue("workload")), From: at("from"), Until: at("until"),
			Note: c.FormValue("note")})
	return w.budgetAnswer(c, k, err, "budget-refunded")
}

// budgetAfter is what would be left of the month's budget; nil for a team without one.
func budgetAfter(say words, a budget.Ask) *ui.MeterModel {
	if !a.Set() {
		return nil
	}
	u, whole := a.Budget.Unit, float64(max(a.Budget.Amount, 1))
	m := &ui.MeterModel{Label: say.S("budgets.after"), Value: say.S("budgets.after_value", "After",
		say.inUnit(u, a.After()), "Amount", say.inUnit(u, a.Budget.Amount)), Test: "budget-after", Legend: true,
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: float64(a.Budget.Amount-a.Left) / whole},
			{Fill: ui.FillThis, Share: float64(a.Cost) / whole, Words: say.S("start.this_one")}}}
	if !a.Fits() {
		m.Segments[0].Fill, m.Detail = ui.FillWarning, say.say(a.Sentence("budget.short"))
	}
	return m
}

// budgetTakes is what the approval of a request would take of the team's budget; nil where there is none, or the reader
// may not know.
func (w *Web) budgetTakes(k call, r request.Request) (*ui.MeterModel, error) {
	ask, err := w.Approvals.Takes(k.ctx, k.actor, r)
	return budgetAfter(k.words, ask), err
}

// budgetFact is a team's budget in one line, for pages about the team.
func (w *Web) budgetFact(k call, team string) (*ui.MeterModel, string, error) {
	st, err := w.Budgets.Of(k.ctx, k.actor, team)
	if err != nil || !st.Set() {
		return nil, k.words.say(i18n.T("budget.not_set")), err
	}
	return budgetBar(k.words, st), "", nil
}
