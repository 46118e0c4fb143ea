// Package store keeps what the portal must not lose: people and sessions, requests, workloads and their storage, meter
// intervals, the audit record, the last snapshot of each cluster. SQLite serves one portal process; PostgreSQL serves
// many. Both run the same SQL and pass the same suite, storetest.Run. gorm stays inside this package.
//
// The path of a change: a service calls DecideExclusively or ChangeExclusively (grants, one at a time) or a single
// method (write.go). Rows are saved against the Version they were read at; events and outbox rows gather in the
// transaction and are numbered and written last, in flush, so that their numbers follow the order of commits. After the
// commit OnCommit is called, which wakes live.Hub.
//
// The path of a read: every reading method hangs on view, which is the reading pool or a transaction; so both
// read alike.
//
// Every error leaves through failure.go, where what the database says becomes a fault. Times are kept to the
// microsecond and come back in UTC.
package store
