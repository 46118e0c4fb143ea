// Package tunnel passes the bytes of one TCP connection between a person's client and a port of their workload's pod,
// where a server of the image, such as OpenSSH, asks once more who they are.
//
// The path of data: Service.Open checks the rules (Rules.Permit), the numbers, and that the workload has such a port,
// and dials its pod. Session.Run copies both ways and keeps nothing: a side that takes no bytes holds up the other, and
// one that takes none for a while loses the session. Each side may end its direction by itself. A session ends with
// either connection, the pod, the right, the sign-in, or by one of the bounds of Rules; End says which. What is passed
// is neither looked at nor written down.
package tunnel
