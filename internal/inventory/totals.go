package inventory

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Total counts one kind of thing in a cluster: one resource or driver, on one model of card, in one cut. Held + Free +
// Broken = Total. Things of different kinds are never added: slices are no cards, and shares of a card are neither.
type Total struct {
	Cluster  string `json:"cluster"`
	Resource string `json:"resource"` // "nvidia.com/gpu", or the DRA driver "gpu.nvidia.com"
	Kind
	DRA bool `json:"dra,omitempty"` // Resource is a driver

	Total   int64 `json:"total"`
	Ours    int64 `json:"ours"`    // held by workloads of the portal
	Foreign int64 `json:"foreign"` // held by others
	Free    int64 `json:"free"`    // could be given out now
	Broken  int64 `json:"broken"`  // not held and not to be given out: ill, or its node is closed or does not answer

	Warned int64 `json:"warned"` // how many of Total are on nodes with a warning
	Excess int64 `json:"excess"` // held beyond Total: devices that went away under their pods

	Cards  int64 `json:"cards,omitempty"`  // the physical cards behind them; 0 when they cannot be told
	Slices int64 `json:"slices,omitempty"` // shares of slices: how many slices there are
	UpTo   bool  `json:"upTo,omitempty"`   // what is free excludes other cuts of the same cards: "up to"
}

// Held is what somebody has.
func (total Total) Held() int64 { return total.Ours + total.Foreign }

// totalKey is what makes a total its own.
type totalKey struct {
	resource string
	dra      bool
	kind     Kind
}

type tallies struct {
	cluster string
	all     map[totalKey]*Total
	unknown map[totalKey]bool // cards cannot be told on some node
}

// Totals counts a snapshot, in the order model, profile, resource.
func Totals(s Snapshot) []Total {
	t := tallies{cluster: s.Cluster, all: map[totalKey]*Total{}, unknown: map[totalKey]bool{}}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		usable, warned := n.Usable(), len(n.Warnings) > 0
		for _, r := range n.Resources {
			t.resource(n, r, usable, warned)
		}
		t.devices(n.Devices, n.Counters, usable, warned)
	}
	for _, a := range s.Attached {
		t.devices(a.Devices, a.Counters, true, len(a.Warnings) > 0)
	}
	list := make([]Total, 0, len(t.all))
	for key, total := range t.all {
		if t.unknown[key] {
			total.Cards = 0
		}
		list = append(list, *total)
	}
	slices.SortFunc(list, func(a, b Total) int {
		return cmp.Or(strings.Compare(a.Model, b.Model), strings.Compare(a.Profile, b.Profile),
			strings.Compare(a.Resource, b.Resource),
			strings.Compare(string(a.Unit), string(b.Unit)), cmp.Compare(a.Replicas, b.Replicas))
	})
	return list
}

func (t *tallies) at(key totalKey) *Total {
	total := t.all[key]
	if total == nil {
		total = &Total{Cluster: t.cluster, Resource: key.resource, Kind: key.kind, DRA: key.dra}
		t.all[key] = total
	}
	return total
}

// resource adds one resource of one node. What is held counts before what is ill: a pod that runs on an ill device
// holds it.
func (t *tallies) resource(n *Node, r Resource, usable, warned bool) {
	key := totalKey{resource: r.Name, kind: KindOf(*n, r.Name)}
	total := t.at(key)
	there := r.there()
	var ours, foreign int64
	for _, h := range r.Holders {
		if h.Workload != "" {
			ours += h.Count
		} else {
			foreign += h.Count
		}
	}
	held := ours + foreign
	total.Excess += max(0, held-there)
	ours = min(ours, there)
	foreign = min(foreign, there-ours)
	free := int64(0)
	if usable {
		free = r.Free()
	}
	total.add(there, ours, foreign, free, warned)
	t.cards(n, key, total, there)
}

func (total *Total) add(there, ours, foreign, free int64, warned bool) {
	total.Total += there
	total.Ours += ours
	total.Foreign += foreign
	total.Free += free
	total.Broken += there - ours - foreign - free
	if warned {
		total.Warned += there
	}
}

