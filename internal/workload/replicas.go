package workload

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Range is between how many replicas an endpoint may have. The zero Range is one replica, as of all that is no
// endpoint.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Least is how many it starts with.
func (r Range) Least() int { return max(1, r.Min) }

// Most is how many its owner may set.
func (r Range) Most() int { return max(r.Least(), r.Max) }

// Replicas are the pods of an endpoint, each of its size. The zero Replicas are one pod, for good.
type Replicas struct {
	Range
	Wanted int `json:"wanted"` // what the owner has set, within the range
	// Held are those that count against quota and seats: those that are wanted, and after a scale-down those whose pods
	// are not gone yet.
	Held int `json:"held,omitempty"`
}

// NewReplicas are those of a workload that begins.
func NewReplicas(r Range) Replicas {
	return Replicas{Range: Range{Min: r.Least(), Max: r.Most()}, Wanted: r.Least(), Held: r.Least()}
}

// Want is how many pods there shall be while the workload shall run.
func (r Replicas) Want() int { return max(r.Least(), r.Wanted) }

// Hold is how many count against quota and seats while the workload counts at all.
func (r Replicas) Hold() int { return max(r.Want(), r.Held) }

// settled gives back what a scale-down has freed: pods that were deleted count until they are gone.
func (r Replicas) settled(obs Observation) Replicas {
	if obs.Scaled && r.Held > r.Want() {
		r.Held = max(r.Want(), min(r.Held, len(obs.Pods)))
	}
	return r
}

// Replica is one pod of an endpoint as it was observed.
type Replica struct {
	Pod   string `json:"pod"`
	IP    string `json:"ip,omitempty"`
	Node  string `json:"node,omitempty"` // where it holds its GPU; "" while it waits
	Ready bool   `json:"ready"`
}

// Placed is how many pods are on a node, those that are being deleted with them: nobody else can have their GPUs.
func (o Observation) Placed() (n int) {
	if len(o.Pods) == 0 && o.PodPresent && o.Node != "" {
		return 1
	}
	for _, p := range o.Pods {
		if p.Node != "" {
			n++
		}
	}
	return n
}

// ReadyReplicas is how many pods answer.
func (o Observation) ReadyReplicas() (n int) {
	if len(o.Pods) == 0 && o.Ready {
		return 1
	}
	for _, p := range o.Pods {
		if p.Ready {
			n++
		}
	}
	return n
}

// Metered is how many replicas hold their GPU now. A pod that stands in for one that is being deleted is not charged
// beside it: nobody asked for more than what is held.
func (w Workload) Metered() int { return min(w.Observed.Placed(), w.Replicas.Hold()) }

// CanScale reports whether the number of replicas can be changed.
func (w Workload) CanScale() bool {
	return w.Kind == catalog.Endpoint && w.Replicas.Most() > w.Replicas.Least() && w.CanDelete()
}

// Scale sets how many replicas an endpoint has. Quota, seats and budget are the caller's to check. Setting what is set
// changes nothing and is no error.
func Scale(wanted int) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		r := w.Replicas
		switch {
		case w.Kind != catalog.Endpoint:
			return w, nil, fault.New(fault.Conflict, i18n.T("replicas.endpoints_only"))
		case !w.CanDelete():
			return w, nil, gone()
		case wanted < r.Least() || wanted > r.Most():
			return w, nil, fault.InvalidFields([]fault.Field{{Name: "wanted", Reason: i18n.T("replicas.out_of_range",
				"Min", r.Least(), "Max", r.Most())}})
		case wanted == r.Want():
			return w, nil, nil
		}
		before := r.Want()
		w.Replicas.Wanted, w.UpdatedAt = wanted, now
		w.Replicas.Held = wanted
		if w.Holds() {
			w.Replicas.Held = max(wanted, r.Hold())
		}
		return w, []audit.Event{changed(w, a, audit.WorkloadScaled, now, i18n.T("replicas.scaled", "From", before, "To",
			wanted), audit.Changed("replicas.wanted", before, wanted))}, nil
	}
}
