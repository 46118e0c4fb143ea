package workload

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Range bounds the number of replicas of an endpoint. The zero Range is one replica, as for notebooks and jobs. With
// Min 0 and a Max the endpoint sleeps while nobody calls it.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Least is how many it starts with, and has while it does not sleep.
func (r Range) Least() int { return max(1, r.Min) }

// Most is how many there may be.
func (r Range) Most() int { return max(r.Least(), r.Max) }

// Nodes is how many pods serve one model together, each of them a replica in what is counted and charged; 0 for what is
// no such group.
func (r Range) Nodes(i catalog.Image) int {
	if !i.NeedsLeaderWorkerSet() {
		return 0
	}
	return r.Least()
}

// ToZero reports whether it may sleep.
func (r Range) ToZero() bool { return r.Min == 0 && r.Max > 0 }

// Lowest is the lowest number that may be set: 0 for what may sleep.
func (r Range) Lowest() int {
	if r.ToZero() {
		return 0
	}
	return r.Least()
}

// Replicas is how many pods an endpoint has, each of its size. The zero Replicas is one pod, as of notebooks and jobs.
type Replicas struct {
	Range
	Wanted int `json:"wanted"` // while it does not sleep, within the range
	// Held are those that count against quota and seats: those that are wanted, and after a scale-down those whose pods
	// are not gone yet.
	Held int `json:"held,omitempty"`
	// Surge is how many more may be there while another revision takes over; they count as well.
	Surge   int              `json:"surge,omitempty"`
	Scaling autoscale.Policy `json:"scaling,omitzero"`
	// Asleep: nobody has called it for a while. It holds nothing, and the first request wakes it.
	Asleep bool `json:"asleep,omitempty"`
	// Waking: it was woken and has not answered since.
	Waking bool `json:"waking,omitempty"`
	// Ceiling is how many of Most there is room for now, in quota, seats and budget, when it was last looked at; 0 where
	// nobody has looked. What scales an endpoint in place of the portal goes no further.
	Ceiling int `json:"ceiling,omitempty"`
	// Short is why there are fewer than were needed when it was last looked at; zero where there are enough.
	Short i18n.Text `json:"short,omitzero"`
	// Recorded is the number that the audit has last of those that the portal set by itself, and RecordedAt when: what
	// follows within a minute becomes one event. Zero where nothing is left to record.
	Recorded   int       `json:"recorded,omitempty"`
	RecordedAt time.Time `json:"recordedAt,omitzero"`
}

// NewReplicas begins with the least number that a range allows.
func NewReplicas(r Range, scaling autoscale.Policy) Replicas {
	return Replicas{Range: Range{Min: r.Lowest(), Max: r.Most()}, Wanted: r.Least(), Held: r.Least(), Scaling: scaling}
}

// Want is how many pods there shall be while the workload shall run.
func (r Replicas) Want() int {
	if r.Asleep {
		return 0
	}
	return max(r.Least(), r.Wanted)
}

// Hold is how many count against quota and seats while the workload counts at all.
func (r Replicas) Hold() int { return max(r.Want()+r.Surge, r.Held) }

// Top is how many there may be now.
func (r Replicas) Top() int { return min(max(r.Want(), r.Ceiling), r.Most()) }

// Can reports whether more than one number is possible.
func (r Replicas) Can() bool { return r.Most() > r.Lowest() }

