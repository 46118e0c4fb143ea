// Package drift tells a database from the cluster that it was carried out in: after a restore of a backup, or a
// failover that lost transactions, the cluster carries more than the database knows.
//
// The path of data:
//
//	Position (checkpoint.go)  where the database is; left in the cluster before anything is written there
//	Divergence                compares a checkpoint with the database: older, another timeline, or another database
//	Hold                      while one is there, nothing is created, changed, deleted, observed or metered there
//	Compare (compare.go)      owner records against rows -> []Difference
//	Decide (decide.go)        what adopt, release or apply make of a row; all three change the database alone
//	Service (service.go)      the shell: rights, audit, who saw what
//
// Everything but the Service is pure. Reading the cluster and carrying decisions out belong to package reconcile.
//
// What a checkpoint covers: the controller writes it before the first write that a change of the database leads to, so
// whatever the cluster carries is at or before its checkpoint. What was never carried out in the cluster (a request
// that waits for an approver, a price) is covered some seconds later (reconcile.Intervals.Checkpoint); losing such a
// change within those seconds is not noticed.
package drift
