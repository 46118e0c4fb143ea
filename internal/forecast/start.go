package forecast

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Start is one start of a workload: what was estimated, and what came of it. A spec to run is one start, told apart by
// its generation.
type Start struct {
	Workload   workload.ID
	Generation int64
	Size       string
	Kind       catalog.WorkloadKind
	Cluster    string
	Waited     bool      // there was no place for it when it was told to run, or nobody could tell
	Told       time.Time // when it was told to run
	First      Estimate  // given then; kept are At, From, Until and Basis
	Placed     time.Time // when it was seen on a node; zero before
	Second     Estimate  // given then to one that had waited: how long from there. Kept are From and Until
	Ready      time.Time // when it answered; zero before
}

// Took is how long a start took in all, and from its place on.
type Took struct {
	Whole  time.Duration
	Placed time.Duration
	Waited bool // then the whole says nothing of the next one
}

// whole are the times from the spec on, of those that found a place at once.
func whole(list []Took) Spread {
	var all []time.Duration
	for _, t := range list {
		if !t.Waited {
			all = append(all, t.Whole)
		}
	}
	return SpreadOf(all)
}

// placed are the times from the place on, of all.
func placed(list []Took) Spread {
	all := make([]time.Duration, len(list))
	for i, t := range list {
		all[i] = t.Placed
	}
	return SpreadOf(all)
}

// Open reports whether it is still under way.
func (s Start) Open() bool { return s.Ready.IsZero() }

// Same reports whether a start is that of a workload's present spec.
func (s Start) Same(w workload.Workload) bool {
	return s.Workload == w.ID && s.Generation == w.Generation
}

// Tell begins the record of a start with what was estimated.
func Tell(w workload.Workload, told time.Time, e Estimate) Start {
	if told.IsZero() || told.After(e.At) {
		told = e.At
	}
	return Start{Workload: w.ID, Generation: w.Generation, Size: w.Size.Name, Kind: w.Kind, Cluster: w.Cluster,
		Waited: e.Waits() || e.Missing == Stuck || e.Missing == Silent, Told: told, First: kept(e)}
}

// kept is what the record has of an estimate.
func kept(e Estimate) Estimate {
	return Estimate{At: e.At, From: e.From, Until: e.Until, Basis: e.Basis}
}

// Place notes that it is on a node. An estimate from there is given to what had waited.
func (s Start) Place(now time.Time, e Estimate) Start {
	s.Placed = now
	if s.Waited && e.Known() {
		s.Second = Estimate{At: now, From: e.From, Until: e.Until, Basis: Placed}
	}
	return s
}

// Answer notes that it is ready.
func (s Start) Answer(now time.Time) Start {
	if s.Placed.IsZero() {
		s.Placed = now
	}
	s.Ready = now
	return s
}

// Verdict is how good one estimate was.
type Verdict struct {
	Basis   Basis
	Off     time.Duration
	Outcome Outcome
}

// Verdicts judge what was estimated of a start that is ready. What had no estimate has none.
func (s Start) Verdicts() []Verdict {
	var list []Verdict
	for _, e := range []Estimate{s.First, s.Second} {
		if e.Known() && !s.Open() {
			off, is := e.Judge(s.Ready)
			list = append(list, Verdict{e.Basis, off, is})
		}
	}
	return list
}
