// Package search draws what a search found: as a page, and as the list of the command palette.
package search
