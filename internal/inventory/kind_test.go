package inventory

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

const (
	hard, memory, none, unknown = catalog.IsolationHard, catalog.IsolationMemory, catalog.IsolationNone,
		catalog.IsolationUnknown
)

// looks are nodes as each technology shows them, and what is to be read from them. The label sets are those of the
// vendors' discovery.
var looks = map[string]struct {
	node      []func(*corev1.Node)
	resource  string
	kind      Kind
	isolation catalog.Isolation
	cards     int64 // -1: cannot be told
}{
	"whole cards":               {[]func(*corev1.Node){wholeCard}, gpu, Kind{Unit: Card, Model: "NVIDIA-L40S"}, hard, 1},
	"whole cards beside slices": {nil, gpu, Kind{Unit: Card, Model: "NVIDIA-H100-80GB-HBM3"}, hard, 2},
	"slices, strategy mixed": {nil, slice, Kind{Unit: Slice, Model: "NVIDIA-H100-80GB-HBM3", Profile: "1g.10gb"}, hard,
		2},
	"slices, strategy single": {[]func(*corev1.Node){
		wholeCard, label("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/gpu.count", "7",
			"nvidia.com/mig.capable", "true",
			"nvidia.com/mig.strategy", "single"), resourcesOf(gpu, "7")}, gpu, Kind{Unit: Slice, Model: "NVIDIA-A100-SXM4-40GB",
		Profile: "1g.5gb"}, hard, -1},
	"slices with media engines": {[]func(*corev1.Node){
		label("nvidia.com/mig-1g.10gb.me.count", "1", "nvidia.com/mig-1g.10gb.me.replicas", "1",
			"nvidia.com/mig-1g.10gb.me.sharing-strategy", "none",
			"nvidia.com/mig-1g.10gb.me.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me"),
		resourcesOf("nvidia.com/mig-1g.10gb.me", "1", slice, "7")}, "nvidia.com/mig-1g.10gb.me",
		Kind{Unit: Slice, Model: "NVIDIA-H100-80GB-HBM3", Profile: "1g.10gb.me"}, hard, 2},
	"an invalid cut": {[]func(*corev1.Node){wholeCard, label("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID",
		"nvidia.com/gpu.count", "0")}, gpu,
		Kind{Unit: Card, Model: "NVIDIA-A100-SXM4-40GB"}, unknown, -1},
	"time slicing, renamed": {[]func(*corev1.Node){
		wholeCard, label("nvidia.com/gpu.replicas", "4", "nvidia.com/gpu.sharing-strategy", "time-slicing",
			"nvidia.com/gpu.count", "2"), resourcesOf("nvidia.com/gpu.shared", "8")},
		"nvidia.com/gpu.shared", Kind{Unit: Share, Model: "NVIDIA-L40S", Replicas: 4}, none, 2},
	"time slicing, marked": {[]func(*corev1.Node){wholeCard, label("nvidia.com/gpu.product", "Tesla-T4-SHARED",
		"nvidia.com/gpu.replicas", "4", "nvidia.com/gpu.sharing-strategy", "time-slicing"), resourcesOf(gpu, "4")},
		gpu, Kind{Unit: Share, Model: "Tesla-T4", Replicas: 4}, none, 1},
	"MPS": {[]func(*corev1.Node){wholeCard, label("nvidia.com/gpu.product", "NVIDIA-L40S-SHARED",
		"nvidia.com/gpu.replicas", "4", "nvidia.com/gpu.sharing-strategy", "mps", "nvidia.com/mps.capable", "true"),
		resourcesOf(gpu, "4")}, gpu, Kind{Unit: Share, Model: "NVIDIA-L40S", Replicas: 4}, memory, 1},
	"shares of slices": {[]func(*corev1.Node){label(slice+".replicas", "2", slice+".sharing-strategy", "time-slicing"),
		resourcesOf(gpu, "1", slice+".shared", "14")}, slice + ".shared",
		Kind{Unit: Share, Model: "NVIDIA-H100-80GB-HBM3", Profile: "1g.10gb", Replicas: 2}, none, 2},
	"shares of slices, marked": {[]func(*corev1.Node){
		label(slice+".replicas", "2", slice+".sharing-strategy", "time-slicing", slice+".product",
			"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED"),
		resourcesOf(gpu, "1", slice, "14")}, slice, Kind{Unit: Share, Model: "NVIDIA-H100-80GB-HBM3", Profile: "1g.10gb",
		Replicas: 2}, none, 2},
	"vGPU": {[]func(*corev1.Node){wholeCard, label("nvidia.com/gpu.product", "NVIDIA-A40-12Q", "nvidia.com/vgpu.present",
		"true")}, gpu,
		Kind{Unit: VirtualCard, Model: "NVIDIA-A40-12Q"}, memory, -1},
	"vGPU on a slice": {[]func(*corev1.Node){wholeCard, label("nvidia.com/gpu.product", "NVIDIA-H100XM-1-10C",
		"nvidia.com/vgpu.present", "true")}, gpu,
		Kind{Unit: VirtualCard, Model: "NVIDIA-H100XM-1-10C"}, hard, -1},
	"no labels": {[]func(*corev1.Node){only(), resourcesOf(gpu, "4")}, gpu, Kind{Unit: Card}, unknown, -1},
	"KubeVirt's vGPU": {[]func(*corev1.Node){only("nvidia.com/gpu.workload.config", "vm-vgpu"),
		resourcesOf("nvidia.com/NVIDIA_A10-12Q", "4")}, "nvidia.com/NVIDIA_A10-12Q",
		Kind{Unit: VMDevice, Model: "NVIDIA-A10-12Q"}, unknown, -1},
	"KubeVirt's passthrough": {[]func(*corev1.Node){only(), resourcesOf("nvidia.com/GA102GL_A10", "2")},
		"nvidia.com/GA102GL_A10", Kind{Unit: VMDevice, Model: "GA102GL_A10"}, unknown, -1},
	"a site's own name for machines": {[]func(*corev1.Node){only("nvidia.com/gpu.workload.config", "vm-passthrough"),
		resourcesOf("nvidia.com/a10", "2")}, "nvidia.com/a10",
		Kind{Unit: VMDevice, Model: "a10"}, unknown, -1},
	"HAMi": {[]func(*corev1.Node){only("gpu", "on"), resourcesOf(gpu, "40"),
		annotate(`[{"id":"GPU-1"},{"id":"GPU-2"},{"id":"GPU-3"},{"id":"GPU-4"}]`)}, gpu, Kind{Unit: Share, Replicas: 10},
		memory, 4},
	"HAMi before 2.7": {[]func(*corev1.Node){only("gpu", "on"), resourcesOf(gpu, "20"),
		annotate("GPU-1,10,32768,100,NVIDIA-V100,0,true:GPU-2,10,32768,100,NVIDIA-V100,0,true:")}, gpu,
		Kind{Unit: Share, Replicas: 10}, memory, 2},
	"HAMi with a register that is none": {[]func(*corev1.Node){only("gpu", "on"), resourcesOf(gpu, "20"), annotate("[")},
		gpu, Kind{Unit: Share}, memory, -1},
	"HAMi's memory": {[]func(*corev1.Node){only(), resourcesOf("nvidia.com/gpumem", "65536")}, "nvidia.com/gpumem",
		Kind{Unit: Quantity}, unknown, -1},
	"Volcano": {[]func(*corev1.Node){only(), resourcesOf("volcano.sh/vgpu-number", "40")},
		"volcano.sh/vgpu-number", Kind{Unit: Share}, unknown, -1},
	"Volcano's memory": {[]func(*corev1.Node){only(), resourcesOf("volcano.sh/vgpu-memory", "40")},
		"volcano.sh/vgpu-memory", Kind{Unit: Quantity}, unknown, -1},
	"Tencent": {[]func(*corev1.Node){only(), resourcesOf("tencent.com/vcuda-core", "400")},
		"tencent.com/vcuda-core", Kind{Unit: Quantity}, unknown, 4},
	"Alibaba": {[]func(*corev1.Node){only(), resourcesOf("aliyun.com/gpu-mem", "60", "aliyun.com/gpu-count",
		"4")}, "aliyun.com/gpu-mem", Kind{Unit: Quantity}, unknown, 4},
	"Alibaba's percent": {[]func(*corev1.Node){only(), resourcesOf("aliyun.com/gpu-core.percentage", "400")},
		"aliyun.com/gpu-core.percentage", Kind{Unit: Quantity}, unknown, -1},
	"OrionX": {[]func(*corev1.Node){only(), resourcesOf("virtaitech.com/gpu", "16")}, "virtaitech.com/gpu",
		Kind{Unit: Share}, unknown, -1},
	"Bitfusion": {[]func(*corev1.Node){only(), resourcesOf("bitfusion.io/gpu-amount", "8")},
		"bitfusion.io/gpu-amount", Kind{Unit: Share}, unknown, -1},
	"Bitfusion's memory": {[]func(*corev1.Node){only(), resourcesOf("bitfusion.io/gpu-memory", "8")},
		"bitfusion.io/gpu-memory", Kind{Unit: Quantity}, unknown, -1},
	"DAS": {[]func(*corev1.Node){only(), resourcesOf("mig.das.com/mig-1g.5gb", "7")}, "mig.das.com/mig-1g.5gb",
		Kind{Unit: Slice, Profile: "1g.5gb"}, unknown, -1},
	"AMD": {[]func(*corev1.Node){only("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM",
		"amd.com/compute-memory-partition", "spx_nps1"), resourcesOf("amd.com/gpu", "8")}, "amd.com/gpu",
		Kind{Unit: Card, Model: "AMD_Instinct_MI300X_OAM"}, hard, 8},
	"AMD, partitioned": {[]func(*corev1.Node){only("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM",
		"amd.com/compute-memory-partition", "cpx_nps4"), resourcesOf("amd.com/gpu", "64")}, "amd.com/gpu",
		Kind{Unit: Slice, Model: "AMD_Instinct_MI300X_OAM", Profile: "cpx_nps4"}, unknown, -1},
	"AMD, names by mode": {[]func(*corev1.Node){only("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),
		resourcesOf("amd.com/cpx_nps1", "64")}, "amd.com/cpx_nps1",
		Kind{Unit: Slice, Model: "AMD_Instinct_MI300X_OAM", Profile: "cpx_nps1"}, unknown, -1},
	"AMD before partitions": {[]func(*corev1.Node){only("amd.com/gpu.product-name", "AMD_Instinct_MI210"),
		resourcesOf("amd.com/gpu", "4")}, "amd.com/gpu", Kind{Unit: Card, Model: "AMD_Instinct_MI210"}, unknown, 4},
	"AMD without labels": {[]func(*corev1.Node){only(), resourcesOf("amd.com/gpu", "8")}, "amd.com/gpu", Kind{Unit: Card},
		unknown, -1},
	"Intel": {[]func(*corev1.Node){only("gpu.intel.com/product", "Max_1550", "gpu.intel.com/device.count", "2"),
		resourcesOf("gpu.intel.com/xe", "2")}, "gpu.intel.com/xe",
		Kind{Unit: Card, Model: "Max_1550"}, unknown, 2}, // -shared-dev-num shows nowhere
	"Intel's monitoring": {[]func(*corev1.Node){only(), resourcesOf("gpu.intel.com/xe_monitoring", "1")},
		"gpu.intel.com/xe_monitoring", Kind{Unit: Other}, unknown, -1},
	"Gaudi": {[]func(*corev1.Node){only(), resourcesOf("habana.ai/gaudi", "8")},
		"habana.ai/gaudi", Kind{Unit: Card}, hard, 8},
	"a network": {[]func(*corev1.Node){wholeCard, resourcesOf(gpu, "1", "rdma/hca_a", "63")},
		"rdma/hca_a", Kind{Unit: Network, Model: "NVIDIA-L40S"}, unknown, 1},
	"GKE": {[]func(*corev1.Node){
		only("cloud.google.com/gke-accelerator", "nvidia-l4", "cloud.google.com/gke-accelerator-count", "4"),
		resourcesOf(gpu, "4")}, gpu, Kind{Unit: Card, Model: "nvidia-l4"}, unknown, 4},
	"another vendor's share of memory": {[]func(*corev1.Node){only(), resourcesOf("hygon.com/dcumem", "64")},
		"hygon.com/dcumem", Kind{Unit: Quantity}, unknown, -1},
}

func annotate(register string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{hamiRegister: register} }
}

