// Package workload holds notebooks, endpoints and jobs: a Workload is its spec (Desired, Generation, size, image,
// replicas, Lease) and its status (State, the last Observation).
//
// The path of data: request makes a Workload of what was granted -> a person changes its spec through Service (start,
// stop, scale, revise, share; change.go, scale.go, revision.go, granting.go) -> the controller carries it out and
// observes -> Advance makes State and events of that (advance.go, states.go) -> EndLease and the schedule stop it in
// time. Those functions are pure; Service checks rights and saves in one transaction.
//
// Also here: storage and its retention (Volume, TeamShare; share.go, retention.go, grow.go), versions of an endpoint
// (revision.go), autoscaling as it is carried out (autoscale.go), working hours (schedule.go), secrets in use
// (secret.go).
package workload
