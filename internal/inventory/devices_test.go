package inventory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

func ptr[T any](v T) *T { return &v }

func word(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }

// card is a whole card as NVIDIA's DRA driver publishes it.
func card(i int) resourcev1.Device {
	return resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": word("gpu"),
			"uuid": word(fmt.Sprintf("GPU-%d", i)), "productName": word("NVIDIA H100 80GB HBM3"),
			"resource.kubernetes.io/pcieRoot": word("pci0000:10")},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}}}
}

// cut is a slice of a card that takes memory slices of the card's counters, as with dynamic MIG.
func cut(i int, profile string, start, size int) resourcev1.Device {
	d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d-mig-%s-%d", i, strings.ReplaceAll(profile, ".", ""), start),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": word("mig"),
			"parentUUID":  word(fmt.Sprintf("GPU-%d", i)),
			"productName": word("NVIDIA H100 80GB HBM3"), "profile": word(profile)}}
	d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: fmt.Sprintf("gpu-%d-counter-set", i),
		Counters: memorySlices(start, size)}}
	return d
}

func memorySlices(start, size int) map[string]resourcev1.Counter {
	c := map[string]resourcev1.Counter{}
	for s := start; s < start+size; s++ {
		c[fmt.Sprintf("memory-slice-%d", s)] = resourcev1.Counter{Value: resource.MustParse("1")}
	}
	return c
}

// dynamic is a card with everything it could be cut into.
func dynamic(i int) []resourcev1.Device {
	whole := card(i)
	whole.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: fmt.Sprintf("gpu-%d-counter-set", i),
		Counters: memorySlices(0, 8)}}
	devices := []resourcev1.Device{whole, cut(i, "3g.40gb", 0, 4), cut(i, "3g.40gb", 4, 4)}
	for s := range 7 {
		devices = append(devices, cut(i, "1g.10gb", s, 1))
	}
	return devices
}

func countersOf(cards int) []resourcev1.CounterSet {
	var sets []resourcev1.CounterSet
	for i := range cards {
		sets = append(sets, resourcev1.CounterSet{Name: fmt.Sprintf("gpu-%d-counter-set", i), Counters: memorySlices(0, 8)})
	}
	return sets
}

func tainted(d resourcev1.Device, effect resourcev1.DeviceTaintEffect) resourcev1.Device {
	d.Taints = []resourcev1.DeviceTaint{{Key: "gpu.nvidia.com/health", Effect: effect}}
	return d
}

// draSlice is a slice of the pool that bears the node's name.
func draSlice(node string, generation, slices int64, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-slice"},
		Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com", NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: slices}, Devices: devices}}
}

// named changes what a test needs of a slice.
func named(s *resourcev1.ResourceSlice, name string,
	change ...func(*resourcev1.ResourceSliceSpec)) *resourcev1.ResourceSlice {
	s.Name = name
	for _, c := range change {
		c(&s.Spec)
	}
	return s
}

// claim holds devices of a pool for pods.
func claim(name, pool string, devices []string, pods ...string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-vision", Name: name},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}}}
	for _, d := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: "gpu.nvidia.com", Pool: pool, Device: d})
	}
	for _, p := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods",
			Name: p, UID: types.UID("uid-" + p)})
	}
	return c
}

func withUID(p *corev1.Pod) *corev1.Pod {
	p.UID = types.UID("uid-" + p.Name)
	return p
}

func draNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

// brief tells of each device what tests compare: its name, its claim, its pods with the portal's id, and marks.
func brief(devices []Device) []string {
	var list []string
	for _, d := range devices {
		text := d.Name
		if d.Held() {
			text += " " + d.Claim
		}
		for _, h := range d.Holders {
			text += " " + h.Pod + "=" + h.Workload
		}
		for mark, is := range map[string]bool{" gone": d.Gone, " tainted": d.Tainted} {
			if is {
				text += mark
			}
		}
		list = append(list, text)
	}
	return list
}