func built(change ...func(*corev1.Node)) Node {
	return Build("main", now, Objects{Nodes: []*corev1.Node{mixedNode(change...)}}, ours).Nodes[0]
}

func TestWhatAResourceIs(t *testing.T) {
	for name, c := range looks {
		t.Run(name, func(t *testing.T) {
			n := built(c.node...)
			if diff := cmp.Diff(c.kind, KindOf(n, c.resource)); diff != "" {
				t.Errorf("kind (-want +got)\n%s", diff)
			}
			if got := Isolation(n, c.resource); got != c.isolation {
				t.Errorf("isolation: want %s, got %s", c.isolation, got)
			}
			if want := (Cards{Count: max(0, c.cards), Known: c.cards >= 0}); !cmp.Equal(want, n.Cards) {
				t.Errorf("cards: want %+v, got %+v", want, n.Cards)
			}
			for _, r := range n.Resources {
				if r.NotForPods != (KindOf(n, r.Name).Unit == VMDevice) {
					t.Errorf("%s is not for pods: %v", r.Name, r.NotForPods)
				}
			}
		})
	}
}

// Each unit that the tables name is in the list, and has words in each language.
func TestUnitsHaveWords(t *testing.T) {
	listed := map[Unit]bool{}
	texts := i18n.MustLoad()
	for _, u := range Units() {
		listed[u] = true
		for _, lang := range []string{"en", "de"} {
			if said := texts.For(lang).Say(u.Word()); said == "" || said == u.Word().ID {
				t.Errorf("%s has no word in %s", u, lang)
			}
		}
	}
	for _, row := range namings {
		if !listed[row.unit] {
			t.Errorf("%s is not listed", row.unit)
		}
	}
	for _, u := range deviceTypes {
		if !listed[u] {
			t.Errorf("%s is not listed", u)
		}
	}
}

