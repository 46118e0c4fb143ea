// Package inventory says what a cluster has: nodes, GPUs and slices, who holds them, what is free, and warnings.
//
// A Builder takes nodes, pods, ResourceSlices and ResourceClaims as they come and go and gives a Snapshot value; Build
// does the same for a cluster seen at once. What is read from whom: resources from the device plugins by node status
// (node.go), devices from DRA drivers by ResourceSlices (pool.go, devices.go, attached.go), the card and its cut from
// labels (product.go, kind.go, cards.go). On the value stand Totals (typed amounts that are never added across kinds),
// Isolation (what keeps neighbours apart) and the table of what an administrator should look at (warnings.go).
//
// The controller stores the snapshot, everyone else reads it with its age. What fits where is answered by capacity.
package inventory
