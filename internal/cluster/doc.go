// Package cluster keeps the clusters that administrators add in the portal, beside those of the configuration.
//
// kubeconfig.go is pure: it takes one context out of a kubeconfig and refuses what would run a program, read a file of
// the portal's machine or reach the API server by another way than TLS. guard.go says which addresses may be dialled.
// seal.go encrypts: only the name and the API server's address are stored readable, and nothing gives credentials back
// to a person. service.go is the shell: people test, add, replace and remove, the portal asks for all of them (Load).
package cluster
