// Package explain says in one plain sentence why a workload is not running yet, or not any more: raw facts of the
// cluster in, an Explanation out. Pure.
//
// The path of data: Explain applies the rules (explain.go) in the order in which causes hide each other: what the API
// server refused, the namespace, the owner that may not make its pod, the volume, the scheduler, the container,
// readiness, the end. The first that gives a finding wins. Each rule finds its sentence in a table of fragments
// (refused.go, place.go, disk.go, container.go, ended.go), for the cluster's texts differ by version and only parts of
// them are stable. schedule.go reads the scheduler's message.
//
// The sentences are messages (i18n, explain.*). Of the cluster's own words only parsed numbers and checked names get
// into a sentence; the words themselves go into Detail, cut to length. Names of other tenants are never part of a
// sentence, and those of nodes only where an administrator has quarantined them.
package explain
