// Package idle says of what runs whether it is left idle, warns whoever asked for it, and gives its GPU back where the
// administrators want that.
//
// The way of the data: Settings say for each size and team what counts as idle and what follows (setting.go) ->
// Service.Evaluate asks each cluster's metrics, with one call, how hard all pods worked since the last time, and with
// one more what CPU and network they used, if anything is judged by them (evaluate.go) -> Accumulate adds each stretch
// to what is known of a workload, its Record (record.go, pure) -> Record.Verdict says whether a warning or the end is
// due -> the effect, in a transaction that reads the record again. Preview replays the same on what Prometheus still
// knows (preview.go).
//
// A workload is judged by its devices where their values are its own. A share of a card and what has no GPU are judged
// by CPU and network of their pods together, where a setting has thresholds of both, and by who is inside (record.go,
// byPods): a terminal, a tunnel or a connection through the gateway is use. GPU memory that is taken or given back is
// use of both, where it is the workload's own (observeMemory): it can end idle time and never begins it.
//
// It never decides on doubt. A stretch counts as idle only where every device, or every pod's CPU and network, was
// measured in all of it, the values are its holder's own, and the highest of them lies below the threshold; a gap, a
// restart, an answer that is late begins the time anew or says nothing. A notebook server that says it works, or does
// not say anything, is in use. A clock that jumps makes nothing idle. Nothing is stopped that nobody was warned of
// before.
package idle
