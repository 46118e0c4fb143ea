// Package forecast says when something that was asked for will be ready: a range of time and what it rests on, or
// honestly that there is none and why.
//
// The path of data: what was seen of earlier starts (Spread), of a line and of the leases before it (Line), and of an
// approver's pace becomes an Estimate in pure functions (estimate.go). Service is the shell that reads those facts, for
// a workload that is on its way, a request that waits, and a spec that is not sent yet. Start is the record of one
// start (start.go): the controller writes down what was estimated when it was told to run and when it got its place,
// and what came of it. The starts that are over are what later estimates rest on.
//
// An estimate never lies in the past, and none is made from a picture of the cluster that is old.
package forecast
