// Package capacity answers what fits where. Fit says how many workloads of a size exist and could start now on an
// inventory; Compare holds catalog and inventory against each other: what nodes have that nobody can ask for, and
// what people can ask for that never starts. Pure.
//
// The path of data: a catalog.Size becomes requirements (requirements.go), which are matched with each inventory.Node
// (place.go: labels and taints; claim.go: devices of a DRA driver); the numbers add up (fit.go). Compare asks the same
// questions of nodes as they are when empty (compare.go, never.go), and writes a size for what is left (unit.go: what a
// resource is; propose.go: the size).
//
// What it leaves to others: what a person may have (request), the geometry of MIG on one card, and why a pod of the
// cluster waits (explain).
package capacity
