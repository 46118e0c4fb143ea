package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

const partsOfCard = usage.Parts

func TestStock(t *testing.T) {
	foreign := func(p *corev1.Pod) { p.Namespace = "training" }
	labelled := func(pairs ...string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			for i := 0; i < len(pairs); i += 2 {
				n.Labels[pairs[i]] = pairs[i+1]
			}
		}
	}
	offers := func(pairs ...string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.Capacity, n.Status.Allocatable = list(pairs...), list(pairs...) }
	}
	h100 := func(s usage.Stock) []usage.Stock {
		s.Model = "NVIDIA-H100-80GB-HBM3"
		return []usage.Stock{s}
	}
	for sentence, c := range map[string]struct {
		node *corev1.Node
		pods []*corev1.Pod
		want []usage.Stock
	}{
		"a whole card and one that is cut in seven": {mixedNode(),
			[]*corev1.Pod{pod("a", list("nvidia.com/mig-1g.10gb", "3")), pod("b", list("nvidia.com/gpu", "1"), foreign)},
			h100(usage.Stock{Cards: 2 * partsOfCard, Ours: 360, Others: 840, Free: 480})},
		"what a cut leaves over is offered by nobody": {mixedNode(offers("nvidia.com/mig-3g.40gb", "2", "nvidia.com/gpu",
			"1")), []*corev1.Pod{pod("a", list("nvidia.com/mig-3g.40gb", "1"))},
			h100(usage.Stock{Cards: 2 * partsOfCard, Ours: 360, Free: 360 + 840})},
		"on a closed node nothing is free": {mixedNode(func(n *corev1.Node) { n.Spec.Unschedulable = true }),
			[]*corev1.Pod{pod("a", list("nvidia.com/mig-1g.10gb", "7"))},
			h100(usage.Stock{Cards: 2 * partsOfCard, Ours: 840, Broken: 840})},
		"cards that nobody offers": {mixedNode(offers("cpu", "4")), nil, h100(usage.Stock{Cards: 2 * partsOfCard})},
		"shares of two cards": {mixedNode(offers("nvidia.com/gpu", "22"), labelled("nvidia.com/gpu.replicas", "11",
			"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-SHARED")),
			[]*corev1.Pod{pod("a", list("nvidia.com/gpu", "11")), pod("b", list("nvidia.com/gpu", "1"))},
			h100(usage.Stock{Cards: 2 * partsOfCard, Ours: 840 + 76, Free: 1680 - 840 - 76})},
		"more held than there is, on a card that says it is one": {mixedNode(offers("nvidia.com/gpu", "3"),
			labelled("nvidia.com/gpu.count", "1")), []*corev1.Pod{pod("a", list("nvidia.com/gpu", "3"))},
			h100(usage.Stock{Cards: partsOfCard, Ours: 3 * partsOfCard})},
		"a slice of four": {mixedNode(offers("nvidia.com/mig-1g.6gb", "4"), labelled("nvidia.com/gpu.product", "NVIDIA-A30",
			"nvidia.com/gpu.count", "1")), []*corev1.Pod{pod("a", list("nvidia.com/mig-1g.6gb", "1"))},
			[]usage.Stock{{Model: "NVIDIA-A30", Cards: partsOfCard, Ours: 210, Free: 630}}},
		"a card that is cut three ways is one, also where nobody counts cards": {mixedNode(
			offers("nvidia.com/mig-1g.12gb", "2", "nvidia.com/mig-2g.24gb", "1", "nvidia.com/mig-3g.47gb", "1"),
			labelled("nvidia.com/gpu.product", "NVIDIA-H100-NVL"), func(n *corev1.Node) {
				delete(n.Labels, "nvidia.com/gpu.count")
			}), []*corev1.Pod{pod("a", list("nvidia.com/mig-3g.47gb", "1"))},
			[]usage.Stock{{Model: "NVIDIA-H100-NVL", Cards: partsOfCard, Ours: 360, Free: 480}}},
		"a virtual machine's vGPUs": {mixedNode(offers("nvidia.com/gpu", "2"),
			labelled("nvidia.com/gpu.product", "NVIDIA-A40-12Q", "nvidia.com/vgpu.present", "true")), nil, []usage.Stock{}},
		"a node without a GPU": {mixedNode(offers("cpu", "4"), func(n *corev1.Node) { n.Labels = nil }), nil,
			[]usage.Stock{}},
	} {
		if diff := cmp.Diff(c.want, Stock(Build("west", time.Time{}, Objects{Nodes: []*corev1.Node{c.node}, Pods: c.pods},
			ours))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", sentence, diff)
		}
	}
}

// TestAgentsOfVirtualMachinesCountNoCards: an agent in a virtual machine reports its vGPUs, and they stood on the page
// as cards that nobody offers.
func TestAgentsOfVirtualMachinesCountNoCards(t *testing.T) {
	n := Node{Ready: true, Model: "NVIDIA-A40-12Q", Cards: Cards{Each: make([]PhysicalCard, 2)},
		Resources: []Resource{{Name: "nvidia.com/gpu", Capacity: 2, Allocatable: 2}}}
	if got := Stock(Snapshot{Nodes: []Node{n}}); len(got) != 0 {
		t.Errorf("want none, got %+v", got)
	}
}

// TestStockOfWholeCards: where cards are given out as they are, what they do makes up the cards, whatever befalls them.
func TestStockOfWholeCards(t *testing.T) {
	for held := range int64(10) {
		for ill := range int64(9) {
			r := Resource{Name: "nvidia.com/gpu", Capacity: 8, Allocatable: 8 - ill,
				Holders: []Holder{{Workload: "w-1", Count: held / 2}, {Count: held - held/2}}}
			for _, ready := range []bool{true, false} {
				n := Node{Ready: ready, Model: "NVIDIA-H100-80GB-HBM3", Cards: Cards{Count: 8, Known: true},
					Resources: []Resource{r}}
				s := Stock(Snapshot{Nodes: []Node{n, n}})[0]
				if s.Ours+s.Others+s.Free+s.Broken != s.Cards || s.Cards != 16*partsOfCard ||
					min(s.Ours, s.Others, s.Free, s.Broken) < 0 || !ready && s.Free > 0 {
					t.Fatalf("%d held and %d ill: %+v", held, ill, s)
				}
			}
		}
	}
}
