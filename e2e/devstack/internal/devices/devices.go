// Package devices says which pod holds which device of a node, as the kubelet and the device plugin would have decided.
// A pod keeps what it holds; new pods take free devices in the order in which they were made. Pure.
package devices

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// Holder is a container of a pod.
type Holder struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	Container string `json:"container"`
}

// Ask is what one container asks for: resource name to count. Order says which pod came first.
type Ask struct {
	Holder
	Order int64
	Units map[string]int64
}

// Held maps device ids to who holds them.
type Held map[string]Holder

// Assign gives every container its devices. What before says is kept for containers that still ask for it; a device
// that is no longer there is replaced.
func Assign(all []nodes.Device, asks []Ask, before Held) Held {
	held := Held{}
	left := map[Holder]map[string]int64{}
	for _, a := range asks {
		left[a.Holder] = copyOf(a.Units)
	}
	for _, d := range all {
		holder, ok := before[d.ID]
		if ok && left[holder][d.Resource] > 0 {
			held[d.ID] = holder
			left[holder][d.Resource]--
		}
	}
	asks = slices.Clone(asks)
	slices.SortFunc(asks, func(a, b Ask) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(a.UID, b.UID), strings.Compare(a.Container, b.Container))
	})
	for _, a := range asks {
		for _, resource := range sortedKeys(left[a.Holder]) {
			for range left[a.Holder][resource] {
				d, ok := choose(all, held, resource)
				if !ok {
					break // nothing left, or no device at all: a container also asks for bytes of memory
				}
				held[d.ID] = a.Holder
			}
		}
	}
	return held
}

// choose takes the free device on the least shared card, the first of equals: the plugin spreads replicas.
func choose(all []nodes.Device, held Held, resource string) (nodes.Device, bool) {
	type card struct {
		gpu      int
		instance nodes.Instance
	}
	cardOf := func(d nodes.Device) card {
		if d.Instance == nil {
			return card{gpu: d.GPU}
		}
		return card{d.GPU, *d.Instance}
	}
	load := map[card]int{}
	for _, d := range all {
		if _, taken := held[d.ID]; taken {
			load[cardOf(d)]++
		}
	}
	var best nodes.Device
	found := false
	for _, d := range all {
		if _, taken := held[d.ID]; taken || d.Resource != resource {
			continue
		}
		if !found || load[cardOf(d)] < load[cardOf(best)] {
			best, found = d, true
		}
	}
	return best, found
}

func copyOf(m map[string]int64) map[string]int64 {
	c := map[string]int64{}
	for k, v := range m {
		c[k] += v
	}
	return c
}

func sortedKeys(m map[string]int64) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
