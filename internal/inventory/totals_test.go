package inventory

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

func q(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// checkTotals asserts what holds for every cluster: the parts make the whole, no part is negative, and each unit of a
// resource is counted once.
func checkTotals(t *testing.T, s Snapshot) {
	t.Helper()
	var counted, there, excess, held int64
	for _, x := range Totals(s) {
		if x.Held()+x.Free+x.Broken != x.Total {
			t.Fatalf("%s: held %d + free %d + broken %d is not %d", x.Resource, x.Held(), x.Free, x.Broken, x.Total)
		}
		if min(x.Total, x.Ours, x.Foreign, x.Free, x.Broken, x.Warned, x.Excess) < 0 || x.Warned > x.Total {
			t.Fatalf("a part is impossible: %+v", x)
		}
		if !x.DRA {
			counted += x.Total
		}
		held += x.Held()
		excess += x.Excess
	}
	var holders int64
	for _, n := range s.Nodes {
		for _, r := range n.Resources {
			there += r.there()
			holders += r.held()
		}
		holders += heldDevices(n.Devices)
	}
	for _, a := range s.Attached {
		holders += heldDevices(a.Devices)
	}
	if counted != there || held+excess != holders {
		t.Fatalf("counted %d of %d units, %d held and %d beyond of %d", counted, there, held, excess, holders)
	}
}

func heldDevices(devices []Device) (n int64) {
	for _, d := range devices {
		if d.Held() {
			n++
		}
	}
	return n
}

func TestTotals(t *testing.T) {
	called := func(name string) func(*corev1.Node) { return func(n *corev1.Node) { n.Name = name } }
	on := func(node string, foreign bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			if p.Spec.NodeName = node; foreign {
				p.Namespace = "other"
			}
		}
	}
	shares := []func(*corev1.Node){wholeCard, label("nvidia.com/gpu.replicas", "4", "nvidia.com/gpu.sharing-strategy",
		"time-slicing", "nvidia.com/gpu.count", "2"), resourcesOf("nvidia.com/gpu.shared", "8")}
	seen := Objects{
		Nodes: []*corev1.Node{
			mixedNode(called("mixed")),
			mixedNode(called("closed"), func(n *corev1.Node) { n.Spec.Unschedulable = true }),
			mixedNode(append(shares, called("shares"))...),
			mixedNode(wholeCard, called("whole")),
			mixedNode(wholeCard, called("ill"), resourcesOf(gpu, "4"), label("nvidia.com/gpu.count", "4"), func(n *corev1.Node) {
				n.Status.Allocatable[gpu] = *q(2)
			}),
			mixedNode(wholeCard, called("single"), label("nvidia.com/gpu.product", "NVIDIA-L40S-MIG-1g.5gb",
				"nvidia.com/gpu.count", "7", "nvidia.com/mig.strategy", "single", "nvidia.com/mig.capable", "true"),
				resourcesOf(gpu, "7")),
		},
		Pods: []*corev1.Pod{pod("a", list(slice, "2"), on("mixed", false)), pod("b", list(slice, "1"), on("mixed", true)),
			pod("c", list("nvidia.com/gpu.shared", "1"), on("shares", false)),
			pod("d", list(gpu, "3"), on("ill", true)), pod("e", list(gpu, "5"), on("whole", false)),
			pod("f", list(slice, "1"), on("closed", false))},
	}
	got := Totals(Build("main", now, seen, ours))
	h100, l40s := "NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S"
	want := []Total{
		{Cluster: "main", Resource: gpu, Kind: Kind{Unit: Card, Model: h100}, Total: 2, Free: 1, Broken: 1, Warned: 1,
			Cards: 2},
		{Cluster: "main", Resource: slice, Kind: Kind{Unit: Slice, Model: h100, Profile: "1g.10gb"}, Total: 14, Ours: 3,
			Foreign: 1, Free: 4, Broken: 6, Warned: 7},
		{Cluster: "main", Resource: gpu, Kind: Kind{Unit: Card, Model: l40s}, Total: 5, Ours: 1, Foreign: 3, Broken: 1,
			Warned: 5, Excess: 4, Cards: 5},
		{Cluster: "main", Resource: gpu + ".shared", Kind: Kind{Unit: Share, Model: l40s, Replicas: 4}, Total: 8, Ours: 1,
			Free: 7, Cards: 2},
		{Cluster: "main", Resource: gpu, Kind: Kind{Unit: Slice, Model: l40s, Profile: "1g.5gb"}, Total: 7, Free: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	checkTotals(t, Build("main", now, seen, ours))
}

func TestTotalsOfDevices(t *testing.T) {
	h100 := "NVIDIA-H100-80GB-HBM3"
	total := func(unit Unit, profile string, upTo bool, numbers ...int64) Total {
		x := Total{Cluster: "main", Resource: "gpu.nvidia.com", DRA: true, Kind: Kind{Unit: unit, Model: h100,
			Profile: profile}, UpTo: upTo}
		x.Total, x.Ours, x.Foreign, x.Free, x.Broken = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
		if unit == Card {
			x.Cards = x.Total
		}
		return x
	}
	withCounters := func(devices ...resourcev1.Device) *resourcev1.ResourceSlice {
		s := draSlice("n1", 1, 1, devices...)
		s.Spec.SharedCounters = countersOf(1)
		return s
	}
	one := cut(0, "1g.10gb", 2, 1).Name
	ill := dynamic(0)
	for i := range ill {
		if i > 2 {
			ill[i] = tainted(ill[i], "NoSchedule")
		}
	}
	far := named(draSlice("far", 1, 1, card(0), card(1)), "far", func(s *resourcev1.ResourceSliceSpec) {
		s.NodeName, s.AllNodes = nil, ptr(true)
	})
	cases := map[string]struct {
		slice *resourcev1.ResourceSlice
		claim *resourcev1.ResourceClaim
		want  []Total
	}{
		"cards": {draSlice("n1", 1, 1, card(0), card(1), tainted(card(2), "NoSchedule")),
			claim("c", "n1", []string{"gpu-0"}, "a"), []Total{total(Card, "", false, 3, 1, 0, 1, 1)}},
		"held by a claim": {draSlice("n1", 1, 1, card(0)), claim("c", "n1", []string{"gpu-0"}),
			[]Total{total(Card, "", false, 1, 0, 1, 0, 0)}},
		"reached from afar": {far, claim("c", "far", []string{"gpu-0"}, "a"), []Total{total(Card, "", false, 2, 1, 0, 1, 0)}},
		"a card that is not cut yet is up to so many of each": {withCounters(dynamic(0)...), nil,
			[]Total{total(Card, "", true, 1, 0, 0, 1, 0), total(Slice, "1g.10gb", true, 7, 0, 0, 7, 0),
				total(Slice, "3g.40gb", true, 2, 0, 0, 2, 0)}},
		"one slice is taken": {withCounters(dynamic(0)...), claim("c", "n1", []string{one}, "a"),
			[]Total{total(Card, "", true, 0, 0, 0, 0, 0), total(Slice, "1g.10gb", true, 7, 1, 0, 6, 0),
				total(Slice, "3g.40gb", true, 1, 0, 0, 1, 0)}},
		"the whole card is taken": {withCounters(dynamic(0)...), claim("c", "n1", []string{"gpu-0"}, "a"),
			[]Total{total(Card, "", true, 1, 1, 0, 0, 0), total(Slice, "1g.10gb", true, 0, 0, 0, 0, 0),
				total(Slice, "3g.40gb", true, 0, 0, 0, 0, 0)}},
		"ill slices": {withCounters(ill...), nil,
			[]Total{total(Card, "", true, 1, 0, 0, 1, 0), total(Slice, "1g.10gb", true, 7, 0, 0, 0, 7),
				total(Slice, "3g.40gb", true, 2, 0, 0, 2, 0)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			seen := Objects{Nodes: []*corev1.Node{draNode("n1")}, Pods: []*corev1.Pod{withUID(pod("a", list("cpu", "1")))},
				Slices: []*resourcev1.ResourceSlice{c.slice}}
			if c.claim != nil {
				seen.Claims = append(seen.Claims, c.claim)
			}
			s := Build("main", now, seen, ours)
			got := Totals(s)
			for i := range got {
				got[i].Warned = 0 // told elsewhere
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			checkTotals(t, s)
		})
	}
}

// A device that went away under its claim is beyond what there is, and neither free nor broken.
func TestTotalsOfDevicesThatAreGone(t *testing.T) {
	s := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")},
		Claims: []*resourcev1.ResourceClaim{claim("c", "n1", []string{"gpu-0"}, "a")}}, ours)
	got := Totals(s)
	if len(got) != 1 || got[0].Total != 0 || got[0].Excess != 1 {
		t.Errorf("got %+v", got)
	}
	checkTotals(t, s)
}

// Foreign texts are bounded and harmless on a page, and texts that are in order stay as they are.
func TestClean(t *testing.T) {
	cases := []struct {
		text    string
		longest int
		want    string
	}{
		{"nvidia.com/gpu", 20, "nvidia.com/gpu"}, {"abcdef", 3, "abc"}, {"a\x00b\nc\x1b[31m", 99, "a?b?c?[31m"},
		{"\xff\xfe", 9, "?"}, {"Größe", 9, "Größe"}, {"Größe", 3, "Gr"},
		{"a\u202eb", 9, "a?b"}, {"", 0, ""}, {"\u2028", 9, "?"},
	}
	for _, c := range cases {
		if got := clean(c.text, c.longest); got != c.want {
			t.Errorf("%q to %d: want %q, got %q", c.text, c.longest, c.want, got)
		}
	}
}

// A node may say what it likes: what comes out is bounded and can be written.
func TestHostileNode(t *testing.T) {
	long := fmt.Sprintf("%0300d", 7)
	n := mixedNode(func(n *corev1.Node) {
		n.Labels["nvidia.com/gpu.product"] = "\x1b]0;evil\x07" + long
		n.Labels["nvidia.com/"+long+"\n"] = "\x00" + long
		for i := range 500 {
			n.Status.Capacity[corev1.ResourceName(fmt.Sprintf("nvidia.com/%s%d\t", long, i))] = *q(1)
		}
		n.Status.Capacity["nvidia.com/x"] = *q(-4)
	})
	got := Build("main", now, Objects{Nodes: []*corev1.Node{n}}, ours)
	text, err := json.Marshal(got)
	if err != nil || len(text) > 100_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for _, r := range got.Nodes[0].Resources {
		if len(r.Name) > longestKey || !plain(r.Name) || r.Capacity < 0 {
			t.Errorf("%q, %d", r.Name, r.Capacity)
		}
	}
	for key, value := range got.Nodes[0].Labels {
		if len(key) > longestKey || len(value) > longestValue || !plain(key) || !plain(value) {
			t.Errorf("label %q=%q", key, value)
		}
	}
	if m := got.Nodes[0].Model; len(m) > longestValue || !plain(m) {
		t.Errorf("model %q", m)
	}
	checkTotals(t, got)
}

// BenchmarkTotals is what a page of the fleet needs of a thousand nodes.
func BenchmarkTotals(b *testing.B) {
	for name, withDRA := range map[string]bool{"plugin": false, "dra": true} {
		b.Run(name, func(b *testing.B) {
			s := Build("main", now, bigWorld(withDRA), ours)
			b.ReportAllocs()
			for b.Loop() {
				Totals(s)
			}
		})
	}
}

// BenchmarkJSON is a snapshot on its way into the database; MB is its size there.
func BenchmarkJSON(b *testing.B) {
	for name, withDRA := range map[string]bool{"plugin": false, "dra": true} {
		b.Run(name, func(b *testing.B) {
			s := Build("main", now, bigWorld(withDRA), ours)
			size := 0
			for b.Loop() {
				text, err := json.Marshal(s)
				if err != nil {
					b.Fatal(err)
				}
				size = len(text)
			}
			b.ReportMetric(float64(size)/1e6, "MB")
		})
	}
}

// TestLeftOverIsNotBroken: what the kubelet still counts of a former layout is neither there nor broken; a pod on it
// holds more than there is.
func TestLeftOverIsNotBroken(t *testing.T) {
	former := func(n *corev1.Node) {
		n.Status.Capacity["nvidia.com/mig-3g.40gb"] = resource.MustParse("2")
		n.Status.Allocatable["nvidia.com/mig-3g.40gb"] = resource.MustParse("0")
	}
	s := Build("main", now, Objects{Nodes: []*corev1.Node{mixedNode(former)},
		Pods: []*corev1.Pod{pod("a", list("nvidia.com/mig-3g.40gb", "1"))}}, ours)
	for _, total := range Totals(s) {
		if total.Broken != 0 || total.Resource == "nvidia.com/mig-3g.40gb" && (total.Total != 0 || total.Excess != 1) {
			t.Errorf("%+v", total)
		}
	}
	if got := Isolation(s.Nodes[0], "nvidia.com/mig-1g.10gb"); got != catalog.IsolationHard {
		t.Errorf("want the slices that are there to be as they are, got %s", got)
	}
}
