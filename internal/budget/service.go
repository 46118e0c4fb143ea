package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Reader reads budgets and their books. Faults: NotFound, Unavailable when the database is away.
type Reader interface {
	// Budget gives a team's budget; NotFound where none is set.
	Budget(ctx context.Context, tenant string) (Budget, error)
	Budgets(ctx context.Context) ([]Budget, error)
	// BudgetBalance gives the balances of a book; all zero for one that nothing was posted to.
	BudgetBalance(ctx context.Context, b Book) (Balance, error)
	// BudgetShares gives what each workload has of a book; those without anything are missing.
	BudgetShares(ctx context.Context, b Book) (map[string]Share, error)
	// BudgetShare gives what one workload has of a book; the zero value for one without anything.
	BudgetShare(ctx context.Context, b Book, workload string) (Share, error)
	// BudgetClaims gives what a team's workloads and its storage claim: those that hold something now, those that were
	// metered, or found gone after their cluster was silent, since a time, and those that have something held in any of
	// the team's books.
	BudgetClaims(ctx context.Context, tenant string, since time.Time) ([]Claim, error)
	// BudgetClaim gives that of one workload, or of the storage with that VolumeID.
	BudgetClaim(ctx context.Context, id string) (Claim, error)
	// BudgetBooks are the team's books in which something is held.
	BudgetBooks(ctx context.Context, tenant string) ([]Book, error)
	// BudgetRefunded is what a workload has been given back in a book.
	BudgetRefunded(ctx context.Context, b Book, workload string) (int64, error)
	// BudgetTransactions lists a book, newest first; the cursor is what the last page gave as next.
	BudgetTransactions(ctx context.Context, b Book, cursor string, limit int) (list []Transaction, next string, err error)
}

// Tx is one transaction that no grant runs beside.
type Tx interface {
	Reader
	// SaveBudget inserts at Version 0, else updates that version or answers Conflict.
	SaveBudget(ctx context.Context, b Budget) error
	RemoveBudget(ctx context.Context, b Budget) error
	// PostBudget writes a transaction, adds it to the balances and marks its book as opened. Within: Conflict, and nothing
	// written, when it takes more than is left.
	PostBudget(ctx context.Context, t Transaction, within bool) error
	// WarnBudget notes that a level was announced; false when it, or a higher one, had been.
	WarnBudget(ctx context.Context, b Book, level int) (first bool, err error)
	Append(ctx context.Context, events ...audit.Event) error
}

// Store keeps budgets and books.
type Store interface {
	Reader
	// BudgetExclusively runs fn in one transaction that no grant and no other change of a budget runs beside.
	BudgetExclusively(ctx context.Context, fn func(Tx) error) error
}

// Service sets budgets, holds amounts for leases, settles them by the meter, and warns.
type Service struct {
	Store  Store
	Zone   *time.Location // months begin and end by its clocks
	Now    func() time.Time
	NewID  func(prefix string) string
	Tenant func(name string) (title string, ok bool) // whether there is such a team
	Money  func() Unit                               // the catalog's currency
	Prices func() usage.PriceList                    // nil: everything costs what was agreed
}

// Month is the one that is running now.
func (s *Service) Month() usage.Month { return usage.MonthOf(s.Now(), s.Zone) }

func (s *Service) prices() usage.PriceList {
	if s.Prices == nil {
		return nil
	}
	return s.Prices()
}

// Status is what a team's budget says now; the zero Status where none is set. Whoever reads it for a decision does
// so in that decision's transaction, with Open.
func (s *Service) Status(ctx context.Context, from Reader, tenant string) (Status, error) {
	b, err := from.Budget(ctx, tenant)
	if fault.Is(err, fault.NotFound) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	now := s.Now()
	month := usage.MonthOf(now, s.Zone)
	st := Status{Budget: b, Span: month.Span(s.Zone), Prices: s.prices(), Now: now}
	st.Balance, err = from.BudgetBalance(ctx, Book{Tenant: tenant, Month: month, Unit: b.Unit})
	if !st.Balance.Opened { // the first to post something does it
		st.Balance.Left = b.Amount
	}
	return st, err
}

