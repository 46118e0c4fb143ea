// Package live is the change feed of open pages. The store writes an outbox row with every change; a Hub reads new rows
// once for the whole process (Source) and fans each Change out by Topic to its Followers, which page streams, caches
// and the controller hold. A Follower that is too slow is told that it lost changes, and loads again. Standing
// remembers which readers with an open page are still let in, so that a change needs no query for each.
package live
