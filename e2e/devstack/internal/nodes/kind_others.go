package nodes

// others are the kinds beyond the default world: the remaining rows of what a size can be.
func others() []Kind {
	return []Kind{
		{Pool: "gaudi3", CPU: 160, MemGiB: 1024, Labels: map[string]string{
			"feature.node.kubernetes.io/pci-1da3.present": "true",
		}, Extra: map[string]int64{"habana.ai/gaudi": 8}},
		{Pool: "t4-shared", Model: T4, GPUs: 4, CPU: 48, MemGiB: 192, Machine: "g4dn.12xlarge",
			Sharing: TimeSlicing, Replicas: 4, Labels: map[string]string{
				"eks.amazonaws.com/nodegroup": "t4-shared", "eks.amazonaws.com/capacityType": "ON_DEMAND",
				"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4", "node.kubernetes.io/instance-type": "g4dn.12xlarge",
				"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1a",
			}},
		{Pool: "h100-vgpu-mig", Model: H100C, GPUs: 2, CPU: 24, MemGiB: 128, Machine: "VMware7-1", VGPU: true},
		{Pool: "a100-mig-shared", Model: A100, GPUs: 8, CPU: 128, MemGiB: 1024, Machine: "DGXA100-920-23687-2530-000",
			Strategy: Mixed, MIGConfig: "all-3g.20gb", Cut: repeat(8, times(2, "3g.20gb")), Reserved: true,
			Sharing: TimeSlicing, Replicas: 2, Renamed: true},
		{Pool: "a10-passthrough", Model: A10, GPUs: 2, CPU: 32, MemGiB: 256, Machine: "KVM", Labels: map[string]string{
			"feature.node.kubernetes.io/cpu-cpuid.HYPERVISOR": "true",
		}},
		{Pool: "a10-kubevirt", Model: A10, GPUs: 2, CPU: 64, MemGiB: 512, Foreign: true, Labels: map[string]string{
			"nvidia.com/gpu.workload.config": "vm-vgpu", "nvidia.com/vgpu.config": "A10-12Q",
			"nvidia.com/vgpu.config.state": "success", "kubevirt.io/schedulable": "true",
		}, Extra: map[string]int64{"nvidia.com/NVIDIA_A10-12Q": 4}},
		{Pool: "h200-nvlink", Model: H200, GPUs: 8, CPU: 192, MemGiB: 2048, Machine: "DGXH200",
			Strategy: Mixed, MIGConfig: "all-disabled", Reserved: true},
		{Pool: "hami", Model: V100, GPUs: 4, CPU: 64, MemGiB: 512, Foreign: true, HAMi: true,
			Labels: map[string]string{"gpu": "on"}, Extra: map[string]int64{"nvidia.com/gpu": 40}},
		{Pool: "volcano", Model: V100, GPUs: 4, CPU: 64, MemGiB: 512, Foreign: true, Extra: map[string]int64{
			"volcano.sh/vgpu-number": 40, "volcano.sh/vgpu-memory": 4 * 32768, "volcano.sh/vgpu-cores": 400,
		}},
		{Pool: "kai", Model: L40S, GPUs: 4, CPU: 64, MemGiB: 512, Machine: "PowerEdge-R760xa",
			Labels: map[string]string{"kai.scheduler/node-pool": "default"}},
		{Pool: "tencent", Model: T4, GPUs: 4, CPU: 64, MemGiB: 256, Foreign: true,
			Labels: map[string]string{"nvidia-device-enable": "enable"},
			Extra:  map[string]int64{"tencent.com/vcuda-core": 400, "tencent.com/vcuda-memory": 4 * 60}},
		{Pool: "alibaba", Model: T4, GPUs: 4, CPU: 64, MemGiB: 256, Foreign: true,
			Labels: map[string]string{"gpushare": "true", "ack.node.gpu.schedule": "core_mem"},
			Extra: map[string]int64{
				"aliyun.com/gpu-mem": 60, "aliyun.com/gpu-count": 4, "aliyun.com/gpu-core.percentage": 400,
			}},
		{Pool: "orionx", CPU: 64, MemGiB: 256, Extra: map[string]int64{"virtaitech.com/gpu": 16}},
		{Pool: "bitfusion", CPU: 64, MemGiB: 256, Extra: map[string]int64{
			"bitfusion.io/gpu-amount": 8, "bitfusion.io/gpu-percent": 800, "bitfusion.io/gpu-memory": 8 * 16384,
		}},
		{Pool: "a40-vgpu-shared", Model: A40Q, GPUs: 2, CPU: 32, MemGiB: 256, Machine: "VMware7-1", VGPU: true,
			Sharing: TimeSlicing, Replicas: 4, Renamed: true},
		{Pool: "h100-dra-nvlink", Model: H100, GPUs: 4, CPU: 192, MemGiB: 2048, DRA: true,
			Fabric: [][]int{{0, 1, 2, 3}, {0, 2}, {1, 3}, {0}, {1}, {2}, {3}}},
		{Pool: "intel-gpu", CPU: 64, MemGiB: 256, Labels: map[string]string{
			"feature.node.kubernetes.io/pci-8086.present": "true", "intel.feature.node.kubernetes.io/gpu": "true",
		}, Extra: map[string]int64{"gpu.intel.com/xe": 4}},
	}
}
