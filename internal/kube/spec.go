package kube

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Annotations of what makes pods, beside the owner record. They cover what a database that was restored from a backup
// may have lost.
const (
	// LeaseKey holds the length of the lease as a Go duration. Its beginning is not written: it is set when the pod is
	// placed, and would cost a second write for each start.
	LeaseKey = LabelPrefix + "lease"
	// SpecKey holds a Spec as JSON, some 1,500 characters; claims of storage carry it too.
	SpecKey = LabelPrefix + "spec"
	// AppliedKey holds the hash of what was applied, so that an object which is as it should be is recognised without
	// asking the API server.
	AppliedKey = LabelPrefix + "applied"
	// NudgedKey holds when the owner of a refused pod was woken; written under a field manager of its own.
	NudgedKey = LabelPrefix + "nudged"
	// CheckpointKey is on a namespace: up to where the database was carried out in this cluster, see package drift.
	CheckpointKey = LabelPrefix + "checkpoint"
)

// Spec is what a restore needs of a workload and cannot read off its objects. Of storage only the owner. Free text of
// people (names, titles, notes) is not in it.
type Spec struct {
	Owner        identity.PersonID    `json:"owner"`
	Size         *catalog.Size        `json:"size,omitempty"`
	Image        *catalog.Image       `json:"image,omitempty"`
	Volume       string               `json:"volume,omitempty"`
	StorageGiB   int                  `json:"storageGiB,omitempty"`
	Grants       []workload.Grant     `json:"grants,omitempty"` // without links, whose secrets the cluster has no use for
	Request      string               `json:"request,omitempty"`
	LicenseSeats int                  `json:"licenseSeats,omitempty"`
	Mounts       []workload.Mount     `json:"mounts,omitempty"`
	Secrets      []workload.SecretUse `json:"secrets,omitempty"`
	Git          *workload.Git        `json:"git,omitempty"`
	Job          *workload.Job        `json:"job,omitempty"`
	Replicas     *workload.Replicas   `json:"replicas,omitempty"` // of what can have, or has, more than one
	Model        *catalog.Model       `json:"model,omitempty"`    // of an endpoint
	Revision     int                  `json:"revision,omitempty"` // of an endpoint, from the second on
	CreatedAt    time.Time            `json:"createdAt,omitzero"`
}

func specOf(w workload.Workload) Spec {
	size, image := w.Size, w.Image
	size.Title, size.Titles, size.Deprecated = "", nil, nil
	image.Title, image.Titles, image.Deprecated = "", nil, nil
	s := Spec{Owner: w.Owner, Size: &size, Image: &image, Volume: w.Volume, StorageGiB: w.StorageGiB,
		Grants: lasting(w.Grants), Job: w.Job, Model: w.Model, Secrets: w.Secrets, Git: w.Git,
		LicenseSeats: w.LicenseSeats, CreatedAt: w.CreatedAt.UTC().Truncate(time.Second)}
	if len(validation.IsValidLabelValue(w.Request)) == 0 {
		s.Request = w.Request
	}
	if n := w.Revision(); n > 1 {
		s.Revision = n
	}
	if w.Replicas.Can() || w.Replicas.Most() > 1 {
		s.Replicas = &workload.Replicas{Range: w.Replicas.Range, Wanted: max(w.Replicas.Least(), w.Replicas.Wanted),
			Scaling: w.Replicas.Scaling}
	}
	for _, m := range w.Mounts {
		m.Note = ""
		s.Mounts = append(s.Mounts, m)
	}
	return s
}

// leaseOf is the length in whole seconds: databases keep microseconds, and a rounded end must not look like a change.
func leaseOf(w workload.Workload) time.Duration {
	if w.Lease.Until.IsZero() {
		return 0
	}
	return w.Lease.Until.Sub(w.Lease.From).Round(time.Second)
}

func (s Spec) annotate(annotations map[string]string) {
	if text, err := json.Marshal(s); err == nil { // plain values, which cannot fail
		annotations[SpecKey] = string(text)
	}
}

// SpecOf reads a Spec from annotations; ok is false where there is none, or one that somebody has broken.
func SpecOf(annotations map[string]string) (s Spec, ok bool) {
	text := annotations[SpecKey]
	if text == "" || json.Unmarshal([]byte(text), &s) != nil {
		return Spec{}, false
	}
	return s, true
}

// LeaseOf is the length of the lease in annotations, 0 for none.
func LeaseOf(annotations map[string]string) time.Duration {
	d, err := time.ParseDuration(annotations[LeaseKey])
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// lasting is the grants that can be given back: to groups and people, without their names.
func lasting(grants []workload.Grant) (list []workload.Grant) {
	for _, g := range grants {
		if g.To != workload.ToLink {
			g.Name, g.Until, g.At = "", inSeconds(g.Until), inSeconds(g.At)
			list = append(list, g)
		}
	}
	return list
}

func inSeconds(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }
