// Package serve is the edge: echo, middleware, the sign-in check, and the one place where an error becomes a reply.
//
// A call passes: host switch (portal or workload) -> request id -> log -> headers -> language -> recover -> body limit
// -> cross-origin check -> who is it -> route (every route names an action or is public by its own entry) -> handler ->
// reply or error. Handlers return errors; problem.Of is the only map from fault kind to status.
package serve
