// Package audit is the audit log: one Event for each change and each refusal, written in the same transaction as the
// change, and never changed afterwards.
//
// The path of an Event: By makes it for an actor (event.go: its Kind, whom and what it concerns; change.go: the fields
// that differ) -> the store numbers it and links it to the one before by a hash (chain.go: Record, Chain, Verify) ->
// Filter finds it again (filter.go), ExportCSV and ExportRecords hand it on (export.go). Aggregator (fold.go) counts
// refusals that repeat, so that nobody can fill the log.
//
// It leaves to others: who may read (identity.Can), what a kind says to people (i18n, audit.*), storage (store).
package audit