// Ask says in a decision's transaction what a claim would take.
func (s *Service) Ask(ctx context.Context, tx Tx, c Claim) (Ask, error) {
	st, err := s.open(ctx, tx, c.Tenant)
	if err != nil || !st.Set() {
		return Ask{}, err
	}
	share, err := tx.BudgetShare(ctx, s.book(st), c.Workload)
	return st.Ask(c, share), err
}

// ShareOf is what a workload, or storage, has of the running month's budget already.
func (s *Service) ShareOf(ctx context.Context, from Reader, st Status, id string) (Share, error) {
	return from.BudgetShare(ctx, s.book(st), id)
}

func (s *Service) book(st Status) Book {
	return Book{Tenant: st.Budget.Tenant, Month: usage.MonthOf(st.Now, s.Zone), Unit: st.Budget.Unit}
}

// open grants a month its amount, and puts aside what is running for it, before anything else is taken from it.
func (s *Service) open(ctx context.Context, tx Tx, tenant string) (Status, error) {
	st, err := s.Status(ctx, tx, tenant)
	if err != nil || !st.Set() || st.Balance.Opened {
		return st, err
	}
	if _, err := s.post(ctx, tx, Transaction{Book: s.book(st), Kind: Granted, Amounts: Amounts{Left: st.Budget.Amount,
		Platform: -st.Budget.Amount}}, false); err != nil {
		return st, err
	}
	claims, err := tx.BudgetClaims(ctx, tenant, st.Span.From)
	if err != nil {
		return st, err
	}
	for _, c := range claims {
		if err := s.settle(ctx, tx, st, c, false); err != nil {
			return st, err
		}
	}
	return s.Status(ctx, tx, tenant)
}

// Open grants a team's running month its amount, and puts aside what is running for it, unless that is done. A decision
// opens it before it asks what is left.
func (s *Service) Open(ctx context.Context, tx Tx, tenant string) error {
	_, err := s.open(ctx, tx, tenant)
	return err
}

// Hold puts aside in a decision's transaction what a claim takes now. Within: Conflict when that is more than is left;
// else somebody has agreed to it.
func (s *Service) Hold(ctx context.Context, tx Tx, c Claim, within bool) error {
	st, err := s.open(ctx, tx, c.Tenant)
	if err != nil || !st.Set() {
		return err
	}
	return s.settle(ctx, tx, st, c, within)
}

// settle brings the share of one workload to what it should be, in the month that is running.
func (s *Service) settle(ctx context.Context, tx Tx, st Status, c Claim, within bool) error {
	book := s.book(st)
	share, err := tx.BudgetShare(ctx, book, c.Workload)
	if err != nil {
		return err
	}
	kind, amounts, ok := move(share, Wanted(c, book.Unit, st.Prices, st.Span, st.Now))
	if !ok {
		return nil
	}
	_, err = s.post(ctx, tx, Transaction{Book: book, Kind: kind, Workload: c.Workload, Amounts: amounts}, within)
	return err
}

// post gives a transaction its id and time, writes it, and warns when it brings the month's use to a level that has not
// been announced. It gives back what was written.
func (s *Service) post(ctx context.Context, tx Tx, t Transaction, within bool) (Transaction, error) {
	t.ID, t.At = s.NewID("b-"), s.Now()
	if err := tx.PostBudget(ctx, t, within && t.Amounts.Left < 0); err != nil {
		return Transaction{}, err
	}
	return t, s.warn(ctx, tx, t.Book, t.At)
}

// warn announces the highest level that a book's use has reached since the last warning; only of the running month, in
// the unit that the budget has now.
func (s *Service) warn(ctx context.Context, tx Tx, book Book, at time.Time) error {
	b, err := tx.Budget(ctx, book.Tenant)
	if fault.Is(err, fault.NotFound) || err == nil && (b.Unit != book.Unit || book.Month != s.Month()) {
		return nil
	}
	if err != nil {
		return err
	}
	balance, err := tx.BudgetBalance(ctx, book)
	if err != nil {
		return err
	}
	level := reached(Status{Budget: b, Balance: balance}.Used())
	if level <= balance.Warned {
		return nil
	}
	first, err := tx.WarnBudget(ctx, book, level)
	if err != nil || !first {
		return err
	}
	e := audit.By(identity.System(), audit.BudgetWarned, at)
	e.Tenant = book.Tenant
	e.Detail = i18n.T("budget.warned", "Level", level, "Month", book.Month.String(), "Left", b.Unit.Say(balance.Left),
		"Amount", b.Unit.Say(b.Amount))
	return tx.Append(ctx, e)
}

