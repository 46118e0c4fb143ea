package inventory

import (
	"path"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Unit is what one of a resource is. Units are never added to each other.
type Unit string

// The units.
const (
	Card        Unit = "card"     // a whole physical card
	Slice       Unit = "slice"    // a part of a card with memory and compute of its own
	Share       Unit = "share"    // a turn on a card or slice that others use as well
	VirtualCard Unit = "vgpu"     // a vGPU in a virtual machine; how many make a card only the hypervisor knows
	VMDevice    Unit = "vm"       // a device for virtual machines, not offered to pods
	Quantity    Unit = "quantity" // memory, percent of compute, hundredths: an amount and no device
	Network     Unit = "network"
	Other       Unit = "other" // an accelerator's resource of which no more is known
)

// Units are all of them, in the order in which a page shows them.
func Units() []Unit {
	return []Unit{Card, Slice, Share, VirtualCard, VMDevice, Quantity, Network, Other}
}

// Word says to people what one of the unit is.
func (u Unit) Word() i18n.Text { return i18n.T("inventory.unit_" + string(u)) }

// Kind says what a resource of a node, or a device of a driver, is.
type Kind struct {
	Unit    Unit   `json:"unit"`
	Model   string `json:"model"`             // the card: "NVIDIA-H100-80GB-HBM3", without marks of slices and sharing
	Profile string `json:"profile,omitempty"` // of a slice or of shares of one: "1g.10gb"
	// how many shares a card or slice gives; 0 where it is not shared or not known
	Replicas int64 `json:"replicas,omitempty"`
}

// naming tells a kind from the name of a resource. The first row that matches counts; sources are the fact sheets of
// the systems.
type naming struct {
	pattern string // path.Match
	unit    Unit
	refine  func(n Node, resource string, k *Kind)
}

var namings = []naming{
	{"nvidia.com/gpu", Card, nvidiaGPU},
	{"nvidia.com/gpu.shared", Share, shares("nvidia.com/gpu")},
	{"nvidia.com/mig-*.shared", Share, sharedSlice},
	{"nvidia.com/mig-*", Slice, migSlice},
	{"nvidia.com/gpumem*", Quantity, nil}, // HAMi
	{"nvidia.com/gpucores", Quantity, nil},
	{"nvidia.com/priority", Quantity, nil},
	{"nvidia.com/*", Other, forMachines},
	{"mig.das.com/*", Slice, func(_ Node, resource string, k *Kind) {
		k.Profile = strings.TrimPrefix(path.Base(resource), "mig-")
	}},
	{"amd.com/gpu", Card, amdGPU},
	{"amd.com/[sdtqc]px_nps[1-8]", Slice, amdPartition},
	{"gpu.intel.com/*_monitoring", Other, nil},
	{"gpu.intel.com/xe", Card, nil},
	{"gpu.intel.com/i915", Card, nil},
	{"gpu.intel.com/*", Quantity, nil}, // millicores, memory.max, tiles
	{"habana.ai/gaudi*", Card, nil},
	{"rdma/*", Network, nil},
	{"volcano.sh/vgpu-number", Share, nil},
	{"volcano.sh/*", Quantity, nil},
	{"aliyun.com/gpu-count", Card, nil},
	{"tencent.com/*", Quantity, nil},
	{"aliyun.com/*", Quantity, nil},
	{"virtaitech.com/gpu", Share, nil},
	{"bitfusion.io/gpu-*m*", Quantity, bitfusionCount},
	{"bitfusion.io/*", Quantity, nil},
	{"aws.amazon.com/neuroncore", Slice, nil},
	{"aws.amazon.com/neuron*", Card, nil},
	{"google.com/tpu", Card, nil},
	{"*/*mem*", Quantity, nil}, // what HAMi shares of other vendors: memory and cores stand beside the count
	{"*/*core*", Quantity, nil},
	{"*/*vgpu*", Share, nil},
}

// KindOf says what one of a resource is on a node. It believes labels no further than their meaning goes; what it
// cannot tell is Other.
func KindOf(n Node, resource string) Kind {
	k := Kind{Unit: Other, Model: ParseProduct(n.Model).Card}
	for _, row := range namings {
		if ok, _ := path.Match(row.pattern, resource); ok {
			k.Unit = row.unit
			if row.refine != nil {
				row.refine(n, resource, &k)
			}
			break
		}
	}
	return k
}

func nvidiaGPU(n Node, resource string, k *Kind) {
	product := ParseProduct(n.Labels["nvidia.com/gpu.product"])
	k.Profile = product.Profile
	replicas := count(n.Labels, resource+".replicas")
	virtual, _ := hardware.VGPUType(product.Card)
	switch {
	case n.System == HAMi:
		k.Unit = Share
		if n.Cards.Known && n.Cards.Count > 0 {
			k.Replicas = n.capacity(resource) / n.Cards.Count
		}
	case product.Shared || replicas > 1:
		k.Unit, k.Replicas = Share, max(0, replicas)
	case product.Profile != "":
		k.Unit = Slice
	case n.Labels["nvidia.com/vgpu.present"] == "true" || virtual:
		k.Unit = VirtualCard
	}
}

func shares(prefix string) func(Node, string, *Kind) {
	return func(n Node, _ string, k *Kind) {
		k.Profile = ParseProduct(n.Labels["nvidia.com/gpu.product"]).Profile
		k.Replicas = max(0, count(n.Labels, prefix+".replicas"))
	}
}

func migSlice(n Node, resource string, k *Kind) {
	k.Profile = strings.TrimPrefix(resource, "nvidia.com/mig-")
	if replicas := count(n.Labels, resource+".replicas"); replicas > 1 {
		k.Unit, k.Replicas = Share, replicas
	}
}

func sharedSlice(n Node, resource string, k *Kind) {
	slice := strings.TrimSuffix(resource, ".shared")
	k.Profile, k.Replicas = strings.TrimPrefix(slice, "nvidia.com/mig-"), max(0, count(n.Labels, slice+".replicas"))
}

// VGPUs are how many vGPUs the node has, and of which type: "A40-12Q". 0 where it has none or does not say.
func (n Node) VGPUs() (kind string, vgpus int) {
	product := ParseProduct(n.Labels["nvidia.com/gpu.product"]).Card
	if virtual, _ := hardware.VGPUType(product); !virtual || n.Labels["nvidia.com/vgpu.present"] != "true" {
		return "", 0
	}
	return strings.TrimPrefix(product, "NVIDIA-"), int(max(0, count(n.Labels, "nvidia.com/gpu.count")))
}

// forMachines knows what KubeVirt hands to virtual machines: NVIDIA's plugins name it after the vGPU type or the PCI
// database, in capitals, and a node whose workload is "vm-…" serves nothing else.
func forMachines(n Node, resource string, k *Kind) {
	name := path.Base(resource)
	if name != strings.ToLower(name) || strings.HasPrefix(n.Labels["nvidia.com/gpu.workload.config"], "vm-") {
		k.Unit = VMDevice
		if is, _ := hardware.VGPUType(name); is {
			k.Model = strings.ReplaceAll(name, "_", "-")
		} else if k.Model == "" {
			k.Model = name
		}
	}
}

// amdGPU is a card only while every card is one partition (SPX); in the naming "single" partitions of all modes bear
// this name.
func amdGPU(n Node, _ string, k *Kind) {
	if mode := amdMode(n.Labels); mode != "" && !strings.HasPrefix(mode, "spx") {
		k.Unit, k.Profile = Slice, mode
	}
}

func amdPartition(_ Node, resource string, k *Kind) {
	if k.Profile = path.Base(resource); strings.HasPrefix(k.Profile, "spx") {
		k.Unit, k.Profile = Card, ""
	}
}

func amdMode(labels map[string]string) string {
	return strings.ToLower(labels["amd.com/compute-memory-partition"])
}

func bitfusionCount(_ Node, resource string, k *Kind) {
	if strings.HasSuffix(resource, "-amount") || strings.HasSuffix(resource, "-num") {
		k.Unit = Share
	}
}

func (n Node) capacity(resource string) int64 {
	for _, r := range n.Resources {
		if r.Name == resource {
			return r.Present()
		}
	}
	return 0
}

// count reads a label that is a number; -1 when it is none, or not there.
func count(labels map[string]string, key string) int64 {
	n, err := strconv.ParseInt(labels[key], 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// deviceTypes are the words that drivers use for what they publish: NVIDIA's attribute "type", AMD's.
var deviceTypes = map[string]Unit{
	"gpu": Card, "mig": Slice, "vfio": VMDevice, "amdgpu": Card, "amdgpu-partition": Slice,
}

// KindOfDevice says what a device of a DRA driver is.
func KindOfDevice(d Device) Kind {
	k := Kind{Unit: Other, Model: deviceModel(d), Profile: d.text("profile")}
	if unit, ok := deviceTypes[d.text("type")]; ok {
		k.Unit = unit
	}
	if k.Unit == Card && d.Multiple {
		k.Unit = Share
	}
	return k
}
