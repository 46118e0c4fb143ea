package drift

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Outcome is what a decision changes in the database.
type Outcome struct {
	Workload *workload.Workload // to save; Version 0 for a new one
	Volume   *workload.Volume   // to save
	Detach   string             // storage that nobody uses any more, where the database has it
	Forget   string             // storage whose row goes, while a claim stays as it is
	Close    *usage.Interval    // of the meter, if one is open
}

// Can reports whether a decision is possible.
func (d Difference) Can(decision Decision) bool {
	if !slices.Contains(Decisions(), decision) {
		return false
	}
	if decision != Adopt || d.Kind == DatabaseOnly {
		return true
	}
	s := d.Live
	if d.ResourceKind == Storage {
		return !s.Leaving && (d.Row != nil || s.Spec != nil && s.Spec.Owner != "" || ofTeam(*s))
	}
	moved := d.Row != nil && (d.Row.Tenant != s.Tenant || d.Row.Cluster != d.Cluster)
	rebuilt := s.Spec != nil && s.Spec.Owner != "" && s.Spec.Size != nil && s.Spec.Image != nil
	alive := d.Row != nil && d.Row.State != workload.Ended && d.Row.Size == s.Size
	return s.Kind != "" && !s.Leaving && !moved && (rebuilt || alive)
}

// ofTeam: see workload.ClaimOf and workload.PersonalClaim.
func ofTeam(s ClusterState) bool {
	_, personal := workload.PersonalName(s.Tenant, s.Key)
	return strings.HasPrefix(s.Key, s.Tenant+".") && !personal
}

// Unknown names what an adopted row cannot have, as ids of sentences.
func (d Difference) Unknown() []string {
	if d.Kind != ClusterOnly || !d.Can(Adopt) {
		return nil
	}
	if d.ResourceKind == Storage {
		if d.Live.Spec == nil || d.Live.Spec.Owner == "" {
			return []string{"owner", "storage"}
		}
		return []string{"storage"}
	}
	list := []string{"use", "history"}
	if d.Live.OwnerName == "" {
		list = append(list, "owner_name")
	}
	if d.Live.Lease > 0 && d.Live.Placed.IsZero() {
		list = append(list, "lease")
	} else if d.Live.Lease > 0 {
		list = append(list, "lease_placed")
	}
	return list
}

// Decide works out what a decision makes of the rows; w and v are those that there are now, nil for none.
func Decide(d Difference, decision Decision, w *workload.Workload, v *workload.Volume, now time.Time) (Outcome, error) {
	switch {
	case !d.Can(decision):
		return Outcome{}, fault.New(fault.Conflict, i18n.T("drift.not_possible"))
	case d.ResourceKind == Storage:
		return decideStorage(d, decision, v, now), nil
	case decision == Apply && w != nil:
		next := *w
		next.Generation, next.UpdatedAt = d.above(w.Generation), now
		return Outcome{Workload: &next}, nil
	case decision == Apply, decision == Release && d.Kind == ClusterOnly:
		return Outcome{}, nil // the objects are removed, or ignored, by the decision alone
	case decision == Release, d.Kind == DatabaseOnly:
		return ended(*w, now), nil
	}
	return adopted(d, w, now), nil
}

// above is a generation that no object has: what is applied must be newer than whatever the cluster carries.
func (d Difference) above(row int64) int64 {
	if d.Live == nil || d.Live.Generation < row {
		return row
	}
	if d.Live.Generation == row && len(d.Fields) == 0 {
		return row
	}
	return d.Live.Generation + 1
}

// ended closes a row without touching the cluster. Its meter ends when the pod was last confirmed: nobody knows for how
// long it went on.
func ended(w workload.Workload, now time.Time) Outcome {
	last := w.Observed.At
	w.Desired, w.State, w.Generation, w.UpdatedAt = workload.WantDeleted, workload.Ended, w.Generation+1, now
	w.Reason, w.Observed = i18n.Text{}, workload.Observation{At: last, Generation: w.Generation}
	out := Outcome{Workload: &w, Detach: w.Volume, Close: &usage.Interval{Workload: string(w.ID), Until: now}}
	if !last.IsZero() && last.Before(now) {
		out.Close.Until, out.Close.UnknownUntil = last, now
	}
	return out
}

