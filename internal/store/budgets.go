package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	_ budget.Store = (*Store)(nil)
	_ budget.Tx    = (*tx)(nil)
)

const bookList = "b"

type budgetRow struct {
	Tenant  string `gorm:"primaryKey"`
	Unit    string
	Amount  int64
	AtLimit string
	SetBy   string
	SetName string
	SetAt   timestamp
	Version int64
}

func (budgetRow) TableName() string { return "budgets" }

func toBudget(row budgetRow) budget.Budget {
	return budget.Budget{Tenant: row.Tenant, Unit: budget.Unit(row.Unit), Amount: row.Amount,
		AtLimit: budget.Limit(row.AtLimit), By: identity.PersonID(row.SetBy),
		ByName: row.SetName, SetAt: row.SetAt.time(), Version: row.Version}
}

// amountColumns are one column an account.
type amountColumns struct {
	LeftOver int64
	Held     int64
	Spent    int64
	Refunded int64
	Platform int64
}

func fromAmounts(a budget.Amounts) amountColumns {
	return amountColumns{LeftOver: a.Left, Held: a.Held, Spent: a.Spent, Refunded: a.Refunded, Platform: a.Platform}
}

func (c amountColumns) amounts() budget.Amounts {
	return budget.Amounts{Left: c.LeftOver, Held: c.Held, Spent: c.Spent, Refunded: c.Refunded, Platform: c.Platform}
}

type budgetTransactionRow struct {
	ID        string `gorm:"primaryKey"`
	Tenant    string
	Month     string
	Unit      string
	Kind      string
	Workload  string
	Amounts   amountColumns `gorm:"embedded"`
	PostedBy  string
	ByName    string
	Note      string
	CreatedAt timestamp `gorm:"autoCreateTime:false"`
}

func (budgetTransactionRow) TableName() string { return "budget_transactions" }

func toTransaction(row budgetTransactionRow) budget.Transaction {
	return budget.Transaction{ID: row.ID, Book: bookOf(row.Tenant, row.Month, row.Unit), Kind: budget.Kind(row.Kind),
		Workload: row.Workload, Amounts: row.Amounts.amounts(),
		By: identity.PersonID(row.PostedBy), ByName: row.ByName, Note: row.Note, At: row.CreatedAt.time()}
}

func bookOf(tenant, month, unit string) budget.Book {
	m, _ := usage.ParseMonth(month) // we wrote it
	return budget.Book{Tenant: tenant, Month: m, Unit: budget.Unit(unit)}
}

// inBook narrows a query to a book.
func inBook(query *gorm.DB, b budget.Book) *gorm.DB {
	return query.Where("tenant = ? AND month = ? AND unit = ?", b.Tenant, b.Month.String(), string(b.Unit))
}

// BudgetExclusively runs fn in one transaction; it stands in one line with grants.
func (s *Store) BudgetExclusively(ctx context.Context, fn func(budget.Tx) error) error {
	return s.exclusively(ctx, "settle budgets", func(t *tx) error { return fn(t) })
}

// Budget gives a team's budget.
func (v view) Budget(ctx context.Context, tenant string) (budget.Budget, error) {
	row, err := one[budgetRow](v.at(ctx).Where("tenant = ?", tenant), i18n.T("budget.not_set"))
	return toBudget(row), err
}

// Budgets lists every budget.
func (v view) Budgets(ctx context.Context) ([]budget.Budget, error) {
	rows, err := all[budgetRow](v.at(ctx).Order("tenant"))
	return each(rows, toBudget), err
}

// BudgetBalance gives the balances of a book.
func (v view) BudgetBalance(ctx context.Context, b budget.Book) (budget.Balance, error) {
	var rows []struct {
		Amounts amountColumns `gorm:"embedded"`
		Warned  int
	}
	err := inBook(v.at(ctx).Table("budget_balances"), b).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return budget.Balance{}, failure(err)
	}
	return budget.Balance{Amounts: rows[0].Amounts.amounts(), Opened: true, Warned: rows[0].Warned}, nil
}

// BudgetShares gives what each workload has of a book.
func (v view) BudgetShares(ctx context.Context, b budget.Book) (map[string]budget.Share, error) {
	var rows []struct {
		Workload    string
		Held, Spent int64
	}
	if err := inBook(v.at(ctx).Table("budget_shares"), b).Scan(&rows).Error; err != nil {
		return nil, failure(err)
	}
	shares := make(map[string]budget.Share, len(rows))
	for _, row := range rows {
		shares[row.Workload] = budget.Share{Held: row.Held, Spent: row.Spent}
	}
	return shares, nil
}

// BudgetShare gives what one workload has of a book.
func (v view) BudgetShare(ctx context.Context, b budget.Book, workload string) (budget.Share, error) {
	var share budget.Share
	err := inBook(v.at(ctx).Table("budget_shares"), b).Where("workload = ?", workload).Select("held, spent").Scan(
		&share).Error
	return share, failure(err)
}

