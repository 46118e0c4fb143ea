// Package forecast says when something that was asked for will be ready: a range of time and its basis, or why
// there is no estimate.
//
// The path of data: the durations of earlier starts and decisions (Distribution), and the queue with the leases that
// end before it (QueuePosition), become an Estimate in pure functions (estimate.go). Service is the shell
// that reads those facts, for a workload that is on its way, a request that waits, and a spec that is not sent yet.
// Start is the record of one start (start.go): the controller writes down what was estimated when it was requested and
// when it was placed, and when it was ready. Later estimates are based on the starts that are over.
//
// An estimate never lies in the past, and none is made from an old snapshot of the cluster.
package forecast
