// Package catalog holds what is on offer: each Size (an accelerator by its Technology, CPU, memory, Isolation, price,
// lease) and each Image or Runtime that a workload can start from. A Catalog is an immutable value.
//
// The path of data: YAML (load.go, reader.go) -> Parse lists every Problem with its line (check.go, runtimecheck.go) ->
// a Catalog, which request, capacity, kube and the pages read. Technologies that need code are a table in
// technology.go; those that names and annotations describe are data (rules.go, technologies.yaml). mirror.go rewrites
// image references for sites without the Internet; sku.go is a size as the price list sees it.
//
// It leaves to others: editing and revisions (offer), what fits on which node (capacity), the objects (kube).
package catalog