// adopted is the row as the objects say.
func adopted(d Difference, w *workload.Workload, now time.Time) Outcome {
	s := *d.Live
	next := workload.Workload{ID: workload.ID(s.Key), Tenant: s.Tenant}
	if w != nil {
		next = *w
	}
	next.Name, next.Namespace, next.Cluster, next.UpdatedAt = s.Name, s.Namespace, d.Cluster, now
	next.Kind = catalog.Notebook
	switch s.Kind {
	case "Deployment", kube.InferenceServiceKind, kube.LeaderWorkerSetKind:
		next.Kind = catalog.Endpoint
	case "Job", kube.JobSetKind:
		next.Kind = catalog.Job
	}
	next.Generation = max(next.Generation, s.Generation)
	if s.Spec != nil {
		specified(&next, *s.Spec)
	}
	if s.OwnerName != "" {
		next.OwnerName = s.OwnerName
	}
	if w == nil || w.State == workload.Ended {
		next.Observed, next.PlacedAt, next.WarnedAt = workload.Observation{Generation: s.Generation}, s.Placed, time.Time{}
		next.Lease = leaseFrom(s, now)
	} else if s.Lease > 0 {
		next.Lease.Until = next.Lease.From.Add(s.Lease)
	}
	next.Desired, next.State, next.Reason = s.desired(), workload.Stopped, i18n.T("drift.adopted")
	if s.Running {
		next.State = workload.Queued
	}
	out := Outcome{Workload: &next}
	if next.Volume != "" {
		out.Volume = &workload.Volume{Name: next.Volume, Tenant: next.Tenant, Owner: next.Owner, OwnerName: next.OwnerName,
			Cluster: next.Cluster, Namespace: next.Namespace, GiB: next.StorageGiB, Workload: next.ID, CreatedAt: s.Since,
			UpdatedAt: now}
	}
	return out
}

func specified(w *workload.Workload, s kube.Spec) {
	w.Volume, w.StorageGiB, w.Mounts = s.Volume, s.StorageGiB, s.Mounts
	w.Secrets, w.Git = s.Secrets, s.Git
	if w.IsJob() {
		if w.Job = s.Job; w.Job == nil {
			w.Job = &workload.Job{}
		}
	}
	w.Model = s.Model
	if s.Revision > 1 {
		w.Revisions.Serving = s.Revision
	}
	w.Grants, w.LicenseSeats = s.Grants, s.LicenseSeats
	if s.Replicas != nil {
		w.Replicas = *s.Replicas
		w.Replicas.Held = w.Replicas.Want()
	}
	if s.Owner != "" {
		w.Owner = s.Owner
	}
	if s.Size != nil && s.Image != nil {
		w.Size, w.Image = *s.Size, *s.Image
		w.Size.Title, w.Image.Title = cmp.Or(w.Size.Title, w.Size.Name), cmp.Or(w.Image.Title, w.Image.Name)
	}
	if w.Request == "" {
		w.Request = s.Request
	}
	if w.CreatedAt.IsZero() {
		w.CreatedAt = s.CreatedAt
	}
}

// leaseFrom counts the lease from when the pod was placed. Of one that stands still that is not known: it is counted
// from the creation of the objects, so that it is never longer than approved, and it has an hour in which its owner can
// act.
func leaseFrom(s ClusterState, now time.Time) workload.Lease {
	from := s.Since
	switch {
	case s.Lease <= 0:
		return workload.Lease{}
	case s.Running && s.Placed.IsZero():
		from = now // still waits for its place, and its lease begins with it
	case s.Running:
		from = s.Placed
	}
	until := from.Add(s.Lease)
	if least := now.Add(time.Hour); until.Before(least) {
		until = least
	}
	return workload.Lease{From: from, Until: until}
}

func decideStorage(d Difference, decision Decision, v *workload.Volume, now time.Time) Outcome {
	switch {
	case decision == Apply:
		return Outcome{} // the claim is removed, grows, or is made again with its next workload
	case d.Kind == DatabaseOnly, decision == Release && v != nil:
		return Outcome{Forget: d.Key}
	case decision == Release:
		return Outcome{}
	}
	s := *d.Live
	next := workload.Volume{Name: s.Key, Tenant: s.Tenant, CreatedAt: s.Since}
	if v != nil {
		next = *v
	} else if name, ok := workload.PersonalName(s.Tenant, s.Key); ok {
		next.Personal.Name = name
	} else if ofTeam(s) {
		next.Share = workload.TeamShare{Name: strings.TrimPrefix(s.Key, s.Tenant+"."), Class: s.Class,
			Access: workload.Access(s.Access)}
	}
	next.Cluster, next.Namespace, next.UpdatedAt, next.Deleted = d.Cluster, s.Namespace, now, false
	next.GiB = max(next.GiB, s.GiB)
	if s.Spec != nil && s.Spec.Owner != "" {
		next.Owner, next.OwnerName = s.Spec.Owner, s.OwnerName
	}
	return Outcome{Volume: &next}
}
