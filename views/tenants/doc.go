// Package tenants draws the administrators' view of teams: the list, the form that makes or changes one, its history,
// and the people who have signed in.
package tenants
