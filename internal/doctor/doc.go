// Package doctor looks whether everything that the portal stands on is there, before an installation and after it.
//
// Gather asks the real things, each with a timeout of its own and none stopping the others, and writes down Facts:
// plain values that can be kept as JSON. Judge is pure: facts in, Findings out, each with its state, what was found,
// what it costs and how to mend it. Texts are put into words where they are read: `portal doctor` in English (Write),
// the page System and GET /api/v1/system in the reader's language.
//
// Each process keeps its own facts in the database (Service), because each asks as its own account: the controller's
// may list nodes, the pages' may read logs. Merge makes one list of them, the worst finding of each check.
package doctor
