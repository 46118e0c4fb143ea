package workload

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Advance works out what an observation and the clock make of a workload: the new value, and an event for each thing
// that people should find in its history. An observation of an older spec tells nothing about the present one.
func Advance(w Workload, obs Observation, now time.Time) (Workload, []audit.Event) {
	var events []audit.Event
	old := w
	if obs.Activity == nil {
		obs.Activity = w.Observed.Activity
	}
	w.Observed = obs
	if w.PlacedAt.IsZero() && obs.Node != "" {
		w.PlacedAt = now
		w.Lease = Lease{From: now, Until: now.Add(w.Lease.Until.Sub(w.Lease.From))}
	}
	if stopped, e, ok := stopEnded(w, now); ok {
		return stopped, []audit.Event{e}
	}
	w.Replicas = w.Replicas.settled(obs)
	if w, events = w.rollOut(obs, now); w.Generation != old.Generation { // what was seen was another revision's
		obs.Failed, obs.Reason, w.Observed.Failed = false, w.Reason, false
	}
	w.conclude(obs)
	if next := stateOf(w, obs); CanMove(w.State, next) {
		w.State = next
	}
	w.Reason = reasonOf(w, obs)
	if w.State != Running {
		w.Observed.Activity = nil
	}
	if w.State != old.State && !w.woken(old) {
		events = append(events, observed(w, old.State, now))
	}
	if w.State == Running || w.Desired != WantRunning {
		w.Replicas.Waking = false
	}
	return w, events
}

// woken reports whether a change of state is part of a wake, which has its own word in the record: an endpoint may wake
// many times a day, and its owner is not told each time.
func (w Workload) woken(old Workload) bool {
	return old.Replicas.Waking && w.Desired == WantRunning && (w.State == Queued || w.State == Starting ||
		w.State == Running)
}

func observed(w Workload, from State, now time.Time) audit.Event {
	e := audit.By(identity.System(), audit.WorkloadObserved, now)
	e.Tenant, e.Workload = w.Tenant, string(w.ID)
	e.Detail = i18n.T("workload.moved", "From", i18n.T("state."+string(from)), "To", i18n.T("state."+string(w.State)))
	return e
}

func stateOf(w Workload, obs Observation) State {
	switch {
	case w.Desired == WantDeleted && !obs.PodPresent && obs.Generation >= w.Generation:
		return Ended
	case w.Desired == Finished && w.Result != nil && w.Result.Succeeded:
		return Succeeded
	case w.Desired == Finished:
		return Failed
	case w.Desired != WantRunning && obs.PodPresent:
		return Stopping
	case w.Desired == WantStopped && obs.Generation >= w.Generation:
		return Stopped
	case w.Desired != WantRunning:
		return Stopping
	case w.Replicas.Asleep:
		return Asleep
	case obs.Ready && (obs.Generation >= w.Generation || w.Revisions.Seamless == w.Generation):
		return Running
	case obs.Failed:
		return Failed
	case obs.Node != "":
		return Starting
	}
	return Queued
}

// reasonOf keeps what the request to stop wrote (who, or the end of the lease) until something else is requested: the
// cluster has nothing better to say of something that goes or is gone.
func reasonOf(w Workload, obs Observation) i18n.Text {
	switch w.State {
	case Running, Succeeded, Ended:
		return i18n.Text{}
	case Stopping, Stopped, Asleep:
		return w.Reason
	}
	if w.Desired == Finished && obs.Result == nil { // its objects are gone
		return w.Reason
	}
	return obs.Reason
}

// stopEnded stops a notebook whose program has ended by itself (Shut Down in JupyterLab's menu, say). Kubernetes starts
// the program again, and what nobody asked for would hold the GPU. One that ended with an error is a matter for its
// owner.
func stopEnded(w Workload, now time.Time) (Workload, audit.Event, bool) {
	if w.Kind != catalog.Notebook || w.Desired != WantRunning || w.Observed.ProgramEnded.IsZero() ||
		w.Observed.Generation < w.Generation {
		return w, audit.Event{}, false
	}
	w.Desired, w.Generation, w.UpdatedAt = WantStopped, w.Generation+1, now
	w.State, w.Reason, w.Observed.Activity = Stopping, i18n.T("workload.program_ended"), nil
	return w, changed(w, identity.System(), audit.WorkloadExited, now, i18n.Text{}, audit.Changed("desired", WantRunning,
		WantStopped)), true
}

// EndLease stops a running workload whose lease is over and warns the owner before, once for each of the warnings. It
// returns the workload unchanged, and no events, when nothing is due. The pod still holds its GPU: the workload counts
// against quota and budget until that is gone.
func EndLease(w Workload, warnings Warnings, now time.Time) (Workload, []audit.Event) {
	if w.Desired != WantRunning || w.Lease.Until.IsZero() {
		return w, nil
	}
	if w.Lease.Over(now) {
		w.Desired, w.Generation, w.State = WantStopped, w.Generation+1, Stopping
		w.Reason = i18n.T("workload.lease_ended")
		w.UpdatedAt = now
		return w, []audit.Event{leaseEvent(w, audit.LeaseEnded, "workload.lease_until", now)}
	}
	left, due := warnings.due(w.Lease, w.WarnedAt, now)
	if !due {
		return w, nil
	}
	w.WarnedAt = now
	e := leaseEvent(w, audit.LeaseWarned, "workload.lease_warned", now)
	e.Detail.Args["Left"] = catalog.Duration(left).String()
	return w, []audit.Event{e}
}

// Ending reports whether the end of the lease has been announced.
func (w Workload) Ending() bool { return !w.WarnedAt.IsZero() && w.Desired == WantRunning }

func leaseEvent(w Workload, kind audit.Kind, sentence string, now time.Time) audit.Event {
	e := audit.By(identity.System(), kind, now)
	e.Tenant, e.Workload = w.Tenant, string(w.ID)
	e.Detail = i18n.T(sentence, "Until", stamp(w.Lease.Until))
	return e
}
