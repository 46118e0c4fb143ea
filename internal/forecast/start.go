package forecast

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Start is the record of one start of a workload, by its generation: what was estimated, and when it was ready.
type Start struct {
	Workload    workload.ID
	Generation  int64
	Size        string
	Kind        catalog.WorkloadKind
	Cluster     string
	Waited      bool      // it was queued at first, or the fit was unknown
	RequestedAt time.Time // when it was asked to run
	AtRequest   Estimate  // estimate made then: At, From, Until and Basis
	Placed      time.Time // when it was seen on a node; zero before
	AtPlacement Estimate  // estimate made then, of one that was queued: From and Until
	Ready       time.Time // when it answered; zero before
}

// StartDuration is how long a start took in all, and from its place on.
type StartDuration struct {
	Total          time.Duration
	AfterPlacement time.Duration
	Waited         bool // it was queued: Total does not predict the next start
}

// totals are the durations of starts that were never queued.
func totals(list []StartDuration) Distribution {
	var all []time.Duration
	for _, t := range list {
		if !t.Waited {
			all = append(all, t.Total)
		}
	}
	return NewDistribution(all)
}

// afterPlacement are the durations from placement to ready, of all starts.
func afterPlacement(list []StartDuration) Distribution {
	all := make([]time.Duration, len(list))
	for i, t := range list {
		all[i] = t.AfterPlacement
	}
	return NewDistribution(all)
}

// Open reports whether it is still under way.
func (s Start) Open() bool { return s.Ready.IsZero() }

// Matches reports whether a start is that of a workload's present generation.
func (s Start) Matches(w workload.Workload) bool {
	return s.Workload == w.ID && s.Generation == w.Generation
}

// NewStart begins the record of a start with what was estimated.
func NewStart(w workload.Workload, told time.Time, e Estimate) Start {
	if told.IsZero() || told.After(e.At) {
		told = e.At
	}
	return Start{Workload: w.ID, Generation: w.Generation, Size: w.Size.Name, Kind: w.Kind, Cluster: w.Cluster,
		Waited: e.Waits() || e.Missing == Stuck || e.Missing == Silent, RequestedAt: told, AtRequest: recorded(e)}
}

// recorded reduces an estimate to what is stored.
func recorded(e Estimate) Estimate {
	return Estimate{At: e.At, From: e.From, Until: e.Until, Basis: e.Basis}
}

// MarkPlaced records the placement; what had been queued gets a second estimate from there.
func (s Start) MarkPlaced(now time.Time, e Estimate) Start {
	s.Placed = now
	if s.Waited && e.Known() {
		s.AtPlacement = Estimate{At: now, From: e.From, Until: e.Until, Basis: Placed}
	}
	return s
}

// MarkReady records that it answers; one never seen on a node counts as placed now.
func (s Start) MarkReady(now time.Time) Start {
	if s.Placed.IsZero() {
		s.Placed = now
	}
	s.Ready = now
	return s
}

// Accuracy compares one estimate with when it was ready.
type Accuracy struct {
	Basis   Basis
	Error   time.Duration
	Outcome Outcome
}

// Accuracies evaluates the estimates of a start that is ready.
func (s Start) Accuracies() []Accuracy {
	var list []Accuracy
	for _, e := range []Estimate{s.AtRequest, s.AtPlacement} {
		if e.Known() && !s.Open() {
			off, is := e.Evaluate(s.Ready)
			list = append(list, Accuracy{e.Basis, off, is})
		}
	}
	return list
}
