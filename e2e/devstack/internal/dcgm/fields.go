package dcgm

// field is one line of dcp-metrics-included.csv of NVIDIA/dcgm-exporter 4.5.3-4.8.2 (the fields that are on there), in
// the order of the field ids. HELP texts are ours.
type field struct {
	name, help string
	counter    bool
	float      bool
	// guest: a virtual machine sees it of its vGPU. Guessed: no vendor text says it for all fields.
	guest bool
	// noMIG: NVML refuses it on a GPU in MIG mode, so the row is missing there.
	noMIG bool
	// perProcess: the exporter gives each pod on a shared GPU its own value, and the whole in a row without a pod.
	perProcess bool
	value      func(Entity, Share) float64
}

var fields = []field{
	{name: "DCGM_FI_DEV_SM_CLOCK", help: "SM clock (MHz).", value: board(func(b Board) float64 { return b.SMClock })},
	{name: "DCGM_FI_DEV_MEM_CLOCK", help: "Memory clock (MHz).",
		value: board(func(b Board) float64 { return b.MemClock })},
	{name: "DCGM_FI_DEV_MEMORY_TEMP", help: "Memory temperature (C).",
		value: board(func(b Board) float64 { return b.MemTemp })},
	{name: "DCGM_FI_DEV_GPU_TEMP", help: "GPU temperature (C).", value: board(func(b Board) float64 { return b.Temp })},
	{name: "DCGM_FI_DEV_POWER_USAGE", help: "Power draw (W).", float: true,
		value: board(func(b Board) float64 { return b.Watts })},
	{name: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", help: "Energy since boot (mJ).", counter: true,
		value: board(func(b Board) float64 { return b.Millijoules })},
	{name: "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", help: "PCIe retries.", counter: true, value: zero},
	{name: "DCGM_FI_DEV_GPU_UTIL", help: "GPU utilization (%).", guest: true, noMIG: true, perProcess: true,
		value: func(_ Entity, s Share) float64 { return percent(s.Busy) }},
	{name: "DCGM_FI_DEV_MEM_COPY_UTIL", help: "Memory utilization (%).", guest: true, noMIG: true,
		value: func(e Entity, _ Share) float64 { return percent(e.Busy * 0.6) }},
	{name: "DCGM_FI_DEV_ENC_UTIL", help: "Encoder utilization (%).", guest: true, noMIG: true, value: zero},
	{name: "DCGM_FI_DEV_DEC_UTIL", help: "Decoder utilization (%).", guest: true, noMIG: true, value: zero},
	{name: "DCGM_FI_DEV_XID_ERRORS", help: "Last XID error.", guest: true,
		value: func(e Entity, _ Share) float64 { return float64(e.XID) }},
	{name: "DCGM_FI_DEV_FB_FREE", help: "Frame buffer free (MiB).", guest: true,
		value: func(e Entity, _ Share) float64 { return max(0, e.MemoryMiB-e.ReservedMiB-e.UsedMiB) }},
	{name: "DCGM_FI_DEV_FB_USED", help: "Frame buffer used (MiB).", guest: true, perProcess: true,
		value: func(_ Entity, s Share) float64 { return s.UsedMiB }},
	{name: "DCGM_FI_DEV_FB_RESERVED", help: "Frame buffer reserved (MiB).", guest: true,
		value: func(e Entity, _ Share) float64 { return e.ReservedMiB }},
	{name: "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", help: "Rows remapped for uncorrectable errors.", counter: true,
		value: zero},
	{name: "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", help: "Rows remapped for correctable errors.", counter: true,
		value: zero},
	{name: "DCGM_FI_DEV_ROW_REMAP_FAILURE", help: "Whether remapping of rows failed.", value: zero},
	{name: "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", help: "NVLink counter over all lanes.", counter: true,
		value: board(func(b Board) float64 { return b.NVLink })},
	{name: "DCGM_FI_DEV_VGPU_LICENSE_STATUS", help: "vGPU license status.", guest: true,
		value: func(e Entity, _ Share) float64 { return e.Licensed }},
	{name: "DCGM_FI_PROF_GR_ENGINE_ACTIVE", help: "Ratio of time the graphics engine is active.", float: true,
		value: func(e Entity, _ Share) float64 { return e.Busy }},
	{name: "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", help: "Ratio of cycles the tensor pipe is active.", float: true,
		value: func(e Entity, _ Share) float64 { return e.Busy * 0.55 }},
	{name: "DCGM_FI_PROF_DRAM_ACTIVE", help: "Ratio of cycles the memory interface is active.", float: true,
		value: func(e Entity, _ Share) float64 { return e.Busy * 0.48 }},
	{name: "DCGM_FI_PROF_PCIE_TX_BYTES", help: "PCIe bytes sent per second.",
		value: board(func(b Board) float64 { return b.PCIeTX })},
	{name: "DCGM_FI_PROF_PCIE_RX_BYTES", help: "PCIe bytes received per second.",
		value: board(func(b Board) float64 { return b.PCIeRX })},
}

func board(f func(Board) float64) func(Entity, Share) float64 {
	return func(e Entity, _ Share) float64 { return f(e.Board) }
}

func zero(Entity, Share) float64 { return 0 }

func percent(ratio float64) float64 { return float64(int(ratio*100 + 0.5)) }