// BudgetRefunded is what a workload has been given back in a book.
func (v view) BudgetRefunded(ctx context.Context, b budget.Book, id string) (int64, error) {
	var sum int64
	err := inBook(v.at(ctx).Table("budget_shares"), b).Where("workload = ?", id).Select("COALESCE(SUM(refunded), 0)").Scan(
		&sum).Error
	return sum, failure(err)
}

// BudgetBooks are the team's books in which something is held.
func (v view) BudgetBooks(ctx context.Context, tenant string) ([]budget.Book, error) {
	var rows []struct{ Month, Unit string }
	err := v.at(ctx).Table("budget_balances").Select("month, unit").Where("tenant = ? AND held > 0",
		tenant).Order("month, unit").Scan(&rows).Error
	var books []budget.Book
	for _, row := range rows {
		books = append(books, bookOf(tenant, row.Month, row.Unit))
	}
	return books, failure(err)
}

// BudgetClaims gives what a team's workloads and its storage claim. The condition names that of the index
// workloads_holding word for word.
func (v view) BudgetClaims(ctx context.Context, tenant string, since time.Time) ([]budget.Claim, error) {
	rows, err := all[workloadRow](v.at(ctx).Where(
		`id IN (SELECT id FROM workloads WHERE tenant = ? AND (desired = 'running' OR state = 'stopping')
		UNION SELECT workload FROM meter_intervals WHERE tenant = ? AND (until_at IS NULL OR until_at > ?
			OR unknown_until > ?)
		UNION SELECT workload FROM budget_shares WHERE tenant = ? AND held > 0)`, tenant, tenant, timestampOf(since),
		timestampOf(since), tenant).Order("id"))
	if err != nil {
		return nil, err
	}
	claims, err := v.claims(ctx, each(rows, toWorkload))
	if err != nil {
		return nil, err
	}
	var held []string
	if err := v.at(ctx).Table("budget_shares").Where("tenant = ? AND held > 0", tenant).Distinct().Pluck("workload",
		&held).Error; err != nil {
		return nil, failure(err)
	}
	volumes := []string{}
	for _, id := range held {
		if _, volume, ok := budget.VolumeOf(id); ok {
			volumes = append(volumes, volume)
		}
	}
	storage, err := v.storageClaims(ctx, tenant, "volume IN ? OR volume IN (SELECT volume FROM storage_intervals WHERE "+
		"tenant = ? AND (until_at IS NULL OR until_at > ?))", volumes, tenant, timestampOf(since))
	return append(claims, storage...), err
}

// storageClaims gives what the volumes of a team claim for which a condition holds, each with all of its meter.
func (v view) storageClaims(ctx context.Context, tenant, where string, args ...any) ([]budget.Claim, error) {
	rows, err := all[storageIntervalRow](v.at(ctx).Where("tenant = ?", tenant).Where(where,
		args...).Order("volume, from_at"))
	if err != nil {
		return nil, err
	}
	var deleted []string
	if err := v.at(ctx).Table("volumes").Where("tenant = ? AND deleted", tenant).Pluck("name",
		&deleted).Error; err != nil {
		return nil, failure(err)
	}
	var list []budget.Claim
	for _, k := range each(rows, toStorageInterval) {
		id := budget.VolumeID(tenant, k.Volume)
		if len(list) == 0 || list[len(list)-1].Workload != id {
			list = append(list, budget.Claim{Workload: id, Tenant: tenant})
		}
		c := &list[len(list)-1]
		c.StorageIntervals = append(c.StorageIntervals, k)
		c.Holds = k.Until.IsZero()
		c.Wanted = c.Holds && !slices.Contains(deleted, k.Volume)
	}
	return list, nil
}

// BudgetClaim gives that of one workload, or of storage.
func (v view) BudgetClaim(ctx context.Context, id string) (budget.Claim, error) {
	if tenant, volume, ok := budget.VolumeOf(id); ok {
		claims, err := v.storageClaims(ctx, tenant, "volume = ?", volume)
		if err == nil && len(claims) == 0 {
			err = fault.New(fault.NotFound, i18n.T("volume.not_found"))
		}
		if err != nil {
			return budget.Claim{}, err
		}
		return claims[0], nil
	}
	w, err := v.Workload(ctx, workload.ID(id))
	if err != nil {
		return budget.Claim{}, err
	}
	claims, err := v.claims(ctx, []workload.Workload{w})
	if err != nil {
		return budget.Claim{}, err
	}
	return claims[0], nil
}

func (v view) claims(ctx context.Context, items []workload.Workload) ([]budget.Claim, error) {
	ids := each(items, func(w workload.Workload) workload.ID { return w.ID })
	intervals, err := v.Intervals(ctx, ids)
	if err != nil {
		return nil, err
	}
	sharers, err := v.SeatSharers(ctx, usage.SeatGroups(slices.Concat(slices.Collect(maps.Values(intervals))...)))
	return each(items, func(w workload.Workload) budget.Claim {
		c := w.Claim(intervals[w.ID])
		c.Sharers = sharers
		return c
	}), err
}

