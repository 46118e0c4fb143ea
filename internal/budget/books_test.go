package budget_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Books are everything that a store keeps of budgets. What the database refuses, it refuses as well.
type Books struct {
	// BeforeWrite is asked before each write; its error is what the write answers. Nil: all go well.
	BeforeWrite func() error

	claims func() []budget.Claim
	mu     sync.Mutex
	kept   books
}

type books struct {
	budgets  map[string]budget.Budget
	balances map[budget.Book]budget.Balance
	shares   map[budget.Book]map[string]budget.Share
	refunded map[budget.Book]map[string]int64
	lines    []budget.Transaction
}

// NewBooks keeps no budget yet. Claims lists those of every workload.
func NewBooks(claims func() []budget.Claim) *Books {
	return &Books{claims: claims, kept: books{budgets: map[string]budget.Budget{},
		balances: map[budget.Book]budget.Balance{},
		shares:   map[budget.Book]map[string]budget.Share{}, refunded: map[budget.Book]map[string]int64{}}}
}

func (k books) clone() books {
	c := books{budgets: maps.Clone(k.budgets), balances: maps.Clone(k.balances),
		shares:   map[budget.Book]map[string]budget.Share{},
		refunded: map[budget.Book]map[string]int64{}, lines: slices.Clone(k.lines)}
	for b, s := range k.shares {
		c.shares[b] = maps.Clone(s)
	}
	for b, r := range k.refunded {
		c.refunded[b] = maps.Clone(r)
	}
	return c
}

// Atomically runs fn and takes back what it wrote when it fails, as a database does.
func (b *Books) Atomically(fn func() error) error {
	b.mu.Lock()
	before := b.kept.clone()
	b.mu.Unlock()
	err := fn()
	if err != nil {
		b.mu.Lock()
		b.kept = before
		b.mu.Unlock()
	}
	return err
}

func (b *Books) write(fn func(k *books) error) error {
	if b.BeforeWrite != nil {
		if err := b.BeforeWrite(); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return fn(&b.kept)
}

// Lines are all transactions, oldest first.
func (b *Books) Lines() []budget.Transaction {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.kept.lines)
}

// Balances are those of every book.
func (b *Books) Balances() map[budget.Book]budget.Balance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.kept.balances)
}

// Budget gives a team's budget.
func (b *Books) Budget(_ context.Context, tenant string) (budget.Budget, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.kept.budgets[tenant]
	if !ok {
		return found, fault.New(fault.NotFound, i18n.T("budget.not_set"))
	}
	return found, nil
}

// Budgets lists every budget.
func (b *Books) Budgets(context.Context) ([]budget.Budget, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.kept.budgets),
		func(x, y budget.Budget) int { return cmp.Compare(x.Tenant, y.Tenant) }), nil
}

// BudgetBalance gives the balances of a book.
func (b *Books) BudgetBalance(_ context.Context, book budget.Book) (budget.Balance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.balances[book], nil
}

// BudgetShares gives what each workload has of a book.
func (b *Books) BudgetShares(_ context.Context, book budget.Book) (map[string]budget.Share, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.kept.shares[book]), nil
}

// BudgetShare gives what one workload has of a book.
func (b *Books) BudgetShare(_ context.Context, book budget.Book, workload string) (budget.Share, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.shares[book][workload], nil
}

// BudgetRefunded is what a workload has been given back.
func (b *Books) BudgetRefunded(_ context.Context, book budget.Book, workload string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.refunded[book][workload], nil
}

// BudgetBooks are the team's books in which something is held.
func (b *Books) BudgetBooks(_ context.Context, tenant string) ([]budget.Book, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []budget.Book
	for book, balance := range b.kept.balances {
		if book.Tenant == tenant && balance.Held > 0 {
			list = append(list, book)
		}
	}
	return list, nil
}

// BudgetClaims gives those of a team.
func (b *Books) BudgetClaims(_ context.Context, tenant string, _ time.Time) ([]budget.Claim, error) {
	var list []budget.Claim
	for _, c := range b.claims() {
		if c.Tenant == tenant {
			list = append(list, c)
		}
	}
	return list, nil
}

// BudgetClaim gives that of one workload.
func (b *Books) BudgetClaim(_ context.Context, workload string) (budget.Claim, error) {
	for _, c := range b.claims() {
		if c.Workload == workload {
			return c, nil
		}
	}
	return budget.Claim{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
}

// BudgetTransactions lists a book, newest first, on one page.
func (b *Books) BudgetTransactions(_ context.Context, book budget.Book, _ string,
	_ int) ([]budget.Transaction, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []budget.Transaction
	for _, t := range slices.Backward(b.kept.lines) {
		if t.Book == book {
			list = append(list, t)
		}
	}
	return list, "", nil
}

// SaveBudget inserts or updates.
func (b *Books) SaveBudget(_ context.Context, next budget.Budget) error {
	return b.write(func(k *books) error {
		if k.budgets[next.Tenant].Version != next.Version {
			return fault.New(fault.Conflict, i18n.T("store.lost_race"))
		}
		next.Version++
		k.budgets[next.Tenant] = next
		return nil
	})
}

// RemoveBudget takes one away.
func (b *Books) RemoveBudget(_ context.Context, gone budget.Budget) error {
	return b.write(func(k *books) error { delete(k.budgets, gone.Tenant); return nil })
}

// PostBudget writes a transaction, and refuses what a database would.
func (b *Books) PostBudget(_ context.Context, t budget.Transaction, within bool) error {
	return b.write(func(k *books) error {
		balance := k.balances[t.Book]
		balance.Amounts, balance.Opened = balance.Add(t.Amounts), true
		share := k.shares[t.Book][t.Workload]
		share.Held, share.Spent = share.Held+t.Amounts.Held, share.Spent+t.Amounts.Spent
		switch {
		case within && balance.Left < 0:
			return fault.New(fault.Conflict, i18n.T("budget.nothing_left"))
		case t.Amounts.Sum() != 0 || balance.Held < 0 || share.Held < 0 && t.Workload != "":
			return errors.New("a check of the database fails")
		}
		k.balances[t.Book] = balance
		k.lines = append(k.lines, t)
		if t.Workload == "" {
			return nil
		}
		if k.shares[t.Book] == nil {
			k.shares[t.Book], k.refunded[t.Book] = map[string]budget.Share{}, map[string]int64{}
		}
		k.shares[t.Book][t.Workload] = share
		k.refunded[t.Book][t.Workload] -= t.Amounts.Refunded
		return nil
	})
}

// WarnBudget notes that a level was announced.
func (b *Books) WarnBudget(_ context.Context, book budget.Book, level int) (bool, error) {
	first := false
	err := b.write(func(k *books) error {
		balance := k.balances[book]
		if first = balance.Warned < level; first {
			balance.Warned = level
			k.balances[book] = balance
		}
		return nil
	})
	return first, err
}