// cards says how many cards, or slices, the units are made of, where that can be told.
func (t *tallies) cards(n *Node, key totalKey, total *Total, there int64) {
	switch k := key.kind; {
	case there == 0:
	case k.Unit == Card:
		total.Cards += there
	case k.Unit == Share && k.Profile != "":
		if k.Replicas > 0 {
			total.Slices += there / k.Replicas
		}
	case k.Unit == Share && n.Cards.Known:
		total.Cards += n.Cards.Count
	case k.Unit == Share && k.Replicas > 0:
		total.Cards += there / k.Replicas
	default:
		t.unknown[key] = true
	}
}

// devices adds the devices of one node or of one attached pool. Devices that share counters exclude each other: of each
// kind counts what is held and what could still be had if nothing else were taken.
func (t *tallies) devices(devices []Device, sets []CounterSet, usable, warned bool) {
	left := newBudget(devices, sets)
	byKey := map[totalKey][]Device{}
	for _, d := range devices {
		key := totalKey{resource: d.Driver, dra: true, kind: KindOfDevice(d)}
		byKey[key] = append(byKey[key], d)
	}
	for key, list := range byKey {
		total := t.at(key)
		rest := left.copy()
		for _, d := range healthyFirst(list) {
			t.device(total, d, rest, usable, warned)
		}
		if key.kind.Unit == Card {
			total.Cards = total.Total
		} else {
			t.unknown[key] = true
		}
	}
}

func (t *tallies) device(total *Total, d Device, rest budget, usable, warned bool) {
	total.UpTo = total.UpTo || len(d.Consumes) > 0
	ours := slices.ContainsFunc(d.Holders, func(h Holder) bool { return h.Workload != "" })
	switch {
	case d.Gone:
		total.Excess++
	case d.Held() && ours:
		total.add(1, 1, 0, 0, warned)
	case d.Held():
		total.add(1, 0, 1, 0, warned)
	case !rest.take(d):
		// it would have to be cut from what is held
	case d.Tainted || !usable:
		total.add(1, 0, 0, 0, warned)
	default:
		total.add(1, 0, 0, 1, warned)
	}
}

// healthyFirst lets devices without taints take from the counters before those with.
func healthyFirst(list []Device) []Device {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Device) int {
		switch {
		case a.Tainted == b.Tainted:
			return 0
		case b.Tainted:
			return -1
		}
		return 1
	})
	return list
}

// budget is what is left in counter sets.
type budget map[counterKey]resource.Quantity

type counterKey struct{ driver, pool, set, counter string }

// newBudget is what held devices have left over.
func newBudget(devices []Device, sets []CounterSet) budget {
	if len(sets) == 0 {
		return nil
	}
	b := budget{}
	for _, s := range sets {
		for name, text := range s.Counters {
			if q, err := resource.ParseQuantity(text); err == nil {
				b[counterKey{s.Driver, s.Pool, s.Name, name}] = q
			}
		}
	}
	for _, d := range devices {
		if d.Held() {
			b.spend(d)
		}
	}
	return b
}

func (b budget) copy() budget {
	c := make(budget, len(b))
	for key, q := range b {
		c[key] = q.DeepCopy()
	}
	return c
}

// take spends what a device consumes, if there is enough of everything.
func (b budget) take(d Device) bool {
	for _, c := range d.Consumes {
		for name, text := range c.Counters {
			left, there := b[counterKey{d.Driver, d.Pool, c.Set, name}]
			wanted, err := resource.ParseQuantity(text)
			if !there || err != nil || left.Cmp(wanted) < 0 {
				return false
			}
		}
	}
	b.spend(d)
	return true
}

func (b budget) spend(d Device) {
	for _, c := range d.Consumes {
		for name, text := range c.Counters {
			key := counterKey{d.Driver, d.Pool, c.Set, name}
			if wanted, err := resource.ParseQuantity(text); err == nil {
				left := b[key]
				left.Sub(wanted)
				b[key] = left
			}
		}
	}
}
