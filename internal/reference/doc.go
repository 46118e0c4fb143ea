// Package reference turns the OpenAPI document of the REST API into what a reader looks up: operations by group, the
// fields that are sent and answered with their limits, examples and snippets. It is pure: bytes in, values out; package
// web draws them.
package reference
