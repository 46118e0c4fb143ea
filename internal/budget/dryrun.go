package budget

import (
	"context"
	"errors"
	"maps"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// errDry says that a dry run was used for something else than a claim.
var errDry = errors.New("a dry run neither sets nor removes a budget")

// dryRun keeps balances and shares that were posted to.
type dryRun struct {
	Reader
	balances map[Book]Balance
	shares   map[Book]map[string]Share
}

// DryRun is a Tx over what a Reader sees: what is posted counts for what is read after it, and is written nowhere.
func DryRun(in Reader) Tx {
	return &dryRun{Reader: in, balances: map[Book]Balance{}, shares: map[Book]map[string]Share{}}
}

// BudgetBalance gives the balances of a book with what was posted.
func (d *dryRun) BudgetBalance(ctx context.Context, b Book) (Balance, error) {
	if balance, posted := d.balances[b]; posted {
		return balance, nil
	}
	return d.Reader.BudgetBalance(ctx, b)
}

// BudgetShares gives what each workload has of a book with what was posted.
func (d *dryRun) BudgetShares(ctx context.Context, b Book) (map[string]Share, error) {
	if shares, posted := d.shares[b]; posted {
		return maps.Clone(shares), nil
	}
	return d.Reader.BudgetShares(ctx, b)
}

// BudgetShare gives what one workload has of a book with what was posted.
func (d *dryRun) BudgetShare(ctx context.Context, b Book, workload string) (Share, error) {
	if shares, posted := d.shares[b]; posted {
		return shares[workload], nil
	}
	return d.Reader.BudgetShare(ctx, b, workload)
}

// PostBudget adds a transaction to the balances.
func (d *dryRun) PostBudget(ctx context.Context, t Transaction, within bool) error {
	balance, err := d.BudgetBalance(ctx, t.Book)
	if err != nil {
		return err
	}
	if within && balance.Left+t.Amounts.Left < 0 {
		return fault.New(fault.Conflict, i18n.T("budget.nothing_left"))
	}
	shares, err := d.BudgetShares(ctx, t.Book)
	if err != nil {
		return err
	}
	if shares == nil {
		shares = map[string]Share{}
	}
	balance.Amounts, balance.Opened = balance.Amounts.Add(t.Amounts), true
	if t.Workload != "" {
		s := shares[t.Workload]
		shares[t.Workload] = Share{Held: s.Held + t.Amounts.Held, Spent: s.Spent + t.Amounts.Spent}
	}
	d.balances[t.Book], d.shares[t.Book] = balance, shares
	return nil
}

// WarnBudget announces nothing.
func (d *dryRun) WarnBudget(context.Context, Book, int) (bool, error) { return false, nil }

// Append drops events.
func (d *dryRun) Append(context.Context, ...audit.Event) error { return nil }

// SaveBudget is no part of a claim.
func (d *dryRun) SaveBudget(context.Context, Budget) error { return errDry }

// RemoveBudget is no part of a claim.
func (d *dryRun) RemoveBudget(context.Context, Budget) error { return errDry }
