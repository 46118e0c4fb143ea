// Package secrets draws the secrets of a person or a team, and the form that adds one or replaces its value. No model
// has a place for a value that is secret.
package secrets
