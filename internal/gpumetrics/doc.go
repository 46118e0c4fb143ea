// Package gpumetrics reads what GPUs do from DCGM series in Prometheus (its HTTP API: Prometheus, Thanos,
// VictoriaMetrics, Mimir). Each value is a Reading: a number with its unit, where it comes from (measured, apportioned,
// unknown) and how old it is; what is not known is said to be unknown and is never a zero. One Poller serves all open
// pages of a cluster.
//
// The way of the data: Poller asks fixed queries at fixed intervals (queries.go) -> decode reads the answer row by
// row within limits (decode.go) -> a sample set takes the rows in and sorts them by device and pod (arrange.go, pure)
// -> Live hands out what a pod's devices do, and which part is the pod's own (apportion.go). Every 30 s it asks for the
// health of cards (health.go), and at most as often for the last hour of all pods at once (history.go). Report
// says how well all this works (survey.go).
//
// On which node a card is: by its target, its exporter, or what the cluster knows of it (nodes.go).
//
// Cards of AMD, Gaudi and Intel show what their exporters tell; names and scales stand in the same table.
//
// What is known of each series stands in one table (kinds.go): names, unit, range, whether it is of a slice or of the
// card. What labels are called is a setting (labels.go).
//
// What differs between Prometheus and VictoriaMetrics is asked away (poller.go): a test gives both the same samples and
// asks both every query.
//
// It stores no series and judges nothing: idle or not is for others to say.
package gpumetrics
