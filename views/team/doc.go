// Package team draws teams: which groups give which role, and what the team may hold.
package team
