// Package apiclient calls the REST API of a portal. The types and requests are generated from the OpenAPI document of
// internal/api by oapi-codegen, only for the operations that oapi-codegen.yaml lists; Connect makes the client and Read
// turns what an operation answered into its type or into a ProblemError. It knows nothing else of the portal.
package apiclient