// BudgetTransactions lists a book, newest first.
func (v view) BudgetTransactions(ctx context.Context, b budget.Book, cursor string,
	limit int) ([]budget.Transaction, string, error) {
	limit = pageSize(limit)
	query, err := newestFirst(inBook(v.at(ctx), b), bookList, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := all[budgetTransactionRow](query)
	if err != nil {
		return nil, "", err
	}
	rows, next := paged(rows, limit, func(r budgetTransactionRow) cursorAt {
		return cursorAt{bookList, r.CreatedAt.Int64, r.ID}
	})
	return each(rows, toTransaction), next, nil
}

// SaveBudget inserts at Version 0 and else updates that version.
func (t *tx) SaveBudget(ctx context.Context, b budget.Budget) error {
	row := budgetRow{Tenant: b.Tenant, Unit: string(b.Unit), Amount: b.Amount, AtLimit: string(b.AtLimit),
		SetBy: string(b.By), SetName: b.ByName, SetAt: timestampOf(b.SetAt), Version: b.Version + 1}
	t.changed(live.Change{Topic: live.TopicBudget, ID: b.Tenant, Tenant: b.Tenant})
	if b.Version > 0 {
		return update(t.at(ctx), &row, "tenant", b.Tenant, b.Version)
	}
	err := insert(t.at(ctx), &row)
	if clash(err) == uniqueClash {
		return lostRace()
	}
	return err
}

// RemoveBudget takes a budget away; its books stay.
func (t *tx) RemoveBudget(ctx context.Context, b budget.Budget) error {
	done := t.at(ctx).Exec("DELETE FROM budgets WHERE tenant = ? AND version = ?", b.Tenant, b.Version)
	if done.Error == nil && done.RowsAffected == 0 {
		return lostRace()
	}
	t.changed(live.Change{Topic: live.TopicBudget, ID: b.Tenant, Tenant: b.Tenant})
	return failure(done.Error)
}

// PostBudget writes a transaction and adds it to the balances. The condition on what is left stands in the update
// itself, so that it holds whoever else is at work.
func (t *tx) PostBudget(ctx context.Context, p budget.Transaction, within bool) error {
	b, a := p.Book, p.Amounts
	if err := t.openBook(ctx, b); err != nil {
		return err
	}
	query := inBook(t.at(ctx).Table("budget_balances"), b)
	if within {
		query = query.Where("left_over + ? >= 0", a.Left)
	}
	add := func(column string, n int64) any { return gorm.Expr(column+" + ?", n) }
	done := query.UpdateColumns(map[string]any{"left_over": add("left_over", a.Left), "held": add("held", a.Held),
		"spent":    add("spent", a.Spent),
		"refunded": add("refunded", a.Refunded), "platform": add("platform", a.Platform)})
	if done.Error != nil {
		return failure(done.Error)
	}
	if done.RowsAffected == 0 {
		return fault.New(fault.Conflict, i18n.T("budget.nothing_left"))
	}
	if p.Workload != "" {
		err := t.at(ctx).Exec(
			`INSERT INTO budget_shares (tenant, month, unit, workload, held, spent, refunded) VALUES (?, ?, ?, ?, 0, 0, 0)
			ON CONFLICT (tenant, month, unit, workload) DO NOTHING`, b.Tenant, b.Month.String(), string(b.Unit),
			p.Workload).Error
		if err != nil {
			return failure(err)
		}
		err = inBook(t.at(ctx).Table("budget_shares"), b).Where("workload = ?",
			p.Workload).UpdateColumns(map[string]any{"held": add("held", a.Held), "spent": add("spent", a.Spent),
			"refunded": add("refunded", -a.Refunded)}).Error
		if err != nil {
			return failure(err)
		}
	}
	t.changed(live.Change{Topic: live.TopicBudget, ID: b.Tenant, Tenant: b.Tenant})
	return insert(t.at(ctx), &budgetTransactionRow{ID: p.ID, Tenant: b.Tenant, Month: b.Month.String(),
		Unit: string(b.Unit), Kind: string(p.Kind), Workload: p.Workload,
		Amounts: fromAmounts(a), PostedBy: string(p.By), ByName: p.ByName, Note: p.Note, CreatedAt: timestampOf(p.At)})
}

func (t *tx) openBook(ctx context.Context, b budget.Book) error {
	return failure(
		t.at(ctx).Exec(
			`INSERT INTO budget_balances (tenant, month, unit, left_over, held, spent, refunded, platform, warned) VALUES (?,
				?, ?, 0, 0, 0, 0, 0, 0)
		ON CONFLICT (tenant, month, unit) DO NOTHING`, b.Tenant, b.Month.String(), string(b.Unit)).Error)
}

// WarnBudget notes that a level was announced.
func (t *tx) WarnBudget(ctx context.Context, b budget.Book, level int) (first bool, err error) {
	done := inBook(t.at(ctx).Table("budget_balances"), b).Where("warned < ?", level).UpdateColumn("warned", level)
	return done.RowsAffected == 1, failure(done.Error)
}
