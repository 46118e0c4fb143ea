package capacity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// machine is a ready node with as many processors and GiB as it takes, labels as GPU feature discovery writes them, and
// resources.
func machine(name string, labels map[string]string, resources map[string]int64,
	change ...func(*inventory.Node)) inventory.Node {
	n := inventory.Node{Name: name, Ready: true, Labels: labels, CPU: inventory.Amount{Allocatable: 192_000},
		Memory: inventory.Amount{Allocatable: 2048 << 30}}
	for _, r := range slices.Sorted(maps.Keys(resources)) {
		n.Resources = append(n.Resources, inventory.Resource{Name: r, Capacity: resources[r], Allocatable: resources[r]})
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func tainted(n *inventory.Node) {
	n.Taints = append(n.Taints, inventory.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"})
}

// gfd are the labels of GPU feature discovery that a size may choose by.
func gfd(product, memory string, more ...string) map[string]string {
	labels := map[string]string{"nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": memory,
		"nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.sharing-strategy": "none",
		"nvidia.com/vgpu.present": "false"}
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

// machines are one node of each kind that a site may have, with labels and resources as their device plugins write
// them.
func machines() []inventory.Node {
	const h100, a100 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB"
	small := func(n *inventory.Node) { n.CPU.Allocatable, n.Memory.Allocatable = 32_000, 256<<30 }
	return []inventory.Node{
		machine("h100-mig", gfd(h100, "81559", "nvidia.com/mig.config", "all-balanced", "nvidia.com/gpu.count", "8",
			"nvidia.com/mig-1g.10gb.memory", "9984",
			"nvidia.com/mig-2g.20gb.memory", "20096", "nvidia.com/mig-3g.40gb.memory", "40320"),
			map[string]int64{"nvidia.com/mig-1g.10gb": 16, "nvidia.com/mig-2g.20gb": 8, "nvidia.com/mig-3g.40gb": 8}, tainted),
		machine("h100-me", gfd(h100, "81559", "nvidia.com/mig.config", "me"),
			map[string]int64{"nvidia.com/mig-1g.10gb.me": 8}, tainted),
		machine("a100-single", gfd(a100+"-MIG-1g.5gb", "4864", "nvidia.com/gpu.count", "56"),
			map[string]int64{"nvidia.com/gpu": 56}, tainted),
		machine("l40s-shared", gfd("NVIDIA-L40S", "46068", "nvidia.com/gpu.replicas", "4", "nvidia.com/gpu.sharing-strategy",
			"time-slicing", "nvidia.com/gpu.count", "4"),
			map[string]int64{"nvidia.com/gpu.shared": 16}, small),
		machine("t4-shared", gfd("Tesla-T4-SHARED", "15360", "nvidia.com/gpu.replicas", "4",
			"nvidia.com/gpu.sharing-strategy", "time-slicing", "nvidia.com/gpu.count", "4"),
			map[string]int64{"nvidia.com/gpu": 16}, small),
		machine("l40s-mps", gfd("NVIDIA-L40S-SHARED", "46068", "nvidia.com/gpu.replicas", "4",
			"nvidia.com/gpu.sharing-strategy", "mps", "nvidia.com/gpu.count", "4"),
			map[string]int64{"nvidia.com/gpu": 16}, small),
		machine("a100-mig-shared", gfd(a100, "40960", "nvidia.com/mig.config", "all-3g.20gb", "nvidia.com/mig-3g.20gb.memory",
			"19968", "nvidia.com/mig-3g.20gb.replicas", "2",
			"nvidia.com/mig-3g.20gb.sharing-strategy", "time-slicing"), map[string]int64{"nvidia.com/mig-3g.20gb.shared": 32},
			tainted),
		machine("a40-vgpu", gfd("NVIDIA-A40-12Q", "12288", "nvidia.com/vgpu.present", "true", "nvidia.com/gpu.count", "4"),
			map[string]int64{"nvidia.com/gpu": 4}, small),
		machine("a40-vgpu-shared", gfd("NVIDIA-A40-24Q", "24576", "nvidia.com/vgpu.present", "true",
			"nvidia.com/gpu.count", "2", "nvidia.com/gpu.replicas", "4", "nvidia.com/gpu.sharing-strategy", "time-slicing"),
			map[string]int64{"nvidia.com/gpu.shared": 8}, small),
		machine("a40-vgpu-marked", gfd("NVIDIA-A40-8Q-SHARED", "8192", "nvidia.com/vgpu.present", "true",
			"nvidia.com/gpu.count", "2", "nvidia.com/gpu.replicas", "2", "nvidia.com/gpu.sharing-strategy", "time-slicing"),
			map[string]int64{"nvidia.com/gpu": 4}, small),
		machine("h100-vgpu-mig", gfd("NVIDIA-H100XM-1-10C", "10240", "nvidia.com/vgpu.present", "true",
			"nvidia.com/gpu.count", "2"), map[string]int64{"nvidia.com/gpu": 2}, small),
		machine("h100-nvlink", gfd(h100, "81559", "nvidia.com/mig.config", "all-disabled", "nvidia.com/gpu.count", "8"),
			map[string]int64{"nvidia.com/gpu": 8, "rdma/hca_a": 63}, tainted),
		machine("l4-spot", gfd("NVIDIA-L4", "23034", "nvidia.com/gpu.count", "4", "cloud.google.com/gke-spot", "true"),
			map[string]int64{"nvidia.com/gpu": 4}, tainted, func(n *inventory.Node) {
				n.Taints = append(n.Taints, inventory.Taint{Key: "cloud.google.com/gke-spot", Value: "true", Effect: "NoSchedule"})
			}),
		machine("mi300x", map[string]string{"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G",
			"amd.com/compute-memory-partition": "spx_nps1"},
			map[string]int64{"amd.com/gpu": 8}),
		machine("gaudi", map[string]string{"habana.ai/hpu.product": "gaudi3"}, map[string]int64{"habana.ai/gaudi": 8}),
		machine("h100-dra", nil, nil, func(n *inventory.Node) {
			n.Devices = []inventory.Device{dra(0), dra(1), part(2, "1g.10gb", 0, 1), part(2, "3g.40gb", 4, 4)}
			n.Counters = []inventory.CounterSet{{Driver: "gpu.nvidia.com", Pool: "n1", Name: "gpu-2-counter-set",
				Counters: slots(0, 8)}}
		}),
		machine("cpu", nil, nil),
	}
}

func base() catalog.Catalog {
	c := catalog.Default()
	c.Sizes = []catalog.Size{c.Sizes[0], c.Sizes[len(c.Sizes)-1]} // CPU, and the whole H100 where nothing is cut
	return c
}

// proposed writes everything that Compare proposes into the catalog.
func proposed(c catalog.Catalog, findings []Finding) catalog.Catalog {
	c.Sizes = slices.Clone(c.Sizes)
	for _, f := range findings {
		if f.Proposal != nil {
			c.Sizes = append(c.Sizes, *f.Proposal)
		}
	}
	return c
}

func TestEveryKindOfNodeIsProposed(t *testing.T) {
	want := map[string]catalog.Size{ // what a person chooses by; the rest is asked of all below
		"mig-1g.10gb": {Technology: catalog.MIG, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-1g.10gb", MemoryGiB: 10, Share: 0.142857}},
		"mig-2g.20gb": {Technology: catalog.MIG, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-2g.20gb", MemoryGiB: 20, Share: 0.285714}},
		"mig-3g.40gb": {Technology: catalog.MIG, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-3g.40gb", MemoryGiB: 39, Share: 0.428571}},
		"mig-1g.10gb-me": {Technology: catalog.MIG, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-1g.10gb.me", MemoryGiB: 10, Share: 0.142857}},
		"mig-1g.5gb": {Technology: catalog.MIG, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 5, Share: 0.142857}},
		"shared-l40s": {Technology: catalog.TimeSlicing, Isolation: catalog.IsolationNone,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu.shared", MemoryGiB: 45, Share: 0.25}},
		"shared-t4": {Technology: catalog.TimeSlicing, Isolation: catalog.IsolationNone,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 15, Share: 0.25}},
		"mps-l40s": {Technology: catalog.MPS, Isolation: catalog.IsolationMemory,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 11, Share: 0.25}},
		"shared-mig-3g.20gb-a100-sxm4-40gb": {Technology: catalog.TimeSlicing, Isolation: catalog.IsolationNone,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-3g.20gb.shared", MemoryGiB: 20, Share: 0.214286}},
		"vgpu-a40-12q": {Technology: catalog.VGPU, Isolation: catalog.IsolationMemory,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 12, Share: 0.25}},
		"shared-a40-24q": {Technology: catalog.TimeSlicing, Isolation: catalog.IsolationNone,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu.shared", MemoryGiB: 24, Share: 0.125}},
		"shared-a40-8q": {Technology: catalog.TimeSlicing, Isolation: catalog.IsolationNone,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 8, Share: 0.083334}},
		"vgpu-h100xm-1-10c": {Technology: catalog.VGPU, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 10, Share: 0.125}},
		"l4-spot": {Technology: catalog.Full, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", MemoryGiB: 22, Share: 1}},
		"amd-instinct-mi300x-oam": {Technology: catalog.Full, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "amd.com/gpu", MemoryGiB: 192, Share: 1}},
		"gaudi3": {Technology: catalog.Full, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Resource: "habana.ai/gaudi", MemoryGiB: 128, Share: 1}},
	}
	for name, device := range map[string]catalog.Accelerator{"dra-h100-80gb-hbm3": {MemoryGiB: 80, Share: 1},
		"dra-1g.10gb": {MemoryGiB: 10, Share: 0.142857}, "dra-3g.40gb": {MemoryGiB: 40, Share: 0.428571}} {
		want[name] = catalog.Size{Technology: catalog.DRA, Isolation: catalog.IsolationHard, Accelerator: device}
	}
	s := inventory.Snapshot{Cluster: "main", Nodes: machines()}
	c := base()
	findings := Compare(c, []inventory.Snapshot{s})
	got := map[string]catalog.Size{}
	for _, f := range findings {
		if f.Kind != Unoffered || f.Proposal == nil {
			t.Errorf("want only proposals, got %+v", f)
			continue
		}
		got[f.Proposal.Name] = *f.Proposal
	}
	for name, w := range want {
		p, ok := got[name]
		if !ok {
			t.Errorf("%s is not proposed; there are %v", name, slices.Sorted(maps.Keys(got)))
			continue
		}
		if p.Technology != w.Technology || p.Isolation != w.Isolation || p.Accelerator.Resource != w.Accelerator.Resource ||
			p.Accelerator.MemoryGiB != w.Accelerator.MemoryGiB ||
			p.Accelerator.Share != w.Accelerator.Share {
			t.Errorf("%s: want %+v, got %+v", name, w, p)
		}
		if p.PricePerHour.Minor <= 0 || p.PricePerHour.Currency != "EUR" {
			t.Errorf("%s: it has no price: %v", name, p.PricePerHour)
		}
		if fit := Fit(s, p); fit.Free == 0 || !fit.Known {
			t.Errorf("%s: none would start: %+v", name, fit)
		}
	}
	if len(got) != len(want) {
		t.Errorf("want %d proposals, got %v", len(want), slices.Sorted(maps.Keys(got)))
	}
	if !got["l4-spot"].Preemptible {
		t.Error("spot nodes can be taken away, and the size must say so")
	}
	checked(t, proposed(c, findings))
	for _, f := range Compare(proposed(c, findings), []inventory.Snapshot{s}) {
		t.Errorf("once all is offered nothing is found; got %+v", f)
	}
}

// checked asks the catalog's own rules.
func checked(t *testing.T, c catalog.Catalog) {
	t.Helper()
	data, err := json.Marshal(c) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	_, problems := catalog.Parse(data, append(catalog.DefaultPools(), license.Pool{Name: "other"})...)
	for _, p := range problems {
		t.Errorf("the proposal does not pass the catalog's checks: %v", p)
	}
}

func TestSlicesOfANodeShareAllOfIt(t *testing.T) {
	s := inventory.Snapshot{Cluster: "main", Nodes: machines()[:1]}
	cpu := 0
	for _, f := range Compare(base(), []inventory.Snapshot{s}) {
		if f.Kind == Unoffered {
			n, _ := requirementsOf(*f.Proposal)
			cpu += int(f.Count * n.milliCPU)
		}
	}
	if cpu > 192_000 || cpu < 130_000 {
		t.Errorf("all slices together want most of the node's 192 processors and no more, got %d m", cpu)
	}
}

func TestWhatIsNotProposedSaysWhy(t *testing.T) {
	cases := map[string]struct {
		node inventory.Node
		want string // message id; "" for no finding at all
	}{
		"HAMi multiplies cards": {machine("n", gfd("Tesla-V100-PCIE-32GB", "32768", "nvidia.com/gpu.count", "4"),
			map[string]int64{"nvidia.com/gpu": 40}), "capacity.multiplied"},
		"HAMi by its register": {machine("n", gfd("Tesla-V100-PCIE-32GB", "32768"),
			map[string]int64{"nvidia.com/gpu": 40}, func(n *inventory.Node) { n.System = inventory.HAMi }), "capacity.manual"},
		"for machines by the inventory": {machine("n", nil, map[string]int64{"nvidia.com/gpu": 4}, func(n *inventory.Node) {
			n.Resources[0].NotForPods = true
		}), ""},
		"no discovery": {machine("n", map[string]string{"gpu": "on"}, map[string]int64{"nvidia.com/gpu": 40}),
			"capacity.no_labels"},
		"Volcano": {machine("n", nil, map[string]int64{"volcano.sh/vgpu-number": 40,
			"volcano.sh/vgpu-memory": 131072}), "capacity.manual"},
		"an invalid MIG layout": {machine("n", gfd("NVIDIA-H100-80GB-HBM3-MIG-INVALID", "0"),
			map[string]int64{"nvidia.com/gpu": 1}), "inventory.mig_invalid"},
		"shared, but how": {machine("n", gfd("NVIDIA-L40S", "46068"),
			map[string]int64{"nvidia.com/gpu.shared": 4}), "capacity.sharing_unknown"},
		"a Gaudi without its label": {machine("n", nil, map[string]int64{"habana.ai/gaudi": 8}), "capacity.no_labels"},
		"a card of unknown memory": {machine("n", gfd("NVIDIA-X1", ""), map[string]int64{"nvidia.com/gpu": 8}),
			"capacity.memory_unknown"},
		"an unknown vGPU": {machine("n", gfd("NVIDIA-Z9-3X", "1", "nvidia.com/vgpu.present", "true"),
			map[string]int64{"nvidia.com/gpu": 8}), "capacity.profile_unreadable"},
		"no processors beside it": {machine("n", gfd("NVIDIA-L4", "23034"), map[string]int64{"nvidia.com/gpu": 8},
			func(n *inventory.Node) { n.CPU.Allocatable = 100 }), "capacity.no_room"},
		"virtual machines only": {machine("n", map[string]string{"nvidia.com/gpu.workload.config": "vm-vgpu"},
			map[string]int64{"nvidia.com/NVIDIA_A10-12Q": 4}), ""},
		"passed through to machines": {machine("n", gfd("NVIDIA-A10", "23028", "nvidia.com/gpu.workload.config",
			"vm-passthrough"), map[string]int64{"nvidia.com/gpu": 2}), ""},
		"a network alone": {machine("n", nil, map[string]int64{"rdma/hca_a": 4}), ""},
		"the control plane": {machine("n", gfd("NVIDIA-L4", "23034"), map[string]int64{"nvidia.com/gpu": 8},
			func(n *inventory.Node) {
				n.Taints = []inventory.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}
			}), ""},
		"everything ill": {machine("n", gfd("NVIDIA-L4", "23034"), map[string]int64{"nvidia.com/gpu": 0}), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, f := range Compare(catalog.Catalog{},
				[]inventory.Snapshot{{Cluster: "main", Nodes: []inventory.Node{c.node}}}) {
				got += f.Reason.ID
				if f.Proposal != nil {
					t.Errorf("want no proposal, got %+v", f.Proposal)
				}
			}
			if got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

// Other systems' sizes: what is free of them cannot be counted, but where they run and where not can be told.
func TestSystemsThatCannotBeCounted(t *testing.T) {
	hami := catalog.Size{Name: "hami", Technology: "hami", CPU: "1", Memory: "1Gi",
		Accelerator: catalog.Accelerator{Resource: "nvidia.com/gpu", Extra: map[string]string{"nvidia.com/gpumem": "8000"}},
		Placement:   catalog.Placement{NodeSelector: map[string]string{"gpu": "on"}}}
	kai := catalog.Size{Name: "kai", Technology: "kai", CPU: "1", Memory: "1Gi",
		Accelerator: catalog.Accelerator{Model: "L40S"},
		Placement:   catalog.Placement{NodeSelector: map[string]string{"pool": "kai"}}}
	nodes := []inventory.Node{machine("hami", map[string]string{"gpu": "on"}, map[string]int64{"nvidia.com/gpu": 40}),
		machine("kai", gfd("NVIDIA-L40S", "46068", "pool", "kai"), map[string]int64{"nvidia.com/gpu": 4})}
	s := inventory.Snapshot{Cluster: "main", Nodes: nodes}
	if got := Compare(catalog.Catalog{Sizes: []catalog.Size{hami, kai}}, []inventory.Snapshot{s}); len(got) > 0 {
		t.Errorf("both are offered and run, got %+v", got)
	}
	for _, size := range []catalog.Size{hami, kai} {
		if fit := Fit(s, size); fit.Known {
			t.Errorf("%s: no number may be told, got %+v", size.Name, fit)
		}
	}
	s.Nodes = []inventory.Node{machine("cpu", map[string]string{"gpu": "on"}, nil)}
	got := Compare(catalog.Catalog{Sizes: []catalog.Size{hami}}, []inventory.Snapshot{s})
	if len(got) != 1 || got[0].Kind != NeverRuns || got[0].Reason.ID != "capacity.no_resource" {
		t.Errorf("want it never to run, got %+v", got)
	}
}

func TestAHiddenSizeIsAnOffer(t *testing.T) {
	s := inventory.Snapshot{Cluster: "main", Nodes: []inventory.Node{machine("l4", gfd("NVIDIA-L4", "23034"),
		map[string]int64{"nvidia.com/gpu": 4})}}
	c := proposed(catalog.Catalog{}, Compare(catalog.Catalog{}, []inventory.Snapshot{s}))
	c.Sizes[0].Hidden = true
	if got := Compare(c, []inventory.Snapshot{s}); len(got) > 0 {
		t.Errorf("want nothing proposed again that was hidden, got %+v", got)
	}
}

func TestACordonedNodeIsStillOffered(t *testing.T) {
	s := inventory.Snapshot{Cluster: "main", Nodes: machines()}
	c := proposed(base(), Compare(base(), []inventory.Snapshot{s}))
	for i := range s.Nodes {
		s.Nodes[i].Cordoned, s.Nodes[i].Ready = true, false
		s.Nodes[i].Taints = append(s.Nodes[i].Taints, inventory.Taint{Key: "node.kubernetes.io/unschedulable",
			Effect: "NoSchedule"})
	}
	for _, f := range Compare(c, []inventory.Snapshot{s}) {
		t.Errorf("want nothing found of nodes that will come back, got %+v", f)
	}
}

func TestProposalsOfTwoClustersDoNotClash(t *testing.T) {
	one, two := inventory.Snapshot{Cluster: "one", Nodes: machines()}, inventory.Snapshot{Cluster: "two",
		Nodes: machines()}
	all := []inventory.Snapshot{one, two}
	findings := Compare(base(), all)
	c := proposed(base(), findings)
	seen := map[string]bool{}
	for _, s := range c.Sizes {
		if seen[s.Name] {
			t.Errorf("two sizes are called %s", s.Name)
		}
		seen[s.Name] = true
	}
	if again := Compare(c, all); len(again) > 0 {
		t.Errorf("want nothing left, got %+v", again)
	}
}

// Offering any one of the proposals makes exactly its finding vanish.
func TestEachProposalEndsItsOwnFinding(t *testing.T) {
	s := []inventory.Snapshot{{Cluster: "main", Nodes: machines()}}
	findings := Compare(base(), s)
	key := func(f Finding) string {
		return fmt.Sprint(f.Kind, f.Size, f.Resource, f.Model, f.Proposal.Accelerator.Profile, f.Proposal.Technology)
	}
	for _, f := range findings {
		want, left := map[string]bool{}, map[string]bool{}
		for _, g := range findings {
			want[key(g)] = true
		}
		delete(want, key(f))
		for _, g := range Compare(proposed(base(), []Finding{f}), s) {
			left[key(g)] = true
		}
		if diff := cmp.Diff(want, left); diff != "" {
			t.Errorf("%s (-want +got)\n%s", f.Proposal.Name, diff)
		}
	}
}

func TestPricesFollowTheSameCard(t *testing.T) {
	c := catalog.Catalog{Sizes: []catalog.Size{
		{Name: "h100", Technology: catalog.Full, Accelerator: catalog.Accelerator{Model: "H100 80GB", MemoryGiB: 80,
			Share: 1}, PricePerHour: usage.Money{Minor: 700, Currency: "CHF"}},
		{Name: "cheap", Technology: catalog.Full, Accelerator: catalog.Accelerator{Model: "T4", MemoryGiB: 16, Share: 1},
			PricePerHour: usage.Money{Minor: 16, Currency: "CHF"}},
	}}
	cases := map[string]struct {
		unit unit
		want usage.Money
	}{
		"a share of the same card": {unit{model: "H100 80GB HBM3", share: 2.0 / 7, memoryGiB: 20},
			usage.Money{Minor: 200, Currency: "CHF"}},
		// 716 for 96 GiB
		"another card by memory": {unit{model: "L40S", share: 1, memoryGiB: 48}, usage.Money{Minor: 358, Currency: "CHF"}},
	}
	for name, k := range cases {
		if got := priceOf(c, k.unit); got != k.want {
			t.Errorf("%s: want %v, got %v", name, k.want, got)
		}
	}
	if got := priceOf(catalog.Catalog{}, unit{memoryGiB: 10, share: 1}); got != (usage.Money{Currency: "EUR"}) {
		t.Errorf("nothing is known, so nothing is asked; got %v", got)
	}
}

func TestWhyASizeNeverRuns(t *testing.T) {
	s := size(func(s *catalog.Size) { s.Title = "Slice" })
	with := func(c func(*catalog.Size)) catalog.Size { return size(c) }
	cases := map[string]struct {
		nodes []inventory.Node
		size  catalog.Size
		want  i18n.Text
	}{
		"it runs": {[]inventory.Node{node()}, s, i18n.Text{}},
		"ill for now": {[]inventory.Node{node(func(n *inventory.Node) {
			n.Ready, n.Cordoned, n.Resources[0].Allocatable = false, true, 0
		})}, s, i18n.Text{}},
		"no resource": {[]inventory.Node{node()}, with(func(s *catalog.Size) { s.Accelerator.Resource = "nvidia.com/gpu" }),
			i18n.T("capacity.no_resource", "Resource", "nvidia.com/gpu")},
		"other labels": {[]inventory.Node{node(func(n *inventory.Node) { n.Labels["nvidia.com/gpu.product"] = "A100" })}, s,
			i18n.T("capacity.label_differs", "Label", "nvidia.com/gpu.product", "Want", "H100", "Has", "A100")},
		"no labels": {[]inventory.Node{node(func(n *inventory.Node) { n.Labels = nil })}, s,
			i18n.T("capacity.label_absent", "Label", "nvidia.com/gpu.product", "Want", "H100")},
		"a condition": {[]inventory.Node{node()}, with(func(s *catalog.Size) {
			s.Placement.NodeMatch = []catalog.NodeMatch{{Key: "nvidia.com/gpu.memory", Operator: "Gt",
				Values: []string{"40000"}}}
		}), i18n.T("capacity.label_absent", "Label", "nvidia.com/gpu.memory", "Want", "Gt 40000")},
		"a taint": {[]inventory.Node{node()}, with(func(s *catalog.Size) { s.Placement.Tolerations = nil }),
			i18n.T("capacity.taint", "Taint", "nvidia.com/gpu=present:NoSchedule")},
		"more devices than a node has": {[]inventory.Node{node()}, with(func(s *catalog.Size) { s.Accelerator.Count = 8 }),
			i18n.T("capacity.too_few", "Resource", slice, "Want", int64(8), "Has", int64(7))},
		"more processors": {[]inventory.Node{node()}, with(func(s *catalog.Size) { s.CPU = "65" }),
			i18n.T("capacity.little_cpu")},
		"more memory": {[]inventory.Node{node()}, with(func(s *catalog.Size) { s.Memory = "513Gi" }),
			i18n.T("capacity.little_memory")},
		"nothing is known": {nil, s, i18n.Text{}},
		"being cut anew": {[]inventory.Node{node(func(n *inventory.Node) {
			n.Resources, n.Labels["nvidia.com/mig.config.state"] = nil, "pending"
		})}, s, i18n.Text{}},
		"an auxiliary resource is missing": {[]inventory.Node{node()},
			with(func(s *catalog.Size) { s.Accelerator.Extra = map[string]string{"rdma/hca_a": "1"} }),
			i18n.T("capacity.no_resource", "Resource", "rdma/hca_a")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got i18n.Text
			for _, f := range neverRuns(catalog.Catalog{Sizes: []catalog.Size{c.size}},
				[]inventory.Snapshot{{Cluster: "main", Nodes: c.nodes}}) {
				got = f.Reason
			}
			if got.ID != c.want.ID || len(got.Args) != len(c.want.Args) {
				t.Fatalf("want %v, got %v", c.want, got)
			}
			for k, v := range c.want.Args {
				if got.Args[k] != v {
					t.Errorf("%s: want %v, got %v", k, v, got.Args[k])
				}
			}
		})
	}
}

func TestASizeForEverywhereNeedsOneClusterThatHasIt(t *testing.T) {
	with, without := inventory.Snapshot{Cluster: "a", Nodes: []inventory.Node{node()}},
		inventory.Snapshot{Cluster: "b", Nodes: []inventory.Node{machine("cpu", nil, nil)}}
	everywhere, named := size(), size(func(s *catalog.Size) { s.Clusters = []string{"a", "b"} })
	clusters := func(s catalog.Size, snapshots ...inventory.Snapshot) string {
		var names []string
		for _, f := range neverRuns(catalog.Catalog{Sizes: []catalog.Size{s}}, snapshots) {
			names = append(names, "["+f.Cluster+"]")
		}
		return strings.Join(names, "")
	}
	for name, c := range map[string]struct{ want, got string }{
		"one has it":              {"", clusters(everywhere, with, without)},
		"none has it":             {"[]", clusters(everywhere, without, without)},
		"the only one has it not": {"[b]", clusters(everywhere, without)},
		"each that is named":      {"[b]", clusters(named, with, without)},
	} {
		if c.got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, c.got)
		}
	}
}
