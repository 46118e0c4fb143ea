package license

import (
	"cmp"
	"slices"
	"time"
)

// State is the license state of one vGPU.
type State string

// The states. Restricted and unrestricted are told by the node agent only; DCGM says licensed or not.
const (
	StateUnknown State = "unknown"
	Licensed     State = "licensed"
	Unlicensed   State = "unlicensed"   // it is not told whether it is restricted already
	Unrestricted State = "unrestricted" // unlicensed, still with full capability
	Restricted   State = "restricted"   // unlicensed, and slowed down for it
)

// Missing reports whether the license is missing for certain.
func (s State) Missing() bool { return s == Unlicensed || s == Unrestricted || s == Restricted }

// FullCapability is how long a vGPU for Compute has its full capability without a license, by NVIDIA AI Enterprise's
// licensing page; then compute is cut down to idle until a license arrives. Graphics products fade over a day.
const FullCapability = 20 * time.Minute

// Device is one vGPU with its license state, as its machine reports it.
type Device struct {
	Cluster string    `json:"cluster"`
	Node    string    `json:"node"`
	UUID    string    `json:"uuid"`
	Index   string    `json:"index"`
	Model   string    `json:"model"`
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // from when on it is known to be in this state
	SeenAt  time.Time `json:"seenAt"`
	Expires time.Time `json:"expires"` // of the lease, where the agent tells; zero: not known
}

// Stale is how old a device's word may be and still count as knowledge.
const Stale = 10 * time.Minute

// StateAt is the state as it can be said at a moment: what has not been seen for long is not known any more.
func (d Device) StateAt(now time.Time) State {
	if d.State == "" || now.Sub(d.SeenAt) > Stale {
		return StateUnknown
	}
	return d.State
}

// GracePeriod reports whether it works on without a license for now, and until when: the full capability that a vGPU
// has after it lost its license.
func (d Device) GracePeriod(now time.Time) (until time.Time, in bool) {
	if !d.StateAt(now).Missing() || d.State == Restricted || d.Since.IsZero() {
		return time.Time{}, false
	}
	until = d.Since.Add(FullCapability)
	return until, now.Before(until)
}

// MergeDevices merges the current state of all devices. Since stays while the state does; a device that is not seen
// keeps its last word until it is forgotten.
func MergeDevices(before, seen []Device) []Device {
	known := make(map[string]Device, len(before))
	for _, d := range before {
		known[d.key()] = d
	}
	for _, d := range seen {
		old, was := known[d.key()]
		switch {
		case was && d.SeenAt.Before(old.SeenAt):
			continue // an answer that was overtaken
		case was && old.State == d.State:
			d.Since = old.Since
		case d.Since.IsZero():
			d.Since = d.SeenAt
		}
		known[d.key()] = d
	}
	list := make([]Device, 0, len(known))
	for _, d := range known {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Device) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Index, b.Index),
			cmp.Compare(a.UUID, b.UUID))
	})
	return list
}

func (d Device) key() string { return d.Cluster + "\x00" + d.Node + "\x00" + d.UUID }

// Machine is one node with vGPUs. Devices is empty where no agent reports them.
type Machine struct {
	Cluster string
	Node    string
	Devices []Device
}

// State is the worst of its devices; unknown while nothing is told.
func (m Machine) State(now time.Time) State {
	worst := StateUnknown
	order := []State{StateUnknown, Licensed, Unrestricted, Unlicensed, Restricted}
	for _, d := range m.Devices {
		if s := d.StateAt(now); slices.Index(order, s) > slices.Index(order, worst) {
			worst = s
		}
	}
	return worst
}

// Since is when the first of its devices that have no license lost it; zero while none has.
func (m Machine) Since(now time.Time) time.Time {
	var first time.Time
	for _, d := range m.Devices {
		if d.StateAt(now).Missing() && (first.IsZero() || d.Since.Before(first)) {
			first = d.Since
		}
	}
	return first
}

// Machines puts devices to the nodes that have vGPUs: a node of which nobody tells is there with no devices. Nodes that
// have none by their labels are left out, for every card without a licensable feature says "not licensed" too.
func Machines(virtual map[string][]string, devices []Device) []Machine {
	var list []Machine
	for cluster, nodes := range virtual {
		for _, node := range nodes {
			m := Machine{Cluster: cluster, Node: node}
			for _, d := range devices {
				if d.Cluster == cluster && d.Node == node {
					m.Devices = append(m.Devices, d)
				}
			}
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Node, b.Node))
	})
	return list
}
