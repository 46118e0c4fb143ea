package workload

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Change is a function that changes the spec of a workload: it gives the new value and its events. Errors are Conflict
// faults: the spec makes no sense in its state.
type Change func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error)

// Stop gives the GPU back and keeps the storage. Stopping what is stopped changes nothing and is no error, so it can be
// sent twice.
func Stop(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	if w.Desired == WantStopped {
		return w, nil, nil
	}
	if w.Desired == Finished {
		return w, nil, fault.New(fault.Conflict, i18n.T("workload.job_over"))
	}
	if !w.CanStop() {
		return w, nil, gone()
	}
	w.Desired, w.Generation, w.UpdatedAt = WantStopped, w.Generation+1, now
	w.Reason = i18n.T("workload.stopped_by", "Name", a.Person.Name)
	w.State = Stopping
	return w, []audit.Event{changed(w, a, audit.WorkloadStopped, now, i18n.Text{}, audit.Changed("desired", WantRunning,
		WantStopped))}, nil
}

// StopIdle is Stop for what was left idle. Reason says that and for how long, facts what was measured. The caller has
// seen that it runs.
func StopIdle(w Workload, reason, facts i18n.Text, now time.Time) (Workload, audit.Event) {
	w.Desired, w.Generation, w.UpdatedAt = WantStopped, w.Generation+1, now
	w.State, w.Reason = Stopping, reason
	return w, changed(w, identity.System(), audit.WorkloadIdleStopped, now, facts, audit.Changed("desired", WantRunning,
		WantStopped))
}

// Start resumes a stopped workload within its lease. Quota and seats are the caller's to check.
func Start(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	if w.Desired == WantRunning {
		return w, nil, nil
	}
	if w.IsJob() && w.State != Ended {
		return w, nil, fault.New(fault.Conflict, i18n.T("workload.job_over"))
	}
	if !w.CanStart() {
		return w, nil, gone()
	}
	if w.Lease.Over(now) {
		return w, nil, fault.New(fault.Conflict, i18n.T("workload.start_after_lease"))
	}
	w.Desired, w.Generation, w.UpdatedAt = WantRunning, w.Generation+1, now
	w.Reason = i18n.T("workload.resuming")
	w.Replicas.Asleep, w.Replicas.Waking, w.Replicas.Short = false, false, i18n.Text{}
	w.Replicas.Held = w.Replicas.Want()
	w.Observed.Steps = nil
	return w, []audit.Event{changed(w, a, audit.WorkloadStarted, now, i18n.Text{}, audit.Changed("desired", WantStopped,
		WantRunning))}, nil
}

// Delete marks a workload for deletion, which is final; the caller decides about its storage.
func Delete(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	if w.Desired == WantDeleted || w.State == Ended {
		return w, nil, nil
	}
	was := w.Desired
	w.Desired, w.Generation, w.UpdatedAt = WantDeleted, w.Generation+1, now
	w.State = Stopping
	w.Reason = i18n.T("workload.deleting")
	return w, []audit.Event{changed(w, a, audit.WorkloadDeleted, now, i18n.Text{},
		audit.Changed("desired", was, WantDeleted))}, nil
}

// Extend moves the end of the lease. A warning that was given is forgotten, so that the new end is announced as well.
func Extend(w Workload, until time.Time, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	if !w.CanExtend() {
		return w, nil, gone()
	}
	moved := audit.Changed("lease.until", stamp(w.Lease.Until), stamp(until))
	w.Lease.Until, w.WarnedAt, w.UpdatedAt = until, time.Time{}, now
	detail := i18n.T("workload.lease_until", "Until", stamp(until))
	return w, []audit.Event{changed(w, a, audit.WorkloadExtended, now, detail, moved)}, nil
}

// UndoExtend ends the lease when it would have ended, and gives back the warning that was given before.
func UndoExtend(w Workload, until, warned time.Time, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
	w, events, err := Extend(w, until, a, now)
	if err == nil {
		w.WarnedAt = warned
	}
	return w, events, err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func gone() error { return fault.New(fault.Conflict, i18n.T("workload.gone")) }

func changed(w Workload, a identity.Actor, kind audit.Kind, now time.Time, detail i18n.Text,
	changes []audit.Change) audit.Event {
	e := audit.By(a, kind, now)
	e.Tenant, e.Workload, e.Detail, e.Changes = w.Tenant, string(w.ID), detail, changes
	return e
}
