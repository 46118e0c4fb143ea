package inventory

import (
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// devicesOfNode is what DRA drivers publish for one node, and what is wrong with it.
type devicesOfNode struct {
	devices    []Device
	counters   []CounterSet
	incomplete []poolGap
	twice      []poolGap
	more       int // devices beyond what one node may put into a snapshot
}

// poolGap is a pool of which nothing is given out.
type poolGap struct {
	driver          string
	found, expected int64
	device          string
}

// mostDevices bounds what one node can put into a snapshot: eight cards with every slice that they could be cut into
// are about two hundred.
const mostDevices = 512

// devicesOf gathers the devices of a node from its pools. Devices of a pool that is not usable are left out as the
// scheduler does, but for those that are held: they are there. A device that is held but published no more shows by
// name.
func (b *Builder) devicesOf(name string) devicesOfNode {
	var found devicesOfNode
	for _, key := range b.poolsOn(name) {
		view, pool := b.dra.view(key), b.dra.pools[key]
		driver := clean(key.driver, longestName)
		if !view.complete() {
			found.incomplete = append(found.incomplete, poolGap{driver: driver, found: view.found, expected: view.expected})
		} else if view.twice != "" {
			found.twice = append(found.twice, poolGap{driver: driver, device: view.twice})
		}
		sets := map[string]bool{}
		for _, p := range view.devices {
			if p.node != name || !view.usable() && len(pool.held[p.device.Name]) == 0 {
				continue
			}
			d := b.hold(p.device, pool.held[p.device.Name])
			found.devices = append(found.devices, d)
			for _, c := range d.Consumes {
				sets[c.Set] = true
			}
		}
		for _, c := range view.counters {
			if sets[c.Name] {
				found.counters = append(found.counters, c)
			}
		}
		if soleNode(view, key) == name {
			found.devices = append(found.devices, b.goneFrom(key, view, pool)...)
		}
	}
	slices.SortStableFunc(found.devices, byDevice)
	if found.more = max(0, len(found.devices)-mostDevices); found.more > 0 {
		slices.SortStableFunc(found.devices, heldFirst)
		found.devices = found.devices[:mostDevices]
		slices.SortStableFunc(found.devices, byDevice)
	}
	return found
}

func byDevice(a, b Device) int {
	if c := (poolKey{a.Driver, a.Pool}).compare(poolKey{b.Driver, b.Pool}); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

func heldFirst(a, b Device) int {
	switch {
	case a.Held() == b.Held():
		return 0
	case a.Held():
		return -1
	}
	return 1
}

// poolsOn are the pools with devices of a node, and those with its name that only claims remember.
func (b *Builder) poolsOn(name string) []poolKey {
	keys := slices.Collect(maps.Keys(b.dra.byNode[name]))
	for key := range b.dra.orphan[name] {
		if v := b.dra.view(key); len(v.nodes) == 0 && len(v.devices) == 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, poolKey.compare)
	return keys
}

// soleNode is the one node that a pool belongs to; "" when there are several, or none and the devices are attached.
func soleNode(v *poolView, key poolKey) string {
	switch {
	case len(v.nodes) == 1:
		return v.nodes[0]
	case len(v.nodes) == 0 && len(v.devices) == 0:
		return key.name
	}
	return ""
}

// goneFrom are the devices that claims hold and the pool does not publish any more.
func (b *Builder) goneFrom(key poolKey, view *poolView, pool *poolState) []Device {
	if pool == nil || len(pool.held) == 0 {
		return nil
	}
	published := make(map[string]bool, len(view.devices))
	for _, p := range view.devices {
		published[p.device.Name] = true
	}
	var gone []Device
	for _, name := range slices.Sorted(maps.Keys(pool.held)) {
		if !published[name] {
			gone = append(gone, b.hold(Device{Driver: clean(key.driver, longestName), Pool: clean(key.name, longestName),
				Name: clean(name, longestName), Gone: true}, pool.held[name]))
		}
	}
	return gone
}

// hold adds to a device who holds it: the pods that its claims are reserved for. A claim that no pod uses yet holds it
// all the same.
func (b *Builder) hold(d Device, claims map[string]*claimState) Device {
	for _, key := range slices.Sorted(maps.Keys(claims)) {
		claim := claims[key]
		if d.Claim == "" {
			d.Claim = clean(key, 2*longestName+1)
		}
		for _, ref := range claim.pods {
			d.Holders = append(d.Holders, b.holderOf(ref))
		}
		if d.Multiple {
			d.Consumed = consumed(d, d.Consumed, claim)
		}
	}
	slices.SortStableFunc(d.Holders, byPod)
	return d
}

func (b *Builder) holderOf(ref podRef) Holder {
	if p := b.pods[ref.key]; p != nil && (ref.uid == "" || p.pod.UID == ref.uid) {
		return p.holder(1)
	}
	namespace, name, _ := strings.Cut(ref.key, "/")
	return Holder{Namespace: clean(namespace, longestName), Pod: clean(name, longestName), Count: 1}
}

// consumed adds what one more claim takes of a device's capacity.
func consumed(d Device, sum map[string]string, claim *claimState) map[string]string {
	total := map[string]resource.Quantity{}
	for name, text := range sum {
		total[name] = resource.MustParse(text) // written here
	}
	for _, r := range claim.results {
		if r.Device != d.Name || r.Driver != d.Driver || r.Pool != d.Pool {
			continue
		}
		for name, q := range r.ConsumedCapacity {
			key := qualified(r.Driver, name)
			all := total[key]
			all.Add(q)
			total[key] = all
		}
	}
	texts := make(map[string]string, len(total))
	for name, q := range total {
		texts[name] = q.String()
	}
	return texts
}

// deviceOf is what a driver says of a device, with every name qualified.
func deviceOf(s *resourcev1.ResourceSlice, d *resourcev1.Device) Device {
	device := Device{Driver: clean(s.Spec.Driver, longestName), Pool: clean(s.Spec.Pool.Name, longestName),
		Name:     clean(d.Name, longestName),
		Multiple: d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations}
	if len(d.Attributes) > 0 {
		device.Attributes = make(map[string]Attribute, len(d.Attributes))
	}
	for name, a := range d.Attributes {
		if value, ok := attributeOf(a); ok {
			device.Attributes[qualified(s.Spec.Driver, name)] = value
		}
	}
	if len(d.Capacity) > 0 {
		device.Capacity = make(map[string]string, len(d.Capacity))
	}
	for name, c := range d.Capacity {
		device.Capacity[qualified(s.Spec.Driver, name)] = c.Value.String()
	}
	for _, c := range d.ConsumesCounters {
		device.Consumes = append(device.Consumes, Consumption{Set: clean(c.CounterSet, longestName),
			Counters: counters(c.Counters)})
	}
	for _, t := range d.Taints {
		if t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute {
			device.Tainted = true
		}
	}
	return device
}

// qualified puts the driver before a name without a domain: "productName" of gpu.nvidia.com is
// "gpu.nvidia.com/productName".
func qualified(driver string, name resourcev1.QualifiedName) string {
	if strings.Contains(string(name), "/") {
		return clean(string(name), longestKey)
	}
	return clean(driver+"/"+string(name), longestKey)
}

// longestAttribute is DeviceAttributeMaxValueLength of the API.
const longestAttribute = 64

func attributeOf(a resourcev1.DeviceAttribute) (Attribute, bool) {
	switch {
	case a.StringValue != nil:
		text := clean(*a.StringValue, longestAttribute)
		return Attribute{String: &text}, true
	case a.VersionValue != nil:
		text := clean(*a.VersionValue, longestAttribute)
		return Attribute{Version: &text}, true
	case a.IntValue != nil:
		return Attribute{Int: a.IntValue}, true
	case a.BoolValue != nil:
		return Attribute{Bool: a.BoolValue}, true
	}
	return Attribute{}, false // lists (1.36, alpha) have no counterpart
}

func counters(of map[string]resourcev1.Counter) map[string]string {
	texts := make(map[string]string, len(of))
	for name, c := range of {
		texts[clean(name, longestName)] = c.Value.String()
	}
	return texts
}

// text gives an attribute that is a text, by its name in the driver's own domain.
func (d Device) text(name string) string {
	if a := d.Attributes[d.Driver+"/"+name]; a.String != nil {
		return *a.String
	}
	return ""
}

// modelOfDevices is the card that a node has by its DRA driver, spelled as GPU feature discovery spells it; "" when
// there are several.
func modelOfDevices(devices []Device) string {
	var found string
	for _, d := range devices {
		m := deviceModel(d)
		if m == "" || m == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = m
	}
	return found
}

func deviceModel(d Device) string {
	return strings.ReplaceAll(d.text("productName"), " ", "-")
}
