// Package charts is the Helm chart with its tests: rendered as Helm renders, read as Kubernetes and Prometheus read,
// and compared with what the programs need and export. It has no code of its own.
package charts
