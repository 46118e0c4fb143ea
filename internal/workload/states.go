package workload

import (
	"slices"
	"time"
)

// transitions is the one table of allowed state changes; Advance checks each against it. Ended is final. A job that
// succeeded can only be deleted, and so can one that failed: stateOf keeps it there once it is Finished.
var transitions = map[State][]State{
	Queued:    {Starting, Running, Asleep, Stopping, Stopped, Failed, Succeeded, Ended},
	Starting:  {Queued, Running, Asleep, Stopping, Stopped, Failed, Succeeded, Ended},
	Running:   {Queued, Starting, Asleep, Stopping, Stopped, Failed, Succeeded, Ended},
	Asleep:    {Queued, Starting, Running, Stopping, Stopped, Failed, Ended},
	Stopping:  {Stopped, Queued, Ended, Failed, Succeeded},
	Stopped:   {Queued, Starting, Running, Stopping, Ended},
	Failed:    {Queued, Starting, Running, Asleep, Stopping, Stopped, Succeeded, Ended},
	Succeeded: {Stopping, Ended},
	Ended:     {},
}

// States lists every state.
func States() []State {
	return []State{Queued, Starting, Running, Asleep, Stopping, Stopped, Failed, Succeeded, Ended}
}

// CanMove reports whether a workload may go from one state to another. Staying is always allowed.
func CanMove(from, to State) bool { return from == to || slices.Contains(transitions[from], to) }

// CanStop reports whether stopping it means anything in its state. Rights are checked separately.
func (w Workload) CanStop() bool {
	return w.Desired == WantRunning && w.State != Ended
}

// StopLoses reports whether a stop ends work that nobody can bring back: programs and the memory of kernels. A notebook
// server that said within the last five minutes that it has no kernel has nothing to lose; neither has what does not
// run yet.
func (w Workload) StopLoses(now time.Time) bool {
	if !w.CanStop() || w.State != Running {
		return false
	}
	a := w.Observed.Activity
	return !a.Fresh(now) || len(a.Kernels) > 0
}

// CanStart reports whether a stopped workload may be resumed (its lease and quota are looked at when it is). A job that
// was stopped is over: what it had done so far nobody knows.
func (w Workload) CanStart() bool { return w.Desired == WantStopped && w.State != Ended && !w.IsJob() }

// CanRepeat reports whether a new workload can be made after its pattern: of a job that is over.
func (w Workload) CanRepeat() bool { return w.Over() }

// CanExtend reports whether a longer lease can be asked for.
func (w Workload) CanExtend() bool {
	return w.Desired != WantDeleted && w.Desired != Finished && w.State != Ended && !w.Over()
}

// CanDelete reports whether it can still be deleted.
func (w Workload) CanDelete() bool { return w.Desired != WantDeleted && w.State != Ended }

// HasAddress reports whether it is of a kind that opens at an address: a job is not, nor an image without pages.
func (w Workload) HasAddress() bool { return !w.IsJob() && w.Image.Port > 0 }

// Answers reports whether it has an address, now or later: what has ended has none any more.
func (w Workload) Answers() bool { return w.HasAddress() && w.State != Ended }

// CanOpen reports whether there is something to open.
func (w Workload) CanOpen() bool { return w.State == Running && w.Image.Port > 0 }
