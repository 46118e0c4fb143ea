// Package terminal runs a shell in the main container of a workload, for one who may use it, and passes files in and
// out of it.
//
// The path of data: Service.Open checks the rules (Rules.Permit), the numbers and that the pod is the workload's own.
// Session.Run execs a shell over the API server, by WebSocket and, where that is not spoken, by SPDY, and passes keys,
// sizes and output between it and a Client. Nothing is kept: output that the client does not take holds up the shell,
// and a client that takes none for a while loses its session. A session ends with the shell, the pod, the right, the
// sign-in, or by one of the times of Rules; End says which, to the Client and in the audit, which has its start as
// well. What was typed and answered is written down nowhere.
//
// Service.OpenFiles gives Files, which list, read and write by programs of the image, over the same exec and under the
// same rules (Rules.PermitFiles). Each file that passes is in the audit with its path and bytes.
package terminal
