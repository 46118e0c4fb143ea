// Package logstore reads lines of pods that are gone from where a site keeps its logs: Loki, or Elasticsearch and
// OpenSearch.
//
// The path of data: a template of the settings becomes a query (template.go), with each value escaped for the language
// that it stands in, the store is asked over HTTP (store.go) within bounds of time and size, and loki.go or
// elasticsearch.go makes Lines of its answer, oldest first. Who may see them, and which of them are a workload's, is
// decided by package podlogs.
package logstore
