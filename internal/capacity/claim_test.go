package capacity

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

func text(s string) inventory.Attribute    { return inventory.Attribute{String: &s} }
func release(s string) inventory.Attribute { return inventory.Attribute{Version: &s} }

// dra is a whole H100 as NVIDIA's DRA driver publishes it.
func dra(i int, change ...func(*inventory.Device)) inventory.Device {
	d := inventory.Device{Driver: "gpu.nvidia.com", Pool: "n1", Name: fmt.Sprintf("gpu-%d", i),
		Attributes: map[string]inventory.Attribute{
			"gpu.nvidia.com/type": text("gpu"), "gpu.nvidia.com/productName": text("NVIDIA H100 80GB HBM3"),
			"gpu.nvidia.com/driverVersion":    release("580.105.8"),
			"resource.kubernetes.io/pcieRoot": text(fmt.Sprintf("pci0000:%02x", 0x10+16*(i/2))),
		},
		Capacity: map[string]string{"gpu.nvidia.com/memory": "81559Mi"}}
	for _, c := range change {
		c(&d)
	}
	return d
}

// part is a MIG slice of card i, beginning at a memory slice, as dynamic MIG publishes it: it takes its memory slices
// from the card's counters.
func part(i int, profile string, start, size int) inventory.Device {
	return dra(i, func(d *inventory.Device) {
		d.Name = fmt.Sprintf("gpu-%d-mig-%s-%d", i, profile, start)
		d.Attributes["gpu.nvidia.com/type"], d.Attributes["gpu.nvidia.com/profile"] = text("mig"), text(profile)
		d.Capacity["gpu.nvidia.com/memory"] = fmt.Sprintf("%dGi", 10*size)
		d.Consumes = []inventory.Consumption{{Set: fmt.Sprintf("gpu-%d-counter-set", i), Counters: slots(start, size)}}
	})
}

func slots(start, size int) map[string]string {
	taken := map[string]string{}
	for s := start; s < start+size; s++ {
		taken[fmt.Sprintf("memory-slice-%d", s)] = "1"
	}
	return taken
}

// dynamic is a card with every slice of two profiles that it could be cut into, and the card itself.
func dynamic(i int) ([]inventory.Device, inventory.CounterSet) {
	devices := []inventory.Device{dra(i, func(d *inventory.Device) {
		d.Consumes = []inventory.Consumption{{Set: fmt.Sprintf("gpu-%d-counter-set", i), Counters: slots(0, 8)}}
	})}
	for start := range 7 {
		devices = append(devices, part(i, "1g.10gb", start, 1))
	}
	devices = append(devices, part(i, "3g.40gb", 0, 4), part(i, "3g.40gb", 4, 4))
	return devices, inventory.CounterSet{Driver: "gpu.nvidia.com", Pool: "n1", Name: fmt.Sprintf("gpu-%d-counter-set", i),
		Counters: slots(0, 8)}
}

func hold(devices []inventory.Device, name string) []inventory.Device {
	at := slices.IndexFunc(devices, func(d inventory.Device) bool { return d.Name == name })
	devices = slices.Clone(devices)
	devices[at].Claim = "t-vision/someone"
	return devices
}

func claiming(requests ...catalog.DeviceRequest) catalog.Size {
	return catalog.Size{Name: "claim", Technology: catalog.DRA, CPU: "1", Memory: "1Gi",
		Accelerator: catalog.Accelerator{Claim: &catalog.Claim{Requests: requests}}}
}

