package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// BudgetAmounts are what a book, or one line of it, comes to by account; they sum to zero.
type BudgetAmounts struct {
	Left     string `json:"left" example:"120.50" doc:"Neither held nor spent"`
	Held     string `json:"held" doc:"Put aside for leases that have been granted"`
	Spent    string `json:"spent" doc:"By the meter"`
	Refunded string `json:"refunded" doc:"What the platform failed to give and gave back, below zero"`
	Platform string `json:"platform" doc:"Where the budget comes from, below zero"`
}

// Budget is what a team may use in a month.
type Budget struct {
	Tenant  string         `json:"tenant"`
	Set     bool           `json:"set" doc:"False for a team without a budget: nothing is limited, and the rest is absent"`
	Unit    string         `json:"unit,omitempty" example:"EUR" doc:"A currency, or gpu-hours"`
	Amount  string         `json:"amount,omitempty" example:"500.00" doc:"For each month"`
	AtLimit string         `json:"atLimit,omitempty" enum:"stop,approval" doc:"What happens to a start that does not fit"`
	By      string         `json:"by,omitempty" doc:"Who set it"`
	SetAt   *time.Time     `json:"setAt,omitempty"`
	Version int64          `json:"version" doc:"To be sent with a change; 0 while none is set"`
	Month   string         `json:"month,omitempty" example:"2026-11" doc:"Which month the balance is of, by the clocks of the site"`
	Used    int            `json:"used" doc:"Share of the amount that is spent or held, in per cent, rounded down; above 100 where approvers agreed to more"`
	Balance *BudgetAmounts `json:"balance,omitempty" doc:"Of the month"`
}

// BudgetLine is one line of a month's book.
type BudgetLine struct {
	ID       string        `json:"id"`
	At       time.Time     `json:"at"`
	Kind     string        `json:"kind" enum:"granted,held,settled,released,refunded"`
	Workload string        `json:"workload,omitempty" doc:"Id of a workload, or volume:TEAM/NAME of storage"`
	By       string        `json:"by,omitempty" doc:"Absent for the portal itself"`
	Note     string        `json:"note,omitempty"`
	Amounts  BudgetAmounts `json:"amounts"`
}

func amountsView(u budget.Unit, a budget.Amounts) BudgetAmounts {
	return BudgetAmounts{Left: u.Format(a.Left), Held: u.Format(a.Held), Spent: u.Format(a.Spent),
		Refunded: u.Format(a.Refunded), Platform: u.Format(a.Platform)}
}

// BudgetAsk is what a request would take of its team's budget for the running month: the size and its seats for the
// time, and new storage until the month ends.
type BudgetAsk struct {
	Unit string `json:"unit" example:"EUR"`
	Left string `json:"left" example:"120.50" doc:"Before this"`
	Cost string `json:"cost" example:"14.40"`
	Fits bool   `json:"fits"`
}

func askView(a budget.Ask) *BudgetAsk {
	u := a.Budget.Unit
	return &BudgetAsk{Unit: string(u), Left: u.Format(a.Left), Cost: u.Format(a.Cost), Fits: a.Fits()}
}

func budgetView(tenant string, st budget.Status) Budget {
	v := Budget{Tenant: tenant}
	if !st.Set() {
		return v
	}
	b, at := st.Budget, st.Budget.SetAt.UTC()
	balance := amountsView(b.Unit, st.Balance.Amounts)
	v.Month = usage.MonthOf(st.Span.From, st.Span.From.Location()).String()
	v.Set, v.Unit, v.Amount, v.AtLimit, v.By, v.SetAt, v.Version, v.Used, v.Balance = true, string(b.Unit),
		b.Unit.Format(b.Amount), string(b.AtLimit), b.ByName, &at, b.Version, st.Used(), &balance
	return v
}

type budgetInput struct {
	Name string `path:"name" maxLength:"63"`
}

func (a *API) budgets(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Budget]], error) {
	standings, err := a.deps.Budgets.All(ctx, actor)
	views := make([]Budget, len(standings))
	for i, st := range standings {
		views[i] = budgetView(st.Budget.Tenant, st)
	}
	return reply(list(views, ""), err)
}

func (a *API) budget(ctx context.Context, actor identity.Actor, in *budgetInput) (*output[Budget], error) {
	st, err := a.deps.Budgets.Of(ctx, actor, in.Name)
	return reply(budgetView(in.Name, st), err)
}

type setBudgetInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Unit    string `json:"unit" maxLength:"20" example:"EUR" doc:"The site's currency, or gpu-hours"`
		Amount  string `json:"amount" maxLength:"20" example:"500.00" doc:"For each month"`
		AtLimit string `json:"atLimit" enum:"stop,approval"`
		Version int64  `json:"version,omitempty" doc:"Of the budget that this changes; absent for a first one"`
	}
}

