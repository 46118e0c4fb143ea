// Package bench holds scenario benchmarks: whole paths of the portal beside the plainest program that does the same. It
// has no code of its own.
package bench