func TestDevices(t *testing.T) {
	node := func(name string) func(*resourcev1.ResourceSliceSpec) {
		return func(s *resourcev1.ResourceSliceSpec) { s.NodeName = ptr(name) }
	}
	admin := claim("watch", "n1", []string{"gpu-0"}, "monitor")
	admin.Status.Allocation.Devices.Results[0].AdminAccess = ptr(true)
	waiting := claim("waiting", "n1", nil)
	waiting.Status.Allocation = nil
	cases := map[string]struct {
		slices []*resourcev1.ResourceSlice
		claims []*resourcev1.ResourceClaim
		want   []string
	}{
		"free devices": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(1), card(0))}, nil,
			[]string{"gpu-0", "gpu-1"}},
		"held by a pod of ours": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0), card(1))},
			[]*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-1"}, "a")},
			[]string{"gpu-0", "gpu-1 gpu-vision/c a=w-a"}},
		"a claim without a pod holds too": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-0"})}, []string{"gpu-0 gpu-vision/c"}},
		"a pod that nobody knows": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-0"}, "z")}, []string{"gpu-0 gpu-vision/c z="}},
		"a claim that waits holds nothing": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{waiting}, []string{"gpu-0"}},
		"administrators' access takes nothing away": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{admin}, []string{"gpu-0"}},
		"the same name in another pool is another": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{claim("c", "n2", []string{"gpu-0"})}, []string{"gpu-0"}},
		"only the newest generation counts": {[]*resourcev1.ResourceSlice{draSlice("n1", 2, 1, card(0)),
			named(draSlice("n1", 1, 1, card(7)), "old")}, nil, []string{"gpu-0"}},
		"a pool with parts missing gives nothing": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 2, card(0))}, nil, nil},
		"but what is held is there": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 2, card(0), card(1))},
			[]*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-1"}, "a")}, []string{"gpu-1 gpu-vision/c a=w-a"}},
		"old parts do not complete a pool": {[]*resourcev1.ResourceSlice{draSlice("n1", 2, 2, card(0)),
			named(draSlice("n1", 1, 2, card(7)), "old")}, nil, nil},
		"both parts": {[]*resourcev1.ResourceSlice{draSlice("n1", 2, 2, card(0)),
			named(draSlice("n1", 2, 2, card(1)), "second")}, nil, []string{"gpu-0", "gpu-1"}},
		"a device that two parts name": {[]*resourcev1.ResourceSlice{draSlice("n1", 2, 2, card(0)),
			named(draSlice("n1", 2, 2, card(0)), "second")}, nil, nil},
		"tainted": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, tainted(card(0), "NoExecute"),
			tainted(card(1), "None"))}, nil, []string{"gpu-0 tainted", "gpu-1"}},
		"of another node": {[]*resourcev1.ResourceSlice{named(draSlice("n1", 1, 1, card(0)), "other",
			node("n2"))}, nil, nil},
		"held and published no more": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-5"}, "a")},
			[]string{"gpu-0", "gpu-5 gpu-vision/c a=w-a gone"}},
		"held, and the driver was removed": {nil, []*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-5"}, "a")},
			[]string{"gpu-5 gpu-vision/c a=w-a gone"}},
		"held by several claims, told by the first": {[]*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
			[]*resourcev1.ResourceClaim{claim("d", "n1", []string{"gpu-0"}, "b"), claim("c", "n1", []string{"gpu-0"}, "a")},
			[]string{"gpu-0 gpu-vision/c a=w-a b=w-b"}},
		"each device chooses its node": {[]*resourcev1.ResourceSlice{named(draSlice("n1", 1, 1), "per-device",
			func(s *resourcev1.ResourceSliceSpec) {
				s.NodeName, s.PerDeviceNodeSelection = nil, ptr(true)
				here, there := card(0), card(1)
				here.NodeName, there.NodeName = ptr("n1"), ptr("n2")
				s.Devices = []resourcev1.Device{here, there}
			})}, nil, []string{"gpu-0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{withUID(pod("a", list("cpu", "1"))), withUID(pod("b", list("cpu", "1")))}
			got := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1"), draNode("n2")}, Pods: pods, Slices: c.slices,
				Claims: c.claims}, ours)
			if diff := cmp.Diff(c.want, brief(got.Nodes[0].Devices)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.Attached != nil {
				t.Errorf("nothing is attached, got %+v", got.Attached)
			}
		})
	}
}

