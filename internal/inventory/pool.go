package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// poolKey names a pool. Drivers as a rule call their pools by the node, so the name alone says nothing.
type poolKey struct{ driver, name string }

func (a poolKey) compare(b poolKey) int {
	return cmp.Or(strings.Compare(a.driver, b.driver), strings.Compare(a.name, b.name))
}

// draState is what ResourceSlices and ResourceClaims say.
type draState struct {
	pools  map[poolKey]*poolState
	slices map[string]*resourcev1.ResourceSlice
	claims map[string]*claimState // by namespace/name
	byPod  map[string][]string    // claims that a pod is reserved for, both as namespace/name
	byNode map[string]map[poolKey]bool
	orphan map[string]map[poolKey]bool // pools with claims, by the name of the pool
}

type poolState struct {
	slices map[string]*resourcev1.ResourceSlice
	held   map[string]map[string]*claimState // by device, by claim
	seen   *poolView                         // nil when slices have changed
}

// claimState is an allocated claim.
type claimState struct {
	key     string
	pods    []podRef
	results []resourcev1.DeviceRequestAllocationResult
}

type podRef struct {
	key string
	uid types.UID
}

func newDRAState() draState {
	return draState{pools: map[poolKey]*poolState{}, slices: map[string]*resourcev1.ResourceSlice{},
		claims: map[string]*claimState{}, byPod: map[string][]string{},
		byNode: map[string]map[poolKey]bool{}, orphan: map[string]map[poolKey]bool{}}
}

func (d *draState) pool(key poolKey) *poolState {
	p := d.pools[key]
	if p == nil {
		p = &poolState{slices: map[string]*resourcev1.ResourceSlice{}, held: map[string]map[string]*claimState{}}
		d.pools[key] = p
	}
	return p
}

func (d *draState) tidy(key poolKey) {
	if p := d.pools[key]; p != nil && len(p.slices) == 0 && len(p.held) == 0 {
		delete(d.pools, key)
	}
}

// addSlice gives the nodes that the pool had devices on before: a new generation may do away with them.
func (d *draState) addSlice(s *resourcev1.ResourceSlice) (key poolKey, nodes []string) {
	key = poolKey{s.Spec.Driver, s.Spec.Pool.Name}
	d.slices[s.Name] = s
	p := d.pool(key)
	nodes = d.view(key).nodes
	d.unindex(key)
	p.slices[s.Name], p.seen = s, nil
	d.index(key)
	return key, nodes
}

// removeSlice gives the nodes that the pool had devices on before.
func (d *draState) removeSlice(name string) (key poolKey, nodes []string, known bool) {
	s := d.slices[name]
	if s == nil {
		return key, nil, false
	}
	key = poolKey{s.Spec.Driver, s.Spec.Pool.Name}
	delete(d.slices, name)
	nodes = d.view(key).nodes
	d.unindex(key)
	p := d.pools[key]
	delete(p.slices, name)
	p.seen = nil
	d.index(key)
	d.tidy(key)
	return key, nodes, true
}

func (d *draState) unindex(key poolKey) {
	for _, node := range d.view(key).nodes {
		unset(d.byNode, node, key)
	}
}

func (d *draState) index(key poolKey) {
	for _, node := range d.view(key).nodes {
		put(d.byNode, node, key)
	}
}

func put[K, L comparable](m map[K]map[L]bool, k K, l L) {
	if m[k] == nil {
		m[k] = map[L]bool{}
	}
	m[k][l] = true
}

func unset[K, L comparable](m map[K]map[L]bool, k K, l L) {
	delete(m[k], l)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}

// addClaim notes what a claim holds. Access for administrators (monitoring) takes nothing away.
func (d *draState) addClaim(c *resourcev1.ResourceClaim) {
	if c.Status.Allocation == nil {
		return
	}
	state := &claimState{key: c.Namespace + "/" + c.Name}
	for _, r := range c.Status.Allocation.Devices.Results {
		if r.AdminAccess == nil || !*r.AdminAccess {
			state.results = append(state.results, r)
		}
	}
	for _, by := range c.Status.ReservedFor {
		if by.Resource == "pods" && by.APIGroup == "" {
			state.pods = append(state.pods, podRef{c.Namespace + "/" + by.Name, by.UID})
			d.byPod[c.Namespace+"/"+by.Name] = append(d.byPod[c.Namespace+"/"+by.Name], state.key)
		}
	}
	d.claims[state.key] = state
	for _, r := range state.results {
		key := poolKey{r.Driver, r.Pool}
		p := d.pool(key)
		if p.held[r.Device] == nil {
			p.held[r.Device] = map[string]*claimState{}
		}
		p.held[r.Device][state.key] = state
		put(d.orphan, r.Pool, key)
	}
}

