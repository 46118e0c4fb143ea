package nodes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Every row of the table must be a node that the API server takes and that could exist.
func TestEveryKind(t *testing.T) {
	for _, n := range ForCount(len(Kinds())) {
		t.Run(n.Kind.Pool, func(t *testing.T) {
			node, err := Build(n)
			if err != nil {
				t.Fatal(err)
			}
			for key, value := range node.Labels {
				problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
				if problems != nil {
					t.Errorf("label %s=%s: %v", key, value, problems)
				}
			}
			for resource := range node.Status.Allocatable {
				if problems := validation.IsQualifiedName(string(resource)); problems != nil {
					t.Errorf("resource %s: %v", resource, problems)
				}
			}
			kind, layout, err := Read(node)
			if err != nil || kind.Pool != n.Kind.Pool {
				t.Fatalf("want to read %s back, got %s, %v", n.Kind.Pool, kind.Pool, err)
			}
			checkDevices(t, kind, n.Name, layout)
		})
	}
}

func checkDevices(t *testing.T, k Kind, name string, layout Layout) {
	t.Helper()
	seen := map[string]bool{}
	for _, d := range k.Devices(name, layout) {
		if seen[d.ID] {
			t.Errorf("device %s is there twice", d.ID)
		}
		seen[d.ID] = true
		if d.GPU >= k.GPUs {
			t.Errorf("device %s is on GPU %d of %d", d.ID, d.GPU, k.GPUs)
		}
	}
}