func TestAttachedDevices(t *testing.T) {
	nodes := []*corev1.Node{draNode("n1"), draNode("n2"), draNode("n3")}
	nodes[0].Labels = map[string]string{"fabric": "a", "rack": "7"}
	nodes[1].Labels = map[string]string{"fabric": "b", "rack": "9"}
	need := func(key string, op corev1.NodeSelectorOperator, values ...string) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}}}
	}
	pool := func(change func(*resourcev1.ResourceSliceSpec)) []*resourcev1.ResourceSlice {
		return []*resourcev1.ResourceSlice{named(draSlice("far", 1, 1, card(0), card(1)), "far",
			func(s *resourcev1.ResourceSliceSpec) { s.NodeName = nil }, change)}
	}
	selected := func(sel *corev1.NodeSelector) []*resourcev1.ResourceSlice {
		return pool(func(s *resourcev1.ResourceSliceSpec) { s.NodeSelector = sel })
	}
	field := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn,
			Values: []string{"n3"}}}}, {}}}
	cases := map[string]struct {
		slices []*resourcev1.ResourceSlice
		all    bool
		want   []string
	}{
		"all nodes":           {pool(func(s *resourcev1.ResourceSliceSpec) { s.AllNodes = ptr(true) }), true, nil},
		"In":                  {selected(need("fabric", corev1.NodeSelectorOpIn, "a", "c")), false, []string{"n1"}},
		"NotIn":               {selected(need("fabric", corev1.NodeSelectorOpNotIn, "a")), false, []string{"n2", "n3"}},
		"Exists":              {selected(need("fabric", corev1.NodeSelectorOpExists)), false, []string{"n1", "n2"}},
		"DoesNotExist":        {selected(need("fabric", corev1.NodeSelectorOpDoesNotExist)), false, []string{"n3"}},
		"Gt":                  {selected(need("rack", corev1.NodeSelectorOpGt, "7")), false, []string{"n2"}},
		"Lt":                  {selected(need("rack", corev1.NodeSelectorOpLt, "9")), false, []string{"n1"}},
		"a name":              {selected(field), false, []string{"n3"}},
		"nobody reaches it":   {selected(need("fabric", corev1.NodeSelectorOpIn, "z")), false, nil},
		"nothing is told":     {pool(func(*resourcev1.ResourceSliceSpec) {}), false, nil},
		"an unknown operator": {selected(need("fabric", "Like", "a")), false, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Build("main", now, Objects{Nodes: nodes, Slices: c.slices,
				Claims: []*resourcev1.ResourceClaim{claim("c", "far", []string{"gpu-1"})}}, ours)
			for _, n := range got.Nodes {
				if len(n.Devices) > 0 {
					t.Errorf("%s has devices of its own: %v", n.Name, brief(n.Devices))
				}
			}
			if len(got.Attached) != 1 {
				t.Fatalf("want one pool, got %+v", got.Attached)
			}
			a := got.Attached[0]
			if diff := cmp.Diff(c.want, a.Nodes); diff != "" || a.AllNodes != c.all {
				t.Errorf("all nodes: %v, (-want +got)\n%s", a.AllNodes, diff)
			}
			if diff := cmp.Diff([]string{"gpu-0", "gpu-1 gpu-vision/c"}, brief(a.Devices)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTroubleOfAttachedPools(t *testing.T) {
	far := named(draSlice("far", 1, 2, card(0)), "far", func(s *resourcev1.ResourceSliceSpec) {
		s.NodeName, s.AllNodes = nil, ptr(true)
	})
	got := Build("main", now, Objects{Slices: []*resourcev1.ResourceSlice{far},
		Claims: []*resourcev1.ResourceClaim{claim("c", "nowhere", []string{"gpu-1"})}}, ours).Attached
	want := []Attached{
		{Driver: "gpu.nvidia.com", Pool: "far", Warnings: []i18n.Text{i18n.T("inventory.pool_incomplete", "Driver",
			"gpu.nvidia.com", "Found", 1, "Expected", 2)}},
		{Driver: "gpu.nvidia.com", Pool: "nowhere",
			Warnings: []i18n.Text{i18n.T("inventory.device_gone", "Count", 1, "Driver", "gpu.nvidia.com")},
			Devices:  Devices{{Driver: "gpu.nvidia.com", Pool: "nowhere", Name: "gpu-1", Gone: true, Claim: "gpu-vision/c"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What drivers leave unqualified is in their own domain, and counters are those of the sets that devices take from.
func TestDeviceIsDescribed(t *testing.T) {
	s := draSlice("n1", 1, 1, cut(0, "1g.10gb", 3, 1))
	s.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "gpu-0-counter-set", Counters: memorySlices(0, 1)},
		{Name: "unused", Counters: memorySlices(0, 1)}}
	s.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
		"memory": {Value: resource.MustParse("9984Mi")}}
	s.Spec.Devices[0].Attributes["cores"] = resourcev1.DeviceAttribute{IntValue: ptr(int64(16))}
	s.Spec.Devices[0].Attributes["ready"] = resourcev1.DeviceAttribute{BoolValue: ptr(true)}
	s.Spec.Devices[0].Attributes["driverVersion"] = resourcev1.DeviceAttribute{VersionValue: ptr("580.105.8")}
	s.Spec.Devices[0].Attributes["resource.kubernetes.io/pcieRoot"] = word("pci0000:10")
	s.Spec.Devices[0].Attributes["several"] = resourcev1.DeviceAttribute{StringValues: []string{"a"}}
	got := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")}, Slices: []*resourcev1.ResourceSlice{s}},
		ours).Nodes[0]
	want := Devices{{Driver: "gpu.nvidia.com", Pool: "n1", Name: "gpu-0-mig-1g10gb-3", Attributes: map[string]Attribute{
		"gpu.nvidia.com/type": {String: ptr("mig")}, "gpu.nvidia.com/parentUUID": {String: ptr("GPU-0")},
		"gpu.nvidia.com/productName": {String: ptr("NVIDIA H100 80GB HBM3")},
		"gpu.nvidia.com/profile":     {String: ptr("1g.10gb")}, "gpu.nvidia.com/cores": {Int: ptr(int64(16))},
		"gpu.nvidia.com/ready":            {Bool: ptr(true)},
		"gpu.nvidia.com/driverVersion":    {Version: ptr("580.105.8")},
		"resource.kubernetes.io/pcieRoot": {String: ptr("pci0000:10")},
	}, Capacity: map[string]string{"gpu.nvidia.com/memory": "9984Mi"},
		Consumes: []Consumption{{Set: "gpu-0-counter-set", Counters: map[string]string{"memory-slice-3": "1"}}}}}
	if diff := cmp.Diff(want, got.Devices); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]CounterSet{{Driver: "gpu.nvidia.com", Pool: "n1", Name: "gpu-0-counter-set",
		Counters: map[string]string{"memory-slice-0": "1"}}}, got.Counters); diff != "" {
		t.Error(diff)
	}
	if got.Model != "NVIDIA-H100-80GB-HBM3" || got.Cards.Count != 1 {
		t.Errorf("the slice's card is known: %q, %+v", got.Model, got.Cards)
	}
}

func TestDevicesForSeveralClaims(t *testing.T) {
	d := card(0)
	d.AllowMultipleAllocations = ptr(true)
	take := func(name, memory string) *resourcev1.ResourceClaim {
		c := claim(name, "n1", []string{"gpu-0"})
		c.Status.Allocation.Devices.Results[0].ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{
			"memory": resource.MustParse(memory)}
		return c
	}
	got := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")},
		Slices: []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, d)}, Claims: []*resourcev1.ResourceClaim{take("a", "10Gi"),
			take("b", "6Gi")}}, ours)
	if d := got.Nodes[0].Devices[0]; !d.Multiple || d.Consumed["gpu.nvidia.com/memory"] != "16Gi" {
		t.Errorf("both claims' memory adds up, got %+v", d)
	}
}