// settled gives back what a scale-down has freed: pods that were deleted count until they are gone.
func (r Replicas) settled(obs Observation) Replicas {
	if obs.Scaled && r.Surge == 0 && r.Held > r.Want() {
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
	// Leaving: it is being deleted or has ended, and counts no more.
	Leaving bool `json:"leaving,omitempty"`
	// Reason is why it does not answer while another replica of its endpoint does; zero where it does, where it leaves,
	// and beyond the first ten that do not.
	Reason i18n.Text `json:"reason,omitzero"`
	// Revision is what it runs.
	Revision int `json:"revision,omitempty"`
	// Worker: it works for the first pod of its group, and answers nobody.
	Worker bool `json:"worker,omitempty"`
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

// Unready are the pods of an endpoint that shall answer and do not, while another one does.
func (w Workload) Unready() (list []Replica) {
	if w.Kind != catalog.Endpoint || w.Desired != WantRunning || w.Observed.ReadyReplicas() == 0 {
		return nil
	}
	for _, p := range w.Observed.Pods {
		if !p.Ready && !p.Leaving && !p.Worker {
			list = append(list, p)
		}
	}
	return list
}

// Metered is how many replicas hold their GPU now. A pod that stands in for one that is being deleted is not charged
// beside it: nobody asked for more than what is held.
func (w Workload) Metered() int { return min(w.Observed.Placed(), w.Replicas.Hold()) }

// CanScale reports whether the number of replicas can be changed.
func (w Workload) CanScale() bool {
	return w.Kind == catalog.Endpoint && w.Replicas.Can() && w.CanDelete()
}

// ScaledByKEDA reports whether KEDA sets how many replicas there are: within a range, while the endpoint shall run and
// does not sleep.
func (w Workload) ScaledByKEDA() bool {
	r := w.Replicas
	return w.Image.ScalesByKEDA() && w.Desired == WantRunning && r.Scaling.Automatic() && !r.Asleep &&
		r.Most() > r.Least()
}

// Asleep reports whether it sleeps until the next request.
func (w Workload) Asleep() bool { return w.Desired == WantRunning && w.Replicas.Asleep }

// Wakes reports whether a request makes it answer, soon if not now.
func (w Workload) Wakes() bool { return w.Desired == WantRunning && w.Replicas.ToZero() }

// Scale sets the number of replicas of an endpoint; 0 puts it to sleep, any other number wakes it. The caller checks
// quota, seats and budget. Setting what is set changes nothing and is no error.
func Scale(wanted int) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		r := w.Replicas
		switch {
		case w.Kind != catalog.Endpoint:
			return w, nil, fault.New(fault.Conflict, i18n.T("replicas.endpoints_only"))
		case !w.CanDelete():
			return w, nil, gone()
		case wanted < r.Lowest() || wanted > r.Most():
			return w, nil, fault.InvalidFields([]fault.Field{{Name: "wanted", Reason: i18n.T("replicas.out_of_range",
				"Min", r.Lowest(), "Max", r.Most())}})
		case wanted == r.Want():
			return w, nil, nil
		}
		before := r.Want()
		w = w.scaled(wanted, now)
		w.Replicas.Short, w.Replicas.Recorded, w.Replicas.RecordedAt = i18n.Text{}, 0, time.Time{}
		return w, []audit.Event{changed(w, a, audit.WorkloadScaled, now, i18n.T("replicas.scaled", "From", before, "To",
			wanted), audit.Changed("replicas.wanted", before, wanted))}, nil
	}
}

// scaled is the workload with another number of replicas. Sleeping and waking are new specs, as stopping and starting
// are.
func (w Workload) scaled(wanted int, now time.Time) Workload {
	held := w.Replicas.Hold()
	w.UpdatedAt = now
	switch {
	case wanted == 0:
		w.Replicas.Asleep, w.Replicas.Waking = true, false
		w.Generation++
		if w.Desired == WantRunning {
			w.State, w.Reason = Asleep, i18n.T("scaling.asleep")
		}
	case w.Replicas.Asleep:
		w.Replicas.Asleep, w.Replicas.Waking, w.Replicas.Wanted = false, true, wanted
		w.Generation++
		if w.Desired == WantRunning {
			w.State, w.Reason, w.Observed.Steps = Queued, i18n.T("scaling.waking"), nil
		}
	default:
		w.Replicas.Wanted = wanted
	}
	w.Replicas.Held = wanted
	if wanted == 0 {
		w.Replicas.Surge = 0
	}
	if w.Holds() {
		w.Replicas.Held = max(wanted, held)
	}
	return w
}

// SetScaling changes how an endpoint scales: the least number of replicas, and by what. Raising the least above what
// there is raises that.
func SetScaling(least int, p autoscale.Policy) Change {
	return func(w Workload, a identity.Actor, now time.Time) (Workload, []audit.Event, error) {
		r := w.Replicas
		switch {
		case w.Kind != catalog.Endpoint:
			return w, nil, fault.New(fault.Conflict, i18n.T("replicas.endpoints_only"))
		case !w.CanDelete():
			return w, nil, gone()
		case least < 0 || least > r.Most():
			return w, nil, fault.InvalidFields([]fault.Field{{Name: "min", Reason: i18n.T("replicas.out_of_range", "Min", 0,
				"Max", r.Most())}})
		}
		changes := append(audit.Changed("replicas.min", r.Lowest(), least), policyChanges(r.Scaling, p)...)
		if len(changes) == 0 {
			return w, nil, nil
		}
		before := r.Want()
		most := r.Most()
		w.Replicas.Range, w.Replicas.Scaling, w.UpdatedAt = Range{Min: least, Max: most}, p, now
		if least > before {
			w = w.scaled(least, now)
			changes = append(changes, audit.Changed("replicas.wanted", before, least)...)
		}
		return w, []audit.Event{changed(w, a, audit.WorkloadScalingSet, now, i18n.Text{}, changes)}, nil
	}
}

func policyChanges(from, to autoscale.Policy) (list []audit.Change) {
	f, t := from.Typed(), to.Typed()
	for _, c := range []struct{ name, from, to string }{{"scaling.metric", f.Metric, t.Metric},
		{"scaling.target", f.Target, t.Target}, {"scaling.scaleDownAfter", f.ScaleDownAfter, t.ScaleDownAfter},
		{"scaling.toZeroAfter", f.ToZeroAfter, t.ToZeroAfter}} {
		if c.from != c.to {
			list = append(list, audit.Changed(c.name, c.from, c.to)...)
		}
	}
	return list
}
