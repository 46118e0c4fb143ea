// Package stub answers in place of the containers that KWOK does not run: as a Jupyter server on port 8888, as an
// OpenAI-style model server on 8000 and 8080. It answers only for pods that run, and asks for the key that the pod's
// own environment names, so that whoever passes requests on must really know it.
//
// The path of data: Network finds the pod behind an address (its own or that of a Service), Workload reads from the pod
// what the program would have read at its start, and the connection goes to an http.Server whose handlers find the
// Workload in the request's context. A route set through the control API sends the connection to a real server instead.
package stub
