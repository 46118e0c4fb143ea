// Package workload draws what runs: the row of a list, the page of one workload and its parts. Models hold plain
// values, already formatted and decided.
package workload