func (d *draState) removeClaim(key string) {
	state := d.claims[key]
	if state == nil {
		return
	}
	delete(d.claims, key)
	for _, pod := range state.pods {
		left := slices.DeleteFunc(d.byPod[pod.key], func(k string) bool { return k == key })
		if d.byPod[pod.key] = left; len(left) == 0 {
			delete(d.byPod, pod.key)
		}
	}
	for _, r := range state.results {
		pool := poolKey{r.Driver, r.Pool}
		p := d.pools[pool]
		if p == nil {
			continue // two results of one claim in one pool
		}
		delete(p.held[r.Device], key)
		if len(p.held[r.Device]) == 0 {
			delete(p.held, r.Device)
		}
		if len(p.held) == 0 {
			unset(d.orphan, r.Pool, pool)
		}
		d.tidy(pool)
	}
}

func (d *draState) poolsOfClaim(key string) []poolKey {
	state := d.claims[key]
	if state == nil {
		return nil
	}
	var keys []poolKey
	for _, r := range state.results {
		keys = append(keys, poolKey{r.Driver, r.Pool})
	}
	return keys
}

// poolView is what the slices of a pool say together, as the scheduler reads them: only the newest generation counts,
// and while some of its slices are missing, or two devices bear one name, nothing of the pool is given out. Source:
// k8s.io/dynamic-resource-allocation v0.36, structured/internal.
type poolView struct {
	devices         []placed
	counters        []CounterSet
	nodes           []string // that have devices of their own here, in order
	wide            bool     // has devices that no single node owns
	found, expected int64
	twice           string // a device that is there twice
}

func (v *poolView) complete() bool { return v.found == v.expected }
func (v *poolView) usable() bool   { return v.complete() && v.twice == "" }

// placed is a device and where it can be reached: on one node, on all, or on those that a selector names.
type placed struct {
	device   Device
	node     string
	all      bool
	selector *corev1.NodeSelector
}

var noPool = &poolView{}

func (d *draState) view(key poolKey) *poolView {
	p := d.pools[key]
	if p == nil {
		return noPool
	}
	if p.seen == nil {
		p.seen = p.read(key)
	}
	return p.seen
}

func (p *poolState) read(key poolKey) *poolView {
	v := &poolView{}
	current := p.newest()
	names, nodes := map[string]bool{}, map[string]bool{}
	v.found = int64(len(current))
	for _, s := range current {
		v.expected = s.Spec.Pool.ResourceSliceCount
		for _, c := range s.Spec.SharedCounters {
			v.counters = append(v.counters, CounterSet{Driver: clean(key.driver, longestName),
				Pool: clean(key.name, longestName), Name: clean(c.Name, longestName), Counters: counters(c.Counters)})
		}
		for i := range s.Spec.Devices {
			d := place(s, &s.Spec.Devices[i])
			if names[d.device.Name] {
				v.twice = d.device.Name
			}
			names[d.device.Name] = true
			if d.node != "" {
				nodes[d.node] = true
			} else {
				v.wide = true
			}
			v.devices = append(v.devices, d)
		}
		if s.Spec.NodeName != nil && *s.Spec.NodeName != "" {
			nodes[*s.Spec.NodeName] = true // a slice may hold counters only, or wait for its devices
		}
	}
	slices.SortFunc(v.devices, func(a, b placed) int { return strings.Compare(a.device.Name, b.device.Name) })
	slices.SortFunc(v.counters, func(a, b CounterSet) int { return strings.Compare(a.Name, b.Name) })
	v.nodes = slices.Sorted(maps.Keys(nodes))
	return v
}

// newest are the slices of the highest generation, by name.
func (p *poolState) newest() []*resourcev1.ResourceSlice {
	var current []*resourcev1.ResourceSlice
	for _, name := range slices.Sorted(maps.Keys(p.slices)) {
		s := p.slices[name]
		if len(current) > 0 && s.Spec.Pool.Generation < current[0].Spec.Pool.Generation {
			continue
		}
		if len(current) > 0 && s.Spec.Pool.Generation > current[0].Spec.Pool.Generation {
			current = nil
		}
		current = append(current, s)
	}
	return current
}

func place(s *resourcev1.ResourceSlice, d *resourcev1.Device) placed {
	node, selector, all := s.Spec.NodeName, s.Spec.NodeSelector, s.Spec.AllNodes
	if s.Spec.PerDeviceNodeSelection != nil && *s.Spec.PerDeviceNodeSelection {
		node, selector, all = d.NodeName, d.NodeSelector, d.AllNodes
	}
	p := placed{device: deviceOf(s, d), selector: selector, all: all != nil && *all}
	if node != nil {
		p.node = *node
	}
	return p
}
