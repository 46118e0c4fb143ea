// Package traffic is what goes through an endpoint: requests, errors, tokens, how long answers take to begin and to
// end, by consumer (a key or a person) and revision.
//
// Pure parts: counts that add up (counts.go), the steps that they are kept in (step.go), and the figures of a span
// (figures.go). The way of a call: the gateway hands its outcome to a Recorder (recorder.go), which keeps it in memory
// and adds it to the database every FlushEvery, each batch once whatever fails in between. Sampler writes down how many
// replicas there are and how many requests wait in them. Service reads.
package traffic
