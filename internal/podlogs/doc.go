// Package podlogs reads the logs of a workload's containers and the events of its Kubernetes objects, live from the
// cluster and nothing stored.
//
// The path of data: Service checks the actor's rights on the workload and that the pod is the workload's own, client-go
// opens the log, scanner reads it line by line within bounds, and clean takes out what a terminal or a browser could
// trip over and what the portal itself mounted as a secret. Nothing is read while nobody looks: each reader has one
// stream at the API server, which ends with the reader.
//
// What the cluster no longer has comes from a log store of the site, where there is one (kept.go): the same rights,
// bounds and masks, of pods whose names can be no other workload's (workload.Owns).
package podlogs
