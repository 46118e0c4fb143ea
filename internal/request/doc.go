// Package request decides what people ask for: to start a workload, to extend or resume one, to hold more of a size, to
// reach an endpoint from outside.
//
// A [Draft] is what somebody typed; [Check] makes a [Spec] of it, and a [Request] is a Spec with its asker, its
// [State] and its [Decision]. [Facts] are what a decision sees of quota, budget, license seats, cluster and rules. Pure
// functions (Submit, Edit, Decide, Defer, Undo, Apply, Seat, Withdraw, Expire, Escalate, Reassign) make an [Outcome] of
// a request and its Facts: the request as it then is, the workload that comes of it, and the audit events. A [Refusal]
// says why nothing comes of it.
//
// The services around them share one core, which gathers the Facts (gather.go) and saves the Outcome (core.go) in one
// transaction that no other grant runs beside:
//
//   - [Service]: submit, preview, edit, withdraw, extend and resume; read and list
//   - [Approvals]: approve, reject, undo, reassign, escalate, expire; what waits for whom
//   - [Offers]: the sizes that somebody may have, at their price and as far as they are free; alternatives, advice
//   - [Quotas]: what a tenant holds of what it may hold, and requests for more
//   - [SeatQueue]: who waits for a license seat, and who gets the next one
//   - [Comparisons]: what other rules or quotas would have said to the requests of the last days
//
// The path of a start: web form or API body -> Draft -> Service.Submit -> Check -> core.gather -> Submit ->
// policy.Decide -> core.save. Service.Preview is the same path on a transaction whose writes are dropped (dryrun.go). A
// request is immutable once it is decided.
package request