func (a *API) setBudget(ctx context.Context, actor identity.Actor, in *setBudgetInput) (*output[Budget], error) {
	unit := budget.Unit(in.Body.Unit)
	amount, ok := unit.Parse(in.Body.Amount)
	if !ok {
		amount = -1 // the service says what is wrong with it, after it has looked who asks
	}
	draft := budget.Draft{Unit: unit, Amount: amount, AtLimit: budget.Limit(in.Body.AtLimit), Version: in.Body.Version}
	if _, err := a.deps.Budgets.Set(ctx, actor, in.Name, draft); err != nil {
		return nil, err
	}
	return a.budget(ctx, actor, &budgetInput{in.Name})
}

type removeBudgetInput struct {
	Name    string `path:"name" maxLength:"63"`
	Version int64  `query:"version" minimum:"0" doc:"Of the budget that is removed; another one that came between is a conflict"`
}

func (a *API) removeBudget(ctx context.Context, actor identity.Actor, in *removeBudgetInput) (*output[Budget], error) {
	if err := a.deps.Budgets.Remove(ctx, actor, in.Name, in.Version); err != nil {
		return nil, err
	}
	return a.budget(ctx, actor, &budgetInput{in.Name})
}

type ledgerInput struct {
	Name   string `path:"name" maxLength:"63"`
	Month  string `query:"month" maxLength:"7" example:"2026-11" doc:"The running month when absent"`
	Cursor string `query:"cursor" maxLength:"200"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

func (a *API) budgetLines(ctx context.Context, actor identity.Actor,
	in *ledgerInput) (*output[List[BudgetLine]], error) {
	month := a.deps.Budgets.Month()
	if in.Month != "" {
		var err error
		if month, err = usage.ParseMonth(in.Month); err != nil {
			return nil, fault.InvalidFields([]fault.Field{{Name: "month", Reason: i18n.T("budget.no_month")}})
		}
	}
	_, lines, next, err := a.deps.Budgets.Ledger(ctx, actor, in.Name, month, in.Cursor, in.Limit)
	views := make([]BudgetLine, len(lines))
	for i, t := range lines {
		views[i] = budgetLineView(t)
	}
	return reply(list(views, next), err)
}

func budgetLineView(t budget.Transaction) BudgetLine {
	return BudgetLine{ID: t.ID, At: t.At.UTC(), Kind: string(t.Kind), Workload: t.Workload, By: t.ByName, Note: t.Note,
		Amounts: amountsView(t.Book.Unit, t.Amounts)}
}

type refundInput struct {
	Name string `path:"name" maxLength:"63"`
	Body struct {
		Workload string    `json:"workload" maxLength:"200" doc:"Id of what was charged: of a workload, or volume:TEAM/NAME of storage"`
		From     time.Time `json:"from"`
		Until    time.Time `json:"until"`
		Note     string    `json:"note" maxLength:"300" doc:"Why; the team reads it"`
	}
}

func (a *API) refund(ctx context.Context, actor identity.Actor, in *refundInput) (*output[BudgetLine], error) {
	t, err := a.deps.Budgets.Refund(ctx, actor, in.Name, budget.Refund{Workload: in.Body.Workload, From: in.Body.From,
		Until: in.Body.Until, Note: in.Body.Note})
	return reply(budgetLineView(t), err)
}

// registerBudgets is the part of the surface that is about what teams may spend.
func (a *API) registerBudgets() {
	const tag = "Budgets"
	add(a, op(http.MethodGet, "/budgets", "list-budgets", "What each team with a budget may use in a month, and what is "+
		"left; for admins and auditors", tag), identity.ReadBudget, a.budgets)
	add(a, op(http.MethodGet, "/budgets/{name}", "get-budget", "A team's budget: what is held, spent and left of the "+
		"running month", tag), identity.ReadBudget, a.budget)
	add(a, op(http.MethodPut, "/budgets/{name}", "save-budget", "Give a team a budget, or another one; it counts at once",
		tag), identity.ChangeBudget, a.setBudget)
	add(a, op(http.MethodDelete, "/budgets/{name}", "remove-budget", "Take a team's budget away: nothing is limited any "+
		"more, the books stay", tag), identity.ChangeBudget, a.removeBudget)
	add(a, op(http.MethodGet, "/budgets/{name}/lines", "list-budget-lines", "The book of a month, newest first", tag),
		identity.ReadBudget, a.budgetLines)
	add(a, op(http.MethodPost, "/budgets/{name}/refunds", "refund-budget", "Give back what a workload was charged in a "+
		"stretch of the running month; answers with the line", tag), identity.ChangeBudget, a.refund)
}