func TestWhatADeviceIs(t *testing.T) {
	several, vfio := card(1), card(2)
	several.AllowMultipleAllocations = ptr(true)
	vfio.Attributes["type"] = word("vfio")
	odd := card(3)
	odd.Attributes["parentUUID"] = word("GPU-0")
	strange := card(4)
	strange.Attributes["type"] = word("dpu")
	cases := map[string]struct {
		device    resourcev1.Device
		kind      Kind
		isolation catalog.Isolation
	}{
		"a card": {card(0), Kind{Unit: Card, Model: "NVIDIA-H100-80GB-HBM3"}, hard},
		"a slice": {cut(0, "1g.10gb", 0, 1), Kind{Unit: Slice, Model: "NVIDIA-H100-80GB-HBM3",
			Profile: "1g.10gb"}, hard},
		"for several claims":   {several, Kind{Unit: Share, Model: "NVIDIA-H100-80GB-HBM3"}, unknown},
		"for machines":         {vfio, Kind{Unit: VMDevice, Model: "NVIDIA-H100-80GB-HBM3"}, unknown},
		"a card with a parent": {odd, Kind{Unit: Card, Model: "NVIDIA-H100-80GB-HBM3"}, unknown},
		"something else":       {strange, Kind{Unit: Other, Model: "NVIDIA-H100-80GB-HBM3"}, unknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := Build("main", now, Objects{Nodes: []*corev1.Node{draNode("n1")},
				Slices: []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, c.device)}}, ours).Nodes[0]
			if diff := cmp.Diff(c.kind, KindOfDevice(n.Devices[0])); diff != "" {
				t.Errorf("kind (-want +got)\n%s", diff)
			}
			if got := IsolationOfDevice(n, n.Devices[0]); got != c.isolation {
				t.Errorf("isolation: want %s, got %s", c.isolation, got)
			}
			twice := Build("main", now, Objects{Nodes: []*corev1.Node{mixedNode(wholeCard)},
				Slices: []*resourcev1.ResourceSlice{draSlice("n1", 1, 1, c.device)}}, ours).Nodes[0]
			if got := IsolationOfDevice(twice, twice.Devices[0]); got != unknown {
				t.Errorf("advertised twice: got %s", got)
			}
			if got := Isolation(twice, gpu); got != unknown {
				t.Errorf("the resource of a card that is advertised twice: got %s", got)
			}
		})
	}
}