func TestFitOfClaims(t *testing.T) {
	cards := func(n int, change ...func(*inventory.Device)) (list []inventory.Device) {
		for i := range n {
			list = append(list, dra(i, change...))
		}
		return list
	}
	cut, counters := dynamic(0)
	one := func(class string, selectors ...string) catalog.Size {
		return claiming(catalog.DeviceRequest{Name: "gpu", DeviceClass: class, Selectors: selectors})
	}
	several := func(n int, s catalog.Size) catalog.Size { s.Accelerator.Claim.Requests[0].Count = n; return s }
	sameRoot := func(s catalog.Size) catalog.Size {
		s.Accelerator.Claim.Constraints = []catalog.DeviceConstraint{{MatchAttribute: "resource.kubernetes.io/pcieRoot"}}
		return s
	}
	joined := func(list []inventory.Device, partitions ...int64) []inventory.Device {
		for i, p := range partitions {
			list[i].Attributes["gpu.nvidia.com/partition2"] = inventory.Attribute{Int: &p}
		}
		return list
	}
	nvlink := func(s catalog.Size) catalog.Size {
		s.Accelerator.Claim.Constraints = []catalog.DeviceConstraint{{MatchAttribute: "gpu.nvidia.com/partition2"}}
		return s
	}
	cardOrTwoSlices := claiming(catalog.DeviceRequest{Name: "gpu", FirstAvailable: []catalog.DeviceRequest{
		{Name: "big", DeviceClass: "gpu.nvidia.com"}, {Name: "small", DeviceClass: "mig.nvidia.com",
			Selectors: []string{`device.attributes['gpu.nvidia.com'].profile == '1g.10gb'`}, Count: 2}}})
	known := func(total, free int) inventory.Fit { return inventory.Fit{Total: total, Free: free, Known: true} }
	cases := map[string]struct {
		devices  []inventory.Device
		counters []inventory.CounterSet
		size     catalog.Size
		want     inventory.Fit
	}{
		"whole cards":            {cards(4), nil, one("gpu.nvidia.com"), known(4, 4)},
		"pairs joined by NVLink": {joined(cards(4), 1, 2, 1, 2), nil, nvlink(several(2, one("gpu.nvidia.com"))), known(2, 2)},
		"free cards of two NVLink domains, on one PCIe root": {
			hold(hold(joined(cards(4), 1, 2, 1, 2), "gpu-0"), "gpu-1"), nil, nvlink(several(2, one("gpu.nvidia.com"))),
			known(2, 0)},
		"free cards of two PCIe roots, in one NVLink domain": {
			hold(hold(joined(cards(4), 1, 2, 1, 2), "gpu-1"), "gpu-3"), nil, nvlink(several(2, one("gpu.nvidia.com"))),
			known(2, 1)},
		"no NVLink told":   {cards(4), nil, nvlink(several(2, one("gpu.nvidia.com"))), known(0, 0)},
		"what a claim has": {hold(cards(4), "gpu-2"), nil, one("gpu.nvidia.com"), known(4, 3)},
		"an ill device is none": {append(cards(3), dra(3, func(d *inventory.Device) { d.Tainted = true })),
			nil, one("gpu.nvidia.com"), known(3, 3)},
		"one that is published no more": {append(cards(3),
			dra(3, func(d *inventory.Device) { d.Gone, d.Claim = true, "t-vision/someone" })), nil, one("gpu.nvidia.com"),
			known(3, 3)},
		"one for several claims": {cards(2, func(d *inventory.Device) { d.Multiple = true }), nil,
			one("gpu.nvidia.com", `device.allowMultipleAllocations`), known(2, 2)},
		"no slices among cards": {cards(4), nil, one("mig.nvidia.com"), known(0, 0)},
		"at least 40 GB": {append(cards(1), part(1, "1g.10gb", 0, 1)), nil,
			one("gpu.nvidia.com", `device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0`), known(1, 1)},
		"more than there is": {cards(4), nil,
			one("gpu.nvidia.com", `device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('100Gi'))`), known(0, 0)},
		"a product": {cards(4), nil,
			one("gpu.nvidia.com", `device.attributes['gpu.nvidia.com'].productName.lowerAscii().contains('h100')`), known(4, 4)},
		"another product": {cards(4), nil,
			one("gpu.nvidia.com", `device.attributes['gpu.nvidia.com'].productName.lowerAscii().contains('h200')`), known(0, 0)},
		"a version of the driver": {cards(4), nil,
			one("gpu.nvidia.com", `device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('575.0.0'))`),
			known(4, 4)},
		"all selectors must hold": {cards(4), nil, one("gpu.nvidia.com", `true`, `false`), known(0, 0)},
		"what may be absent is asked for first": {cards(4), nil,
			one("gpu.nvidia.com", `!has(device.attributes['gpu.nvidia.com'].profile)`), known(4, 4)},
		"an unknown domain is empty": {cards(4), nil, one("gpu.nvidia.com", `has(device.attributes['example.org'].fast)`),
			known(0, 0)},
		// The scheduler gives the whole attempt up, also for the devices that would do.
		"an error on one device ends the attempt": {append(cards(1), part(1, "1g.10gb", 0, 1)), nil,
			claiming(catalog.DeviceRequest{Name: "gpu", DeviceClass: "gpu.nvidia.com",
				Selectors: []string{`device.attributes['gpu.nvidia.com'].profile == '1g.10gb'`}}), known(0, 0)},
		"two at a time": {cards(5), nil, several(2, one("gpu.nvidia.com")), known(2, 2)},
		"two behind one PCIe root": {hold(cards(4), "gpu-0"), nil, sameRoot(several(2, one("gpu.nvidia.com"))),
			known(2, 1)},
		"two behind one root, back and forth": {hold(hold(cards(6), "gpu-0"), "gpu-2"), nil,
			sameRoot(several(2, one("gpu.nvidia.com"))), known(3, 1)},
		"a device without the attribute": {cards(2, func(d *inventory.Device) {
			delete(d.Attributes, "resource.kubernetes.io/pcieRoot")
		}), nil, sameRoot(several(2, one("gpu.nvidia.com"))), known(0, 0)},
		"every slice of a card": {cut, []inventory.CounterSet{counters},
			one("mig.nvidia.com", `device.attributes['gpu.nvidia.com'].profile == '1g.10gb'`), known(7, 7)},
		"the larger slices of a card": {cut, []inventory.CounterSet{counters},
			one("mig.nvidia.com", `device.attributes['gpu.nvidia.com'].profile == '3g.40gb'`), known(2, 2)},
		"a slice takes the card": {hold(cut, "gpu-0-mig-1g.10gb-3"), []inventory.CounterSet{counters},
			one("gpu.nvidia.com"), known(1, 0)},
		"the card takes the slices": {hold(cut, "gpu-0"), []inventory.CounterSet{counters}, one("mig.nvidia.com"),
			known(7, 0)},
		"a slice takes what it overlaps": {hold(cut, "gpu-0-mig-1g.10gb-3"), []inventory.CounterSet{counters},
			one("mig.nvidia.com", `device.attributes['gpu.nvidia.com'].profile == '3g.40gb'`), known(2, 1)},
		"counters that nobody published": {cut, nil, one("gpu.nvidia.com"), known(0, 0)},
		"the first alternative, else the next": {append(cards(2), part(2, "1g.10gb", 0, 1), part(2, "1g.10gb", 1, 1),
			part(2, "1g.10gb", 2, 1)), []inventory.CounterSet{{Driver: "gpu.nvidia.com", Pool: "n1", Name: "gpu-2-counter-set",
			Counters: slots(0, 8)}}, cardOrTwoSlices, known(3, 3)},
		"an unknown class":                    {cards(4), nil, one("portal-h200-full"), inventory.Fit{}},
		"an expression that does not compile": {cards(4), nil, one("gpu.nvidia.com", `device.`), inventory.Fit{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := machine("n1", nil, nil)
			n.Devices, n.Counters = c.devices, c.counters
			if got := Fit(inventory.Snapshot{Nodes: []inventory.Node{n}}, c.size); got != c.want {
				t.Errorf("want %+v, got %+v", c.want, got)
			}
		})
	}
}

