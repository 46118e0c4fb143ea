// Package usage meters GPUs, seats and storage, and prices them. Only an Interval costs money: from when until when a
// workload held a size at a price.
//
// The path of data: an Allocation that the controller sees -> Meter opens and closes Intervals (meter.go; seats.go and
// storage.go do the same for license seats and volumes) -> the store keeps them, with sums of past months (rollups.go)
// -> Service makes a Statement of a month (statement.go, shared.go for seats that several hold), which the pages show
// and export.go and focus.go write as CSV and FOCUS. Prices (prices.go, price.go) is the price list; Money (money.go)
// an amount in minor units.
//
// Beside the statements: fleet.go and reconciliation.go compare charged hours with those of the cards, engine.go adds
// measured utilization, unmet.go counts requests that got nothing, spenders.go and daily.go group cost.
//
// Everything but the services is pure. Budgets are kept by budget, measured by usage/recorder.
package usage
