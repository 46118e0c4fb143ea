// Package stack knows the programs of the devstack: their order, their flags, the files they read and how one sees that
// each is ready. It starts them as one Group.
package stack
