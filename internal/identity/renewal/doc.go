// Package renewal keeps sessions at what the sign-in provider says now, not at what it said when somebody signed in.
//
// Begin bounds a fresh session and seals its refresh token -> each use of the session passes Fresh, which looks how old
// the groups are (look.go, pure) -> when they are due, one caller of all replicas claims the session and asks the
// provider (ask.go) -> the answer is written down, or ends the session with the reason in the record.
//
// A provider that rotates refresh tokens takes each one once. When a process dies between its answer and our writing it
// down, the new token is lost: the next asker brings the old one, the provider refuses it, the session ends and the
// person signs in again. Nothing else is lost by that, and the record says why.
package renewal
