package capacity

import (
	"math"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// TestShareOfACard: prices, card-hours and budgets follow the share, so that it must be that of the card and not of a
// slice. Known answers: compute slices by NVIDIA's MIG user guide, memory of boards by their largest vGPU type.
func TestShareOfACard(t *testing.T) {
	sliced := func(product, replicas, strategy string) map[string]string {
		return gfd(product, "4864", "nvidia.com/gpu.replicas", replicas, "nvidia.com/gpu.sharing-strategy", strategy,
			"nvidia.com/mig.strategy", "single", "nvidia.com/mig.capable", "true")
	}
	guest := func(board string) map[string]string {
		return gfd("NVIDIA-"+board, "8192", "nvidia.com/vgpu.present", "true")
	}
	for sentence, c := range map[string]struct {
		labels   map[string]string
		resource string
		share    float64 // 0: none can be told
		profile  string
	}{
		"four turns on one of seven slices": {sliced("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "4", "time-slicing"),
			"nvidia.com/gpu", 1. / 28, "mig-1g.5gb"},
		"the same under another name": {sliced("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "4", "time-slicing"),
			"nvidia.com/gpu.shared", 1. / 28, "mig-1g.5gb"},
		"two turns on three of seven": {sliced("NVIDIA-H100-80GB-HBM3-MIG-3g.40gb-SHARED", "2", "time-slicing"),
			"nvidia.com/gpu", 3. / 14, "mig-3g.40gb"},
		"a slice of an RTX PRO 5000 is half of it": {sliced("NVIDIA-RTX-PRO-5000-Blackwell-MIG-1g.24gb", "1", "none"),
			"nvidia.com/gpu", .5, "1g.24gb"},
		"of an RTX PRO 4500 as well": {sliced("NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition-MIG-1g.16gb", "1", "none"),
			"nvidia.com/gpu", .5, "1g.16gb"},
		"of an RTX PRO 6000 a fourth": {sliced("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition-MIG-1g.24gb", "1", "none"),
			"nvidia.com/gpu", .25, "1g.24gb"},
		"a vGPU of 20 GB of 94":       {guest("H800L-23C"), "nvidia.com/gpu", 23. / 94, "H800L-23C"},
		"a slice with media engines":  {guest("H100XM-1-10CME"), "nvidia.com/gpu", 10. / 80, "H100XM-1-10CME"},
		"a graphics slice":            {guest("DC-1-24QGFX"), "nvidia.com/gpu", 24. / 96, "DC-1-24QGFX"},
		"a type that two cards have":  {guest("DC-1-16Q"), "nvidia.com/gpu", 0, "DC-1-16Q"},
		"a board that nobody knows":   {guest("Z9-8Q"), "nvidia.com/gpu", 0, "Z9-8Q"},
		"a vGPU of an RTX 8000":       {guest("RTX8000P-12Q"), "nvidia.com/gpu", .25, "RTX8000P-12Q"},
		"a vGPU of an RTX 5880 (Ada)": {guest("RTX5880-Ada-24Q"), "nvidia.com/gpu", .5, "RTX5880-Ada-24Q"},
	} {
		n := machine("n1", c.labels, map[string]int64{c.resource: 8})
		n.Labels["nvidia.com/gpu.count"] = "8"
		u, ok := unitOf(&n, inventory.Resource{Name: c.resource, Capacity: 8, Allocatable: 8})
		if !ok || math.Abs(u.share-c.share) > 1e-6 && u.problem.IsZero() || u.profile != c.profile ||
			u.problem.IsZero() == (c.share == 0) {
			t.Errorf("%s: want %.6f of %s, got %+v", sentence, c.share, c.profile, u)
		}
	}
}

// TestEveryBoardHasItsMemory: what the catalog knows of boards, capacity counts by.
func TestEveryBoardHasItsMemory(t *testing.T) {
	for board, gb := range map[string]float64{"V100L": 16, "V100S": 32, "RTX5000-Ada": 32, "L2": 24, "RTX6000P": 24,
		"L20": 48, "RTX5880-Ada": 48, "RTX8000P": 48, "A800": 40, "A800D": 80, "A800DX": 80, "H800": 80, "H800XM": 80,
		"H800L": 94, "H100XS": 64, "H20X": 141, "GB200": 189, "B300X": 269, "6000D": 84, "DC": 96,
		"A100": 40, "A100D": 80, "H100L": 94, "L40S": 48, "T4": 16, "RTX6000-Ada": 48, "GH200L": 144, "A16": 16} {
		if got, known := hardware.BoardMemory(board, board+"-1-4C"); !known || got != gb {
			t.Errorf("%s: want %g GB, got %g", board, gb, got)
		}
		if strings.Contains(board, "-Ada") {
			continue
		}
		if is, _ := hardware.VGPUType("NVIDIA-" + board + "-4Q"); !is {
			t.Errorf("%s-4Q is no vGPU type", board)
		}
	}
}
