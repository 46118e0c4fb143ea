// Package fleetmap puts every GPU of a cluster in its place: groups of alike nodes, their cards, and on each card its
// slices or shares, with what each does, who holds it and how it is.
//
// Join brings together what the API server says (inventory), what Prometheus says (gpumetrics) and how cards are
// (health) -> a Map, which nobody changes any more. A Paint gives each part of it a color, by a rule of the caller's;
// two paints of one Map differ in Changes, which is all that an open page has to be told. Names of people are not in
// it, only pods: who may know whose they are is for others to decide.
package fleetmap
