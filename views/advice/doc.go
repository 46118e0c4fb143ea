// Package advice shows which workloads another size would suit better: an item with its evidence, on the workload's
// page and in a list.
package advice
