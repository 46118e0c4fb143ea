// Package tunnel passes the bytes of one TCP connection between a person's program and a port of their workload's pod:
// its SSH server, which asks once more who they are, or one that its image names (catalog.Image.Tunneled).
//
// The path of data: Service.Open checks the rules (Rules.Permit), the numbers, and that the workload runs and has such
// a port, and dials its pod. Session.Run copies both ways and keeps nothing: a side that takes no bytes holds up the
// other, and one that takes none for a while loses the session. Each side may end its direction by itself where its
// connection can, which a WebSocket cannot (Socket). A session ends with either connection, the pod, the right, the
// token, or by one of the bounds of Rules; End says which, to the program and in the audit, which has its start as
// well. What is passed is neither looked at nor written down.
package tunnel
