// Package api is the REST surface under /api/v1 and the OpenAPI 3.1 document written from it. Each operation is one
// entry of a table in routes.go and names the action that it is for; handlers take the actor out of the context, call
// the same services as the pages do, and turn the answer into a view (views.go). Errors are problem+json in the
// reader's language.
package api