func TestWhatNodesLookLike(t *testing.T) {
	cases := map[string]struct {
		pool      string
		resources map[string]int64
		labels    map[string]string
	}{
		"balanced H100 under the mixed strategy": {"h100-mig",
			map[string]int64{"nvidia.com/mig-1g.10gb": 16, "nvidia.com/mig-2g.20gb": 8, "nvidia.com/mig-3g.40gb": 8,
				"nvidia.com/gpu": 0},
			map[string]string{"nvidia.com/mig.strategy": "mixed", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "0",
				"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-1g.10gb.count": "16",
				"nvidia.com/mig-1g.10gb.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "nvidia.com/mig.config.state": "success"}},
		"one card left whole beside slices": {"h100-mig-custom",
			map[string]int64{"nvidia.com/mig-1g.10gb": 27, "nvidia.com/mig-1g.10gb.me": 1, "nvidia.com/mig-3g.40gb": 5,
				"nvidia.com/mig-4g.40gb": 1, "nvidia.com/gpu": 1}, nil},
		"A100 under the single strategy": {"a100-mig-single", map[string]int64{"nvidia.com/gpu": 56},
			map[string]string{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/gpu.count": "56",
				"nvidia.com/gpu.memory": "4864", "nvidia.com/gpu.slices.gi": "1"}},
		"shared in time under another name": {"l40s-shared", map[string]int64{"nvidia.com/gpu.shared": 16,
			"nvidia.com/gpu": 0},
			map[string]string{"nvidia.com/gpu.product": "NVIDIA-L40S", "nvidia.com/gpu.replicas": "4",
				"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.count": "4"}},
		"shared in time under the same name": {"t4-shared", map[string]int64{"nvidia.com/gpu": 16},
			map[string]string{"nvidia.com/gpu.product": "Tesla-T4-SHARED"}},
		"MPS": {"l40s-mps", map[string]int64{"nvidia.com/gpu": 16},
			map[string]string{"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps"}},
		"slices shared in time": {"a100-mig-shared", map[string]int64{"nvidia.com/mig-3g.20gb.shared": 32},
			map[string]string{"nvidia.com/mig-3g.20gb.replicas": "2", "nvidia.com/gpu.replicas": "0"}},
		"vGPU": {"a40-vgpu", map[string]int64{"nvidia.com/gpu": 4},
			map[string]string{"nvidia.com/vgpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-A40-12Q",
				"nvidia.com/mig.capable": "false"}},
		"vGPU shared in time": {"a40-vgpu-shared", map[string]int64{"nvidia.com/gpu.shared": 8, "nvidia.com/gpu": 0},
			map[string]string{"nvidia.com/vgpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-A40-12Q",
				"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}},
		"DRA": {"h100-dra", map[string]int64{"nvidia.com/gpu": 0},
			map[string]string{"feature.node.kubernetes.io/pci-10de.present": "true",
				"nvidia.com/gpu.product": ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kind, _ := FindKind(c.pool)
			node, err := Build(Named{Name: c.pool + "-01", Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			for resource, want := range c.resources {
				quantity := node.Status.Allocatable[corev1.ResourceName(resource)]
				if got := quantity.Value(); got != want {
					t.Errorf("%s: want %d, got %d", resource, want, got)
				}
			}
			for label, want := range c.labels {
				if got := node.Labels[label]; got != want {
					t.Errorf("%s: want %q, got %q", label, want, got)
				}
			}
		})
	}
}

func TestSingleStrategyNeedsAlikeGPUs(t *testing.T) {
	kind, _ := FindKind("a100-mig-single")
	layout, err := kind.Layout()
	if err != nil {
		t.Fatal(err)
	}
	layout[3] = nil
	if got := kind.Devices("n", layout); len(got) != 0 {
		t.Errorf("want no devices, got %d", len(got))
	}
	if got := kind.AllLabels("n", layout)["nvidia.com/gpu.product"]; !strings.HasSuffix(got, "-MIG-INVALID") {
		t.Errorf("want an invalid product, got %q", got)
	}
}

func TestDefaultWorldHasTwelveKinds(t *testing.T) {
	pools := map[string]bool{}
	for _, n := range ForCount(12) {
		pools[n.Kind.Pool] = true
	}
	if want := 12; len(pools) != want {
		t.Errorf("want %d pools, got %d", want, len(pools))
	}
	if n := ForCount(30)[29]; n.Name != "h100-mig-02" {
		t.Errorf("want the table to begin again with h100-mig-02, got %s", n.Name)
	}
}

func TestSliceNamesDevicesAsTheDriverDoes(t *testing.T) {
	kind, _ := FindKind("h100-dra")
	layout, err := kind.Layout()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range kind.Slice("n", layout, nil).Spec.Devices {
		names = append(names, d.Name)
	}
	want := "gpu-0 gpu-1 gpu-2-mig-2g20gb-14-0 gpu-2-mig-1g10gb-19-2 gpu-2-mig-1g10gb-19-3 gpu-2-mig-3g40gb-9-4 " +
		"gpu-3-mig-3g40gb-9-0 gpu-3-mig-3g40gb-9-4"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("want %s\n got %s", want, got)
	}
}

// Cards of one NVLink partition publish one number for its size; the PCIe root joins others.
func TestSliceNamesPartitionsAsTheDriverDoes(t *testing.T) {
	kind, _ := FindKind("h100-dra-nvlink")
	layout, err := kind.Layout()
	if err != nil {
		t.Fatal(err)
	}
	pairs, roots := map[int64]string{}, map[string]string{}
	for _, d := range kind.Slice("n", layout, nil).Spec.Devices {
		pairs[*d.Attributes["partition2"].IntValue] += d.Name + " "
		roots[*d.Attributes["resource.kubernetes.io/pcieRoot"].StringValue] += d.Name + " "
		if *d.Attributes["partition4"].IntValue != 1 || *d.Attributes["gpuModuleID"].IntValue < 1 {
			t.Errorf("%s: %+v", d.Name, d.Attributes)
		}
	}
	if len(pairs) != 2 || pairs[2] != "gpu-0 gpu-2 " || pairs[3] != "gpu-1 gpu-3 " {
		t.Errorf("pairs by NVLink: %v", pairs)
	}
	for root, names := range roots {
		if names == pairs[2] || names == pairs[3] {
			t.Errorf("the PCIe root %s joins what NVLink joins: %s", root, names)
		}
	}
	plain, _ := FindKind("h100-dra")
	layout, _ = plain.Layout()
	for _, d := range plain.Slice("n", layout, nil).Spec.Devices {
		if _, has := d.Attributes["partition2"]; has {
			t.Errorf("%s has partitions without the feature gate", d.Name)
		}
	}
}
