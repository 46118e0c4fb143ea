// Package charts is the Helm chart with its tests: rendered as Helm renders, read as Kubernetes and Prometheus read,
// and compared with what the programs need and export. Tests and the demo install its rights in a real API server, so
// that what runs there may do what the chart grants and nothing else (install.go).
package charts
