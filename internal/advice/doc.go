// Package advice says of what runs whether another size would suit it better, and why: one that costs less and would
// do, or a larger one.
//
// The way of the data: Collector asks each cluster's metrics once a day for a day that is over, and now and then for
// today (collect.go) -> Gather adds up the days of one workload beside what its meter says it held (evidence.go, pure)
// -> Judge compares that with the sizes that its team may have (judge.go, pure) -> Service hands out what a person may
// read, without what was dismissed (service.go).
//
// Advice is derived from measured values alone. Where a card is shared and its one value stands for several pods, or
// where too little of the time was measured, there is no advice but the reason why there is none. Nothing is ever
// changed, stopped or charged on it: a person asks for another size, or does not.
package advice