func TestDevicesOfANodeAreBounded(t *testing.T) {
	var many []*resourcev1.ResourceSlice
	for part := range 10 {
		var devices []resourcev1.Device
		for i := range 128 {
			devices = append(devices, card(part*128+i))
		}
		many = append(many, named(draSlice("n1", 1, 10, devices...), fmt.Sprint(part)))
	}
	got := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")}, Slices: many,
		Claims: []*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-999"})}}, ours).Nodes[0]
	held := 0
	for _, d := range got.Devices {
		if d.Held() {
			held++
		}
	}
	if len(got.Devices) != mostDevices || held != 1 {
		t.Errorf("%d devices with %d held", len(got.Devices), held)
	}
	if diff := cmp.Diff([]i18n.Text{i18n.T("inventory.too_many_devices", "Shown", "512", "More", 768)},
		got.Warnings); diff != "" {
		t.Error(diff)
	}
}

// Written and read again, devices are what they were, and what they have in common is written once.
func TestDevicesAreWrittenShort(t *testing.T) {
	var devices []resourcev1.Device
	for i := range 8 {
		devices = append(devices, card(i))
		for s := range 7 {
			devices = append(devices, cut(i, "1g.10gb", s, 1))
		}
	}
	s := draSlice("n1", 1, 1, devices...)
	s.Spec.SharedCounters = countersOf(8)
	want := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")}, Slices: []*resourcev1.ResourceSlice{s},
		Claims: []*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-3", "gpu-9"})}}, ours)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Snapshot
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	ignore := func(s Snapshot) Snapshot { s.Nodes[0].Warnings = nil; return s } // numbers in arguments come back as floats
	if diff := cmp.Diff(ignore(want), ignore(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := strings.Count(string(text), "NVIDIA H100 80GB HBM3"); n > 17 {
		t.Errorf("the product is written %d times for 64 devices", n)
	}
	for _, bad := range []string{`{}`, `[1]`, `[{"devices":[1]}]`} {
		if err := json.Unmarshal([]byte(bad), new(Devices)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

// A pod whose card comes through the bridge from an extended resource to a claim holds the claim's device and nothing
// that the node would have to advertise.
func TestExtendedResourceServedByAClaim(t *testing.T) {
	p := withUID(pod("a", list("cpu", "1", gpu, "1"), func(p *corev1.Pod) {
		p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "c",
			RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: gpu,
				RequestName: "container-0-request-0"}}}
	}))
	got := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")}, Pods: []*corev1.Pod{p},
		Slices: []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, card(0))},
		Claims: []*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-0"}, "a")}}, ours).Nodes[0]
	if len(got.Resources) != 0 || got.Warnings != nil || len(got.Devices[0].Holders) != 1 {
		t.Errorf("got %+v", got)
	}
}
