package nodes

import (
	"fmt"
	"slices"
	"sync"
)

// Strategies of the device plugin for MIG, and ways of sharing without it.
const (
	Single      = "single"
	Mixed       = "mixed"
	TimeSlicing = "time-slicing"
	MPS         = "mps"
)

// Kind is one row of the table: nodes bought and configured alike.
type Kind struct {
	Pool    string
	Model   *Model // nil: no NVIDIA GPU
	GPUs    int
	CPU     int
	MemGiB  int
	Machine string // nvidia.com/gpu.machine

	Strategy  string // of MIG; "" when MIG is off
	MIGConfig string // nvidia.com/mig.config
	Cut       [][]string

	Sharing  string
	Replicas int
	Renamed  bool // nvidia.com/gpu.shared instead of a -SHARED product

	VGPU bool // the node is a virtual machine with vGPUs
	// Fabric are the partitions of Fabric Manager on a machine with NVSwitch, as numbers of cards; the identifier of
	// one is its place and 1. nil: the driver's feature gate FabricManagerPartitioning is off.
	Fabric [][]int
	DRA    bool // devices come as ResourceSlices; no device plugin, no GFD, no MIG manager
	// Foreign: another system's device plugin owns the GPUs; only Extra is advertised.
	Foreign bool
	HAMi    bool // with HAMi's register of cards as an annotation

	Reserved bool // taint nvidia.com/gpu=present:NoSchedule
	Labels   map[string]string
	Taints   []string // key=value, NoSchedule
	Extra    map[string]int64
}

// Kinds is the table. The first twelve are the default world; more nodes bring the other kinds and then begin again.
// Nobody changes what it returns.
var Kinds = sync.OnceValue(func() []Kind { return slices.Concat(firstTwelve(), others()) })

func firstTwelve() []Kind {
	return []Kind{
		{Pool: "h100-mig", Model: H100, GPUs: 8, CPU: 192, MemGiB: 2048, Machine: "DGXH100",
			Strategy: Mixed, MIGConfig: "all-balanced", Cut: repeat(8, Balanced(H100)), Reserved: true},
		{Pool: "h100-mig-custom", Model: H100, GPUs: 8, CPU: 192, MemGiB: 2048, Machine: "DGXH100",
			Strategy: Mixed, MIGConfig: "notebooks-and-training", Cut: notebooksAndTraining(), Reserved: true},
		{Pool: "a100-mig-single", Model: A100, GPUs: 8, CPU: 128, MemGiB: 1024, Machine: "DGXA100-920-23687-2530-000",
			Strategy: Single, MIGConfig: "all-1g.5gb", Cut: repeat(8, times(7, "1g.5gb")), Reserved: true},
		{Pool: "l40s-shared", Model: L40S, GPUs: 4, CPU: 64, MemGiB: 512, Machine: "PowerEdge-R760xa",
			Sharing: TimeSlicing, Replicas: 4, Renamed: true},
		{Pool: "a40-vgpu", Model: A40Q, GPUs: 4, CPU: 32, MemGiB: 256, Machine: "VMware7-1", VGPU: true},
		{Pool: "h100-nvlink", Model: H100, GPUs: 8, CPU: 192, MemGiB: 2048, Machine: "DGXH100",
			Strategy: Mixed, MIGConfig: "all-disabled", Reserved: true},
		{Pool: "h100-rdma", Model: H100, GPUs: 8, CPU: 192, MemGiB: 2048, Machine: "DGXH100", Strategy: Mixed,
			MIGConfig: "all-disabled",
			Reserved:  true, Labels: map[string]string{
				"feature.node.kubernetes.io/pci-15b3.present": "true", "feature.node.kubernetes.io/rdma.available": "true",
				"feature.node.kubernetes.io/rdma.capable": "true", "network.nvidia.com/operator.mofed.wait": "false",
			}, Extra: map[string]int64{"rdma/hca_shared_devices_a": 63}},
		{Pool: "l40s-mps", Model: L40S, GPUs: 4, CPU: 64, MemGiB: 512, Machine: "PowerEdge-R760xa", Sharing: MPS,
			Replicas: 4},
		{Pool: "h100-dra", Model: H100, GPUs: 4, CPU: 96, MemGiB: 1024, DRA: true,
			Cut: [][]string{nil, nil, Balanced(H100), {"3g.40gb", "3g.40gb"}}},
		{Pool: "cpu", CPU: 64, MemGiB: 256},
		{Pool: "l4-spot", Model: L4, GPUs: 4, CPU: 48, MemGiB: 192, Machine: "Google-Compute-Engine", Reserved: true,
			Labels: map[string]string{
				"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-accelerator-count": "4",
				"cloud.google.com/gke-nodepool": "l4-spot", "cloud.google.com/gke-spot": "true",
				"cloud.google.com/gke-provisioning":       "spot",
				"cloud.google.com/gke-gpu-driver-version": "latest",
				"cloud.google.com/machine-family":         "g2",
				"node.kubernetes.io/instance-type":        "g2-standard-48",
				"topology.kubernetes.io/region":           "europe-west4",
				"topology.kubernetes.io/zone":             "europe-west4-a",
			}, Taints: []string{"cloud.google.com/gke-spot=true"}},
		{Pool: "mi300x", CPU: 192, MemGiB: 2048, Labels: map[string]string{
			"feature.node.kubernetes.io/pci-1002.present": "true", "feature.node.kubernetes.io/amd-gpu": "true",
			"amd.com/gpu.vram": "192G", "amd.com/gpu.cu-count": "304", "amd.com/gpu.family": "AI",
			"amd.com/gpu.device-id": "74a1", "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
			"amd.com/compute-memory-partition": "spx_nps1",
		}, Extra: map[string]int64{"amd.com/gpu": 8}},
	}
}

// notebooksAndTraining is a site's own layout: four cards for notebooks, one of them with the media engines on a slice,
// three for bigger work, one left whole.
func notebooksAndTraining() [][]string {
	return slices.Concat(
		repeat(3, times(7, "1g.10gb")),
		[][]string{append(times(6, "1g.10gb"), "1g.10gb+me")},
		repeat(2, times(2, "3g.40gb")),
		[][]string{{"4g.40gb", "3g.40gb"}, nil},
	)
}

// ForCount names n nodes: the table from the top, again and again, each round with the next number.
func ForCount(n int) []Named {
	kinds := Kinds()
	named := make([]Named, n)
	for i := range named {
		k := kinds[i%len(kinds)]
		named[i] = Named{Name: fmt.Sprintf("%s-%02d", k.Pool, i/len(kinds)+1), Number: i, Kind: k}
	}
	return named
}

// Named is a node of a kind. Number is its place in the world and decides its address.
type Named struct {
	Name   string
	Number int
	Kind   Kind
}

// FindKind finds a row of the table.
func FindKind(pool string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Pool == pool })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Layout places what the table cuts the GPUs into; the table is checked by a test, so an illegal row is a mistake of
// ours.
func (k Kind) Layout() (Layout, error) {
	layout := make(Layout, k.GPUs)
	for i, profiles := range k.Cut {
		if profiles == nil {
			continue
		}
		placed, err := Place(k.Model, profiles)
		if err != nil {
			return nil, fmt.Errorf("%s, GPU %d: %w", k.Pool, i, err)
		}
		layout[i] = placed
	}
	return layout, nil
}

func times(n int, profile string) []string { return slices.Repeat([]string{profile}, n) }

func repeat(n int, profiles []string) [][]string { return slices.Repeat([][]string{profiles}, n) }