func TestClaimsStandBesideProcessorsAndResources(t *testing.T) {
	n := machine("n1", nil, map[string]int64{"rdma/hca_a": 2})
	n.Devices = []inventory.Device{dra(0), dra(1), dra(2), dra(3)}
	s := claiming(catalog.DeviceRequest{Name: "gpu", DeviceClass: "gpu.nvidia.com"})
	s.CPU = "64"
	if got := Fit(inventory.Snapshot{Nodes: []inventory.Node{n}}, s); got.Free != 3 {
		t.Errorf("the processors are for three, got %+v", got)
	}
	s.Accelerator.Extra = map[string]string{"rdma/hca_a": "1"}
	if got := Fit(inventory.Snapshot{Nodes: []inventory.Node{n}}, s); got.Free != 2 {
		t.Errorf("the network is for two, got %+v", got)
	}
}

func TestSelectorsKnowKubernetesFunctions(t *testing.T) {
	d := dra(0)
	for expression, want := range map[string]bool{
		`quantity('1Gi').compareTo(quantity('1024Mi')) == 0`:                                           true,
		`quantity('1Gi') == quantity('1024Mi')`:                                                        true,
		`quantity('1Gi').isLessThan(quantity('1G'))`:                                                   false,
		`quantity('1Gi').add(quantity('1Gi')).asInteger() == 2147483648`:                               true,
		`quantity('3').sub(1).sign() == 1 && quantity('2').isInteger()`:                                true,
		`isQuantity('40Gi') && !isQuantity('forty')`:                                                   true,
		`quantity('1500m').asApproximateFloat() == 1.5`:                                                true,
		`semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3`: true,
		`semver('1.10.0').compareTo(semver('1.9.0')) > 0 && !isSemver('x')`:                            true,
		`device.attributes['gpu.nvidia.com'].driverVersion == semver('580.105.8')`:                     true,
		`device.driver == 'gpu.nvidia.com' && !device.allowMultipleAllocations`:                        true,
		`device.attributes['gpu.nvidia.com'].productName.matches('H100')`:                              true,
		`'productName' in device.attributes['gpu.nvidia.com']`:                                         true,
		`device.attributes['gpu.nvidia.com'].productName in ['NVIDIA H100 80GB HBM3', 'NVIDIA H200']`:  true,
		`cel.bind(m, device.capacity['gpu.nvidia.com'].memory, m.compareTo(quantity('80Gi')) >= 0)`:    false,
		`device.attributes['gpu.nvidia.com'].?profile.orValue('') == ''`:                               true,
	} {
		s, err := compile(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got, err := s.matches(&device{&d}); err != nil || got != want {
			t.Errorf("%s: want %v, got %v, %v", expression, want, got, err)
		}
	}
	for _, expression := range []string{`device.attributes['gpu.nvidia.com'].profile == 'x'`, `device.driver`,
		`[1,2,3].all(a, [1,2,3].all(b, ` +
			`device.attributes['gpu.nvidia.com'].missing == a))`} {
		s, err := compile(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got, err := s.matches(&device{&d}); err == nil {
			t.Errorf("%s: want an error, got %v", expression, got)
		}
	}
}

func BenchmarkFitOfClaims(b *testing.B) {
	var nodes []inventory.Node
	for i := range 1_000 {
		n := machine(fmt.Sprint("n", i), nil, nil)
		for k := range 8 {
			n.Devices = append(n.Devices, dra(k))
		}
		nodes = append(nodes, n)
	}
	snapshot := inventory.Snapshot{Nodes: nodes}
	s := claiming(catalog.DeviceRequest{Name: "gpu", DeviceClass: "gpu.nvidia.com",
		Selectors: []string{`device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0`}})
	for b.Loop() {
		Fit(snapshot, s)
	}
}
