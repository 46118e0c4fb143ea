// Package offer keeps the catalog as data that an administrator edits: revisions with author, note and time, of which
// the highest counts. A text is checked as a whole before it is kept; what runs goes on with the size that it froze.
// Without any revision the configuration's file, or the first set, counts as version 0.
//
// The path of the data: a typed text or an action on one entry (change.go) -> catalog.Parse and what it would take
// away from those who hold it (check.go) -> Store.SaveCatalog, which keeps the row, the audit event and the outbox
// row in one transaction -> Service.Refresh in every replica, woken by the outbox. A stored revision that this version
// cannot read (after an upgrade) changes nothing: the active one stays, and the pages say why.
package offer
