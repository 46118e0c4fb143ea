// Package app is the wiring: from a config.Config to a running portal, as a value that tests can start. It alone sees
// both sides of each interface; it decides nothing.
//
//	store.go    open the database, the secret key, tokens from the command line
//	site.go     what the services decide by: catalog, teams, rules, pools
//	clusters.go clients of the clusters, metrics, the way to pods
//	metrics.go  the portal's own metrics, on an address of their own
//	app.go      services, controller, gateway, pages and API put together
//	run.go      start, serve, stop
package app
