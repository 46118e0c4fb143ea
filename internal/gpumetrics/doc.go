// Package gpumetrics reads what GPUs do from DCGM series in Prometheus (its HTTP API: Prometheus, Thanos, VictoriaMetrics, Mimir). Each value is a Reading with its
// age; what is not known is said to be unknown and is never a zero. One Poller serves all open pages of a cluster.
//
// The way of the data: Poller asks two fixed queries every 5 s while somebody watches (queries.go) -> decode reads the answer within a size limit
// (decode.go) -> arrange turns rows into devices by pod (arrange.go, pure) -> Live hands them out. History asks one more query at most every 30 s,
// for all pods at once.
//
// It stores no series and judges nothing: idle or not is for others to say.
package gpumetrics
