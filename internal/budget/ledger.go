package budget

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Book is a ledger of its own: one team, one month, one unit. Amounts of different books are never added.
type Book struct {
	Tenant string
	Month  usage.Month
	Unit   Unit
}

// Amounts is one number for each account. A transaction's numbers sum to zero, and so do the balances; the database
// refuses what does not.
type Amounts struct {
	// the team's budget that is neither held nor spent; below zero where more was used, or agreed to, than there was
	Left     int64
	Held     int64 // put aside for leases that have been granted; never below zero
	Spent    int64 // by the meter
	Refunded int64 // what the platform failed to give, and gave back; its balance is below zero
	Platform int64 // where budgets come from; its balance is below zero
}

// Add sums account by account.
func (a Amounts) Add(b Amounts) Amounts {
	return Amounts{Left: a.Left + b.Left, Held: a.Held + b.Held, Spent: a.Spent + b.Spent, Refunded: a.Refunded +
		b.Refunded, Platform: a.Platform + b.Platform}
}

// Sum is over all accounts: zero.
func (a Amounts) Sum() int64 { return a.Left + a.Held + a.Spent + a.Refunded + a.Platform }

// Kind is the kind of a transaction: grant, hold, settlement, release, refund.
type Kind string

// The kinds of transaction.
const (
	Granted  Kind = "granted"  // the month's amount, or a change of it: platform to left
	Holding  Kind = "held"     // left to held
	Settled  Kind = "settled"  // held to spent; what the meter counted beyond what was held comes from left
	Released Kind = "released" // held to left
	Refunded Kind = "refunded" // refunded to left
)

// Transaction is one line of a book. It is never changed.
type Transaction struct {
	ID       string
	Book     Book
	Kind     Kind
	Workload string // "" where it is about none
	Amounts  Amounts
	By       identity.PersonID // "" for the portal itself
	ByName   string
	Note     string
	At       time.Time
}

// Balance is the sum of a book's transactions by account, and how far was warned of it.
type Balance struct {
	Amounts
	Opened bool // the month's amount has been granted
	Warned int  // the highest of Levels that has been announced; 0 for none
}

// Levels are the per cents of a month's amount at which is warned, once each.
var Levels = []int{50, 80, 100}

// reached is the highest level that a use has come to, 0 for none.
func reached(used int) (level int) {
	for _, l := range Levels {
		if used >= l {
			level = l
		}
	}
	return level
}

// grant is the transaction that brings what the platform has given to an amount; ok is false when it has.
func grant(b Balance, amount int64) (Amounts, bool) {
	more := amount + b.Platform
	return Amounts{Left: more, Platform: -more}, more != 0
}

// move is the transaction that turns the share which a workload has into the one it should have; ok is false when that
// is no change.
func move(has, want Share) (kind Kind, a Amounts, ok bool) {
	a = Amounts{Held: want.Held - has.Held, Spent: want.Spent - has.Spent}
	a.Left = -a.Held - a.Spent
	switch {
	case a.Spent != 0:
		return Settled, a, true
	case a.Held > 0:
		return Holding, a, true
	case a.Held < 0:
		return Released, a, true
	}
	return "", a, false
}