// Settle compares every share with lease and meter and posts what is missing: of this month, and of those before in
// which something is still held or was metered late. It can be killed anywhere and called again at any time: what is
// posted is always the difference.
func (s *Service) Settle(ctx context.Context) error {
	budgets, err := s.Store.Budgets(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, b := range budgets {
		if err := s.settleTeam(ctx, b); err != nil {
			faults = append(faults, fmt.Errorf("settle the budget of %s: %w", b.Tenant, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(faults...)
}

func (s *Service) settleTeam(ctx context.Context, b Budget) error {
	now := s.Now()
	this := Book{Tenant: b.Tenant, Month: usage.MonthOf(now, s.Zone), Unit: b.Unit}
	last := this
	last.Month = this.Month.Add(-1)
	balance, err := s.Store.BudgetBalance(ctx, this)
	if err != nil {
		return err
	}
	if !balance.Opened {
		err := s.Store.BudgetExclusively(ctx, func(tx Tx) error { _, err := s.open(ctx, tx, b.Tenant); return err })
		if err != nil {
			return err
		}
	}
	held, err := s.Store.BudgetBooks(ctx, b.Tenant)
	if err != nil {
		return err
	}
	since := last.Month.Span(s.Zone).From
	claims, err := s.Store.BudgetClaims(ctx, b.Tenant, since)
	if err != nil {
		return err
	}
	books := []Book{this}
	for _, book := range slices.Concat(held, []Book{last}, s.silent(last, claims, since)) {
		if !slices.Contains(books, book) {
			books = append(books, book)
		}
	}
	var faults []error
	for _, book := range books {
		faults = append(faults, s.settleBook(ctx, book, claims))
	}
	return errors.Join(faults...)
}

// silent are the books before the last one of months in which a workload was charged that was found gone, since a time,
// to have been out of sight: its meter, or that of somebody who shares seats with it, was set back to when the cluster
// last confirmed it.
func (s *Service) silent(last Book, claims []Claim, since time.Time) (books []Book) {
	for _, c := range claims {
		for _, i := range c.metered() {
			if !i.UnknownUntil.After(since) {
				continue
			}
			for m := usage.MonthOf(i.Until, s.Zone); m.Before(last.Month); m = m.Add(1) {
				books = append(books, Book{Tenant: last.Tenant, Month: m, Unit: last.Unit})
			}
		}
	}
	return books
}

// metered is everything that its charges come from.
func (c Claim) metered() []usage.Interval {
	list := slices.Clone(c.Intervals)
	for _, group := range usage.SeatGroups(c.Intervals) {
		list = append(list, c.Sharers[group]...)
	}
	return list
}

// settleBook looks at every claim without a lock, and once more, with one, at those that look different from what the
// book says.
func (s *Service) settleBook(ctx context.Context, book Book, claims []Claim) error {
	balance, err := s.Store.BudgetBalance(ctx, book)
	if err != nil || !balance.Opened {
		return err // a month from before there was a budget
	}
	shares, err := s.Store.BudgetShares(ctx, book)
	if err != nil {
		return err
	}
	moves := map[string]int64{}
	for _, c := range claims {
		if _, amounts, differs := move(shares[c.Workload], s.wanted(c, book)); differs {
			moves[c.Workload] = amounts.Left
		}
	}
	// What gives back goes first, or a warning could come of a use that there never was.
	order := slices.SortedFunc(maps.Keys(moves),
		func(a, b string) int { return cmp.Or(cmp.Compare(moves[b], moves[a]), cmp.Compare(a, b)) })
	var faults []error
	for _, id := range order {
		if err := s.settleOne(ctx, book, id); err != nil {
			faults = append(faults, fmt.Errorf("workload %s in %s: %w", id, book.Month, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(faults...)
}

// wanted is the share of a book that a claim should have. In a book of a unit that does not count any more nothing is
// held.
func (s *Service) wanted(c Claim, book Book) Share {
	return Wanted(c, book.Unit, s.prices(), book.Month.Span(s.Zone), s.Now())
}

func (s *Service) settleOne(ctx context.Context, book Book, workload string) error {
	return s.Store.BudgetExclusively(ctx, func(tx Tx) error {
		b, err := tx.Budget(ctx, book.Tenant)
		if fault.Is(err, fault.NotFound) || err == nil && b.Unit != book.Unit {
			return nil // it was changed meanwhile, and that closed the book
		}
		if err != nil {
			return err
		}
		c, err := tx.BudgetClaim(ctx, workload)
		if err != nil {
			return err
		}
		share, err := tx.BudgetShare(ctx, book, workload)
		if err != nil {
			return err
		}
		kind, amounts, ok := move(share, s.wanted(c, book))
		if !ok {
			return nil
		}
		_, err = s.post(ctx, tx, Transaction{Book: book, Kind: kind, Workload: workload, Amounts: amounts}, false)
		return err
	})
}

// Draft is a budget as typed.
type Draft struct {
	Unit    Unit
	Amount  int64
	AtLimit Limit
	Version int64 // of the budget that it changes; 0 for a first one
}

// most keeps sums far away from the end of int64.
const most = 1_000_000_000_000

// Set gives a team a budget from now on. Invalid with fields; Conflict when somebody changed it meanwhile.
func (s *Service) Set(ctx context.Context, a identity.Actor, tenant string, d Draft) (Budget, error) {
	if err := s.permit(a, tenant, identity.ChangeBudget); err != nil {
		return Budget{}, err
	}
	if fields := s.check(d); len(fields) > 0 {
		return Budget{}, fault.InvalidFields(fields)
	}
	b := Budget{Tenant: tenant, Unit: d.Unit, Amount: d.Amount, AtLimit: d.AtLimit, By: a.Person.ID, ByName: a.Person.Name,
		SetAt: s.Now(), Version: d.Version}
	err := s.Store.BudgetExclusively(ctx, func(tx Tx) error {
		was, err := s.current(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if was.Version != d.Version {
			return fault.New(fault.Conflict, i18n.T("budget.changed_meanwhile", "Name", was.ByName))
		}
		if was.Version > 0 && was.Unit != b.Unit {
			if err := s.closeBooks(ctx, tx, was); err != nil {
				return err
			}
		}
		if err := tx.SaveBudget(ctx, b); err != nil {
			return err
		}
		if err := s.regrant(ctx, tx, tenant); err != nil {
			return err
		}
		return tx.Append(ctx, setEvent(a, was, b))
	})
	b.Version++
	return b, err
}

// current is the budget that is set, or one of version 0.
func (s *Service) current(ctx context.Context, tx Tx, tenant string) (Budget, error) {
	b, err := tx.Budget(ctx, tenant)
	if fault.Is(err, fault.NotFound) {
		return Budget{}, nil
	}
	return b, err
}

// regrant brings the running month to the amount that counts now.
func (s *Service) regrant(ctx context.Context, tx Tx, tenant string) error {
	st, err := s.open(ctx, tx, tenant)
	if err != nil {
		return err
	}
	if amounts, ok := grant(st.Balance, st.Budget.Amount); ok {
		if _, err := s.post(ctx, tx, Transaction{Book: s.book(st), Kind: Granted, Amounts: amounts}, false); err != nil {
			return err
		}
	}
	claims, err := tx.BudgetClaims(ctx, tenant, st.Span.From) // a book that was closed is opened again
	for i := 0; err == nil && i < len(claims); i++ {
		err = s.settle(ctx, tx, st, claims[i], false)
	}
	return err
}

// closeBooks lets go of what is held in the books of a budget that shall not count any more.
func (s *Service) closeBooks(ctx context.Context, tx Tx, b Budget) error {
	books, err := tx.BudgetBooks(ctx, b.Tenant)
	if err != nil {
		return err
	}
	for _, book := range books {
		shares, err := tx.BudgetShares(ctx, book)
		if err != nil {
			return err
		}
		for workload, share := range shares {
			if share.Held == 0 {
				continue
			}
			t := Transaction{Book: book, Kind: Released, Workload: workload, Amounts: Amounts{Held: -share.Held,
				Left: share.Held}}
			if _, err := s.post(ctx, tx, t, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func setEvent(a identity.Actor, was, b Budget) audit.Event {
	e := audit.By(a, audit.BudgetSet, b.SetAt)
	e.Tenant = b.Tenant
	before := i18n.T("budget.none")
	if was.Version > 0 {
		before = was.Unit.Say(was.Amount)
	}
	e.Detail = i18n.T("budget.set_to", "Before", before, "After", b.Unit.Say(b.Amount), "Limit",
		i18n.T("budget.limit."+string(b.AtLimit)))
	e.Changes = audit.Diff(was.recorded(), b.recorded())
	return e
}

// recorded is a budget as the record compares it; nothing where none was set.
func (b Budget) recorded() any {
	if b.Unit == "" {
		return nil
	}
	return map[string]string{"unit": string(b.Unit), "amount": b.Unit.Format(b.Amount), "atLimit": string(b.AtLimit)}
}

func (s *Service) check(d Draft) []fault.Field {
	var fields []fault.Field
	if d.Unit != GPUHours && d.Unit != s.Money() {
		fields = append(fields, fault.Field{Name: "unit", Reason: i18n.T("budget.unit_unknown", "Currency",
			string(s.Money()))})
	}
	if d.Amount < 0 || d.Amount > most {
		fields = append(fields, fault.Field{Name: "amount", Reason: i18n.T("budget.amount_wrong")})
	}
	if d.AtLimit != Stop && d.AtLimit != Approval {
		fields = append(fields, fault.Field{Name: "atLimit", Reason: i18n.T("budget.limit_unknown")})
	}
	return fields
}

// Remove takes a team's budget away: from now on it is not limited. The books stay.
func (s *Service) Remove(ctx context.Context, a identity.Actor, tenant string, version int64) error {
	if err := s.permit(a, tenant, identity.ChangeBudget); err != nil {
		return err
	}
	return s.Store.BudgetExclusively(ctx, func(tx Tx) error {
		was, err := s.current(ctx, tx, tenant)
		switch {
		case err != nil || was.Version == 0:
			return err
		case was.Version != version:
			return fault.New(fault.Conflict, i18n.T("budget.changed_meanwhile", "Name", was.ByName))
		}
		if err := s.closeBooks(ctx, tx, was); err != nil {
			return err
		}
		if err := tx.RemoveBudget(ctx, was); err != nil {
			return err
		}
		e := audit.By(a, audit.BudgetRemoved, s.Now())
		e.Tenant, e.Detail = tenant, i18n.T("budget.removed", "Before", was.Unit.Say(was.Amount))
		e.Changes = audit.Diff(was.recorded(), nil)
		return tx.Append(ctx, e)
	})
}

// Refund gives a team back what was charged while the platform failed.
type Refund struct {
	Workload string
	From     time.Time
	Until    time.Time
	Note     string
}

const maxNote = 300 // characters

// Refund gives back what a workload was charged for a stretch of the running month, and not more than it was charged in
// that month and has not been given back yet. What was not charged, because it had no place, is nothing to give back.
func (s *Service) Refund(ctx context.Context, a identity.Actor, tenant string, r Refund) (Transaction, error) {
	if err := s.permit(a, tenant, identity.ChangeBudget); err != nil {
		return Transaction{}, err
	}
	r.Note = strings.TrimSpace(r.Note)
	if n := utf8.RuneCountInString(r.Note); n == 0 || n > maxNote || !utf8.ValidString(r.Note) {
		return Transaction{}, fault.InvalidFields([]fault.Field{{Name: "note", Reason: i18n.T("budget.note_wrong", "Most",
			maxNote)}})
	}
	var out Transaction
	err := s.Store.BudgetExclusively(ctx, func(tx Tx) error {
		st, err := s.open(ctx, tx, tenant)
		if err != nil {
			return err
		}
		amount, err := s.refundable(ctx, tx, st, r)
		if err != nil {
			return err
		}
		out = Transaction{Book: s.book(st), Kind: Refunded, Workload: r.Workload,
			Amounts: Amounts{Left: amount, Refunded: -amount}, By: a.Person.ID, ByName: a.Person.Name, Note: r.Note}
		if out, err = s.post(ctx, tx, out, false); err != nil {
			return err
		}
		e := audit.By(a, audit.BudgetRefunded, s.Now())
		e.Tenant, e.Workload = tenant, r.Workload
		e.Detail = i18n.T("budget.refunded", "Amount", st.Budget.Unit.Say(amount), "From", r.From.UTC().Format(time.RFC3339),
			"Until", r.Until.UTC().Format(time.RFC3339), "Note", i18n.Literal(r.Note))
		return tx.Append(ctx, e)
	})
	return out, err
}

// refundable is what the meter charged for a stretch, at most what is not given back yet.
func (s *Service) refundable(ctx context.Context, tx Tx, st Status, r Refund) (int64, error) {
	wrong := func(field, id string) (int64, error) {
		return 0, fault.InvalidFields([]fault.Field{{Name: field, Reason: i18n.T(id)}})
	}
	if !st.Set() {
		return 0, fault.New(fault.Conflict, i18n.T("budget.not_set"))
	}
	c, err := tx.BudgetClaim(ctx, r.Workload)
	if fault.Is(err, fault.NotFound) || err == nil && c.Tenant != st.Budget.Tenant {
		return wrong("workload", "budget.workload_unknown")
	}
	if err != nil {
		return 0, err
	}
	stretch := usage.Span{From: later(r.From, st.Span.From), Until: r.Until}.To(st.Now)
	if !r.From.Before(r.Until) || !stretch.From.Before(stretch.Until) {
		return wrong("from", "budget.stretch_wrong")
	}
	book := s.book(st)
	share, err := tx.BudgetShare(ctx, book, r.Workload)
	if err != nil {
		return 0, err
	}
	before, err := tx.BudgetRefunded(ctx, book, r.Workload)
	if err != nil {
		return 0, err
	}
	used := c.used(book.Unit, st.Prices, st.Now)
	amount := min(c.cost(book.Unit, st.Prices, used, st.Now, stretch), share.Spent-before)
	if amount <= 0 {
		return wrong("from", "budget.nothing_charged")
	}
	return amount, nil
}

// permit: what somebody may not read does not exist for them.
func (s *Service) permit(a identity.Actor, tenant string, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	thing := identity.Resource{Tenant: tenant}
	if _, ok := s.Tenant(tenant); !ok || !identity.Can(a, identity.ReadBudget, thing) {
		return fault.New(fault.NotFound, i18n.T("budget.not_found"))
	}
	if !identity.Can(a, action, thing) {
		return fault.New(fault.Forbidden, i18n.T("budget.admins_only"))
	}
	return nil
}

// Of is what a team's budget says now, for its members and for those who see all.
func (s *Service) Of(ctx context.Context, a identity.Actor, tenant string) (Status, error) {
	if err := s.permit(a, tenant, identity.ReadBudget); err != nil {
		return Status{}, err
	}
	return s.Status(ctx, s.Store, tenant)
}

// All is what every budget says now, by team. Only those who see all may.
func (s *Service) All(ctx context.Context, a identity.Actor) ([]Status, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	if !identity.Can(a, identity.ReadBudget, identity.Resource{}) {
		return nil, fault.New(fault.NotFound, i18n.T("budget.not_found"))
	}
	budgets, err := s.Store.Budgets(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(budgets, func(a, b Budget) int { return cmp.Compare(a.Tenant, b.Tenant) })
	var list []Status
	for _, b := range budgets {
		st, err := s.Status(ctx, s.Store, b.Tenant)
		if err != nil {
			return nil, err
		}
		if st.Set() {
			list = append(list, st)
		}
	}
	return list, nil
}

// Ledger is a page of the book of a team's running or past month, newest first, with its balances.
func (s *Service) Ledger(ctx context.Context, a identity.Actor, tenant string, m usage.Month, cursor string,
	limit int) (Status, []Transaction, string, error) {
	if err := s.permit(a, tenant, identity.ReadBudget); err != nil {
		return Status{}, nil, "", err
	}
	st, err := s.Status(ctx, s.Store, tenant)
	if err != nil || !st.Set() {
		return st, nil, "", err
	}
	book := Book{Tenant: tenant, Month: m, Unit: st.Budget.Unit}
	if st.Balance, err = s.Store.BudgetBalance(ctx, book); err != nil {
		return st, nil, "", err
	}
	st.Span = m.Span(s.Zone)
	list, next, err := s.Store.BudgetTransactions(ctx, book, cursor, limit)
	return st, list, next, err
}
