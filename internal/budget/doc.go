// Package budget keeps what a team may use in a month, in money or in GPU-hours, as a double-entry ledger. A team
// without a budget is not limited.
//
// The path of data: an administrator sets a Budget -> a decision asks what it would take (Status.Ask) and, in its own
// transaction, puts it aside (Service.Hold) -> the controller's chore compares each share with the lease and the meter
// (Wanted) and posts the difference (Service.Settle). Nothing is remembered beside the ledger: what was posted twice
// would make no difference the second time, and what was missed is found the next time.
//
// Accounts and their rules are in ledger.go. What was used is metered by usage; who may decide is policy's.
package budget