// rank orders the levels; unknown is never better than anything.
var rank = map[catalog.Isolation]int{unknown: 0, none: 1, memory: 2, hard: 3}

// words are values that labels about sharing take somewhere.
var words = map[string][]string{
	".replicas": {"0", "1", "2", "4", "x", "-1", ""}, ".sharing-strategy": {"none", "time-slicing", "mps", "", "other"},
	".count": {"0", "1", "2", "7", "8", "14", "x"},
	".product": {"NVIDIA-L40S", "NVIDIA-L40S-SHARED", "NVIDIA-A40-12Q", "NVIDIA-H100XM-1-10C",
		"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "NVIDIA-H100-80GB-HBM3-MIG-INVALID", ""},
}

var alarms = map[string][]string{
	"nvidia.com/mig.config.state": {"pending", "rebooting", "failed", "?"}, "nvidia.com/gpu.workload.config": {"vm-vgpu",
		"vm-passthrough"},
	"nvidia.com/mig.strategy": {"single", "mixed", "none", ""}, "nvidia.com/mig.capable": {"true", "false", ""},
	"nvidia.com/mps.capable":  {"true", "false", ""},
	"nvidia.com/vgpu.present": {"true", "false", ""}, "amd.com/compute-memory-partition": {"cpx_nps4", "spx_nps4", ""},
}

// contradict gives every change of one label that a node may suffer.
func contradict(resource string, try func(key, value string)) {
	for key, values := range alarms {
		for _, v := range values {
			try(key, v)
		}
	}
	for _, prefix := range []string{"nvidia.com/gpu", strings.TrimSuffix(resource, ".shared")} {
		for suffix, values := range words {
			for _, v := range values {
				try(prefix+suffix, v)
			}
		}
	}
}

// Whatever single label is changed or added on a node whose labels agree, the level does not get better.
func TestContradictionsNeverImproveIsolation(t *testing.T) {
	weaker := 0
	for name, c := range looks {
		if c.isolation == unknown {
			continue
		}
		before := Isolation(built(c.node...), c.resource)
		contradict(c.resource, func(key, value string) {
			after := Isolation(built(append(c.node[:len(c.node):len(c.node)], label(key, value))...), c.resource)
			if is, _ := hardware.VGPUType(value); is && c.kind.Unit == VirtualCard {
				return // another type of vGPU is no contradiction
			}
			if rank[after] > rank[before] {
				t.Errorf("%s: %s=%s makes %s of %s", name, key, value, after, before)
			}
			if after != before {
				weaker++
			}
		})
	}
	if weaker == 0 {
		t.Error("no contradiction was noticed")
	}
}

// On top of that, labels that only ever mean trouble make nothing better on nodes of any look, agreeing or not.
func FuzzTroubleNeverImprovesIsolation(f *testing.F) {
	f.Add("NVIDIA-L40S-SHARED", "time-slicing", "4", "true", uint8(0))
	f.Add("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "none", "1", "false", uint8(1))
	f.Add("NVIDIA-A40-12Q", "none", "1", "true", uint8(2))
	f.Fuzz(func(t *testing.T, product, strategy, replicas, vgpu string, which uint8) {
		look := []func(*corev1.Node){wholeCard, label("nvidia.com/gpu.product", product, "nvidia.com/gpu.sharing-strategy",
			strategy, "nvidia.com/gpu.replicas", replicas, "nvidia.com/vgpu.present", vgpu)}
		trouble := [][2]string{{"nvidia.com/mig.config.state", "failed"}, {"nvidia.com/gpu.workload.config", "vm-vgpu"},
			{"nvidia.com/gpu.product", "NVIDIA-L40S-MIG-INVALID"}, {"nvidia.com/gpu.count", "77"}}[which%4]
		for _, r := range []string{gpu, gpu + ".shared"} {
			before, after := Isolation(built(look...), r), Isolation(built(append(look, label(trouble[0], trouble[1]))...), r)
			if rank[after] > rank[before] || which%4 != 3 && after != unknown {
				t.Errorf("%s: %s=%s makes %s of %s", r, trouble[0], trouble[1], after, before)
			}
		}
	})
}

func TestParseProduct(t *testing.T) {
	cases := map[string]Product{
		"":                               {},
		"NVIDIA-L40S":                    {Card: "NVIDIA-L40S"},
		"Tesla-T4-SHARED":                {Card: "Tesla-T4", Shared: true},
		"NVIDIA-H100-NVL-MIG-1g.12gb":    {Card: "NVIDIA-H100-NVL", Profile: "1g.12gb"},
		"NVIDIA-GB200-MIG-1g.24gb-me":    {Card: "NVIDIA-GB200", Profile: "1g.24gb-me"},
		"A100-MIG-3g.20gb-SHARED":        {Card: "A100", Profile: "3g.20gb", Shared: true},
		"NVIDIA-A100-MIG-INVALID":        {Card: "NVIDIA-A100", Invalid: true},
		"NVIDIA-A100-MIG-INVALID-SHARED": {Card: "NVIDIA-A100", Invalid: true, Shared: true},
		"-MIG-1g.5gb":                    {Card: "-MIG-1g.5gb"},
	}
	for value, want := range cases {
		if got := ParseProduct(value); got != want {
			t.Errorf("%q: want %+v, got %+v", value, want, got)
		}
	}
}

// shared reads one of the catalog's tables of facts about hardware.
func shared(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../hardware/testdata/" + name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every vGPU type that the GPU operator knows is recognised, as the product of a virtual machine and as KubeVirt's
// resource.
func TestKnownVGPUTypes(t *testing.T) {
	var facts struct {
		Types []struct {
			Type   string `json:"type"`
			Slices int    `json:"mig_slices"`
		} `json:"types"`
	}
	shared(t, "vgpu-types.json", &facts)
	if len(facts.Types) < 500 {
		t.Fatalf("only %d types were read", len(facts.Types))
	}
	for _, v := range facts.Types {
		if is, mig := hardware.VGPUType("NVIDIA-" + v.Type); !is || mig != (v.Slices > 0) {
			t.Errorf("%s: is a vGPU %v, backed by MIG %v, want %d slices", v.Type, is, mig, v.Slices)
		}
		if k := KindOf(Node{}, "nvidia.com/NVIDIA_"+v.Type); k.Unit != VMDevice || k.Model != "NVIDIA-"+v.Type {
			t.Errorf("%s for machines: got %+v", v.Type, k)
		}
	}
}

// No card is mistaken for a vGPU, and its name survives every mark.
func TestKnownCards(t *testing.T) {
	var facts struct {
		GPUs []struct {
			Vendor  string `json:"vendor"`
			Product string `json:"gfd_product"`
		} `json:"gpus"`
	}
	shared(t, "gpus.json", &facts)
	seen := 0
	for _, g := range facts.GPUs {
		if g.Vendor != "nvidia" || g.Product == "" {
			continue
		}
		seen++
		if is, _ := hardware.VGPUType(g.Product); is {
			t.Errorf("%s is taken for a vGPU", g.Product)
		}
		for suffix, want := range map[string]Product{"": {}, "-SHARED": {Shared: true}, "-MIG-1g.10gb": {Profile: "1g.10gb"},
			"-MIG-1g.10gb-SHARED": {Profile: "1g.10gb", Shared: true}, "-MIG-INVALID": {Invalid: true}} {
			want.Card = g.Product
			if got := ParseProduct(g.Product + suffix); got != want {
				t.Errorf("%s%s: got %+v", g.Product, suffix, got)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d cards were read", seen)
	}
}

// Every profile of every card keeps its name through resource and label: a plus sign becomes a dot.
func TestKnownProfiles(t *testing.T) {
	var facts struct {
		GPUs []struct {
			ID       string `json:"id"`
			Profiles []struct {
				Name string `json:"name"`
			} `json:"profiles"`
		} `json:"gpus"`
	}
	shared(t, "mig.json", &facts)
	seen := 0
	for _, g := range facts.GPUs {
		for _, p := range g.Profiles {
			seen++
			name := strings.ReplaceAll(p.Name, "+", ".")
			if k := KindOf(Node{}, "nvidia.com/mig-"+name); k.Unit != Slice || k.Profile != name {
				t.Errorf("%s %s: got %+v", g.ID, p.Name, k)
			}
			if k := KindOf(Node{}, "nvidia.com/mig-"+name+".shared"); k.Unit != Share || k.Profile != name {
				t.Errorf("%s %s, shared: got %+v", g.ID, p.Name, k)
			}
			if got := ParseProduct("X-MIG-" + name); got.Profile != name {
				t.Errorf("%s %s as a product: got %+v", g.ID, p.Name, got)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d profiles were read", seen)
	}
}
