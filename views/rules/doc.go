// Package rules shows what happens to whom: the rules as an ordered table, the editor with the place of every problem,
// what examples would get, and what a change would have changed.
package rules
