package gpumetrics

import (
	"math"
	"slices"
)

// kind is what a series measures, whatever name it goes by.
type kind uint8

// The kinds. Those before cardKinds are of a device and may be repeated for the pods on it; the others are of the card:
// DCGM answers such a field for each slice with the card's value, so that of its rows one counts and none is added.
const (
	engineRatio kind = iota // 0..1, of the card or of the slice
	utilPercent             // 0..100, of the card only
	memUsed
	memFree
	memReserved
	memSize     // where the exporter tells all of it
	memShare    // 0..1, used of all of it
	tensorRatio // 0..1, of the card or of the slice
	power
	temperature
	kinds // how many there are for the views of workloads

	firstCardKind = power
)

// The kinds of a card's health, which are asked for apart and more rarely.
const (
	xidLast kind = kinds + 1 + iota
	xidCount
	eccCorrected
	eccUncorrected
	remapCorrected
	remapUncorrected
	remapFailed
	throttle
	memTemperature
	pcieReplays
	nvlinkRate
	nvlinkErrors
	license
	allKinds
)

// metric is one kind: its names before and since DCGM 4.6 (the values did not change with the names: GPU_UTIL_RATIO is
// per cent as well), and which values are possible. DCGM marks a missing value by a huge number; whatever lies outside
// the range, or is no whole number where it must be one, is no value.
type metric struct {
	names    []string
	unit     Unit
	min, max float64
	whole    bool // a number of things, or of an error
	counter  bool // a total since the driver was loaded
	slice    bool // told for each MIG slice; otherwise for the card
}

// The names of other makers' exporters stand behind those of DCGM: AMD's device-metrics-exporter (with its prefix or
// without), Gaudi's metric exporter, Intel's XPU Manager 1.x (xpum_*) and 2.x (hw_*, after OpenTelemetry). What they do
// not tell is unknown.
//
// Names that the sheet of DCGM 4.6 has and the exporter's list of counters has in comments are known too, for sites
// that switch them on.
var metrics = map[kind]metric{
	// may overshoot a little
	engineRatio: {names: []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
		"xpum_engine_ratio", "hw_gpu_utilization_ratio"}, unit: Percent, max: 1.05, slice: true},
	utilPercent: {names: []string{"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", "gpu_gfx_activity",
		"amd_gpu_gfx_activity", "habanalabs_utilization"}, unit: Percent, max: 100},
	memUsed: {names: []string{"DCGM_FI_DEV_FB_USED", "gpu_used_vram", "amd_gpu_used_vram", "habanalabs_memory_used_bytes",
		"xpum_memory_used_bytes", "hw_memory_usage_bytes"}, unit: MiB, max: 1 << 30, slice: true},
	memSize: {names: []string{"gpu_total_vram", "amd_gpu_total_vram", "habanalabs_memory_total_bytes",
		"hw_memory_size_bytes"}, unit: MiB, max: 1 << 30, slice: true},
	memShare:    {names: []string{"xpum_memory_ratio"}, unit: Percent, max: 1.05, slice: true},
	memFree:     {names: []string{"DCGM_FI_DEV_FB_FREE"}, unit: MiB, max: 1 << 30, slice: true},
	memReserved: {names: []string{"DCGM_FI_DEV_FB_RESERVED"}, unit: MiB, max: 1 << 30, slice: true},
	tensorRatio: {names: []string{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"}, unit: Percent,
		max: 1.05, slice: true},
	power: {names: []string{"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", "gpu_package_power",
		"amd_gpu_package_power", "gpu_average_package_power", "amd_gpu_average_package_power", "habanalabs_power_mW",
		"xpum_power_watts", "hw_power_watts"}, unit: Watt, max: 1e5},
	temperature: {names: []string{"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "gpu_junction_temperature",
		"amd_gpu_junction_temperature", "gpu_edge_temperature", "amd_gpu_edge_temperature",
		"habanalabs_temperature_onchip", "xpum_temperature_celsius", "hw_temperature_celsius"}, unit: Celsius, min: -50,
		max: 250},
	xidLast: {names: []string{"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"}, unit: Count, max: 9999,
		whole: true, slice: true},
	xidCount: {names: []string{"DCGM_EXP_XID_ERRORS_COUNT"}, unit: Count, max: 1e9, whole: true, slice: true},
	eccCorrected: {names: []string{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"}, unit: Count, max: 1e15, whole: true,
		counter: true},
	eccUncorrected: {names: []string{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}, unit: Count, max: 1e15, whole: true,
		counter: true},
	remapCorrected: {names: []string{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL"},
		unit: Count, max: 1e9, whole: true, counter: true},
	remapUncorrected: {names: []string{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
		"DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL"}, unit: Count, max: 1e9, whole: true, counter: true},
	remapFailed: {names: []string{"DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_FAILED"}, unit: Count, max: 1,
		whole: true},
	throttle: {names: []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"},
		unit: Count, max: 1 << 20, whole: true},
	memTemperature: {names: []string{"DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS"}, unit: Celsius,
		min: -50, max: 250},
	pcieReplays: {names: []string{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_PCIE_REPLAY_TOTAL"}, unit: Count,
		max: 1e15, whole: true, counter: true},
	nvlinkRate: {names: []string{"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL"},
		unit: PerSecond, max: 1e15, counter: true},
	nvlinkErrors: {names: []string{"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
		"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"}, unit: Count,
		max: 1e15, whole: true, counter: true},
	license: {names: []string{"DCGM_FI_DEV_VGPU_LICENSE_STATUS"}, unit: Count, max: 1, whole: true, slice: true},
}

// scales are what values of some series are multiplied by to be in the unit of their kind.
var scales = map[string]float64{"habanalabs_memory_used_bytes": 1. / (1 << 20),
	"habanalabs_memory_total_bytes": 1. / (1 << 20), "xpum_memory_used_bytes": 1. / (1 << 20),
	"hw_memory_usage_bytes": 1. / (1 << 20), "hw_memory_size_bytes": 1. / (1 << 20), "habanalabs_power_mW": 1e-3}

// The rows of XPU Manager that are of a whole card. 1.x has rows of its tiles too (sub_dev), and sums of several
// devices on one board, without their UUID (rest/prometheus_exporter, build_dev_labels, attach_tile_labels,
// attach_card_labels). 2.x has rows for each engine, sensor and memory of a card and its subdevices; pci_bdf is there
// in every one, and in none of other exporters that follow OpenTelemetry's names (xpumd/receiver/intelxpu/sysman).
// "all", "compute-all" and "render-all" are the engines that work is computed on; copying and video are not.
const (
	xpumCard  = `uuid!="",sub_dev=""`
	hwCard    = `pci_bdf!=""`
	hwWhole   = hwCard + `,com_intel_subdevice_id=""`
	hwEngines = hwCard + `,hw_gpu_task=~"all|compute-all|render-all"`
)

// matchers choose rows of a series that has others under the same name.
var matchers = map[string]string{
	"xpum_engine_ratio": xpumCard, "xpum_memory_used_bytes": xpumCard, "xpum_memory_ratio": xpumCard,
	"xpum_power_watts": xpumCard, "xpum_temperature_celsius": `uuid!="",location="gpu"`,
	"hw_gpu_info": hwCard, "hw_gpu_utilization_ratio": hwEngines,
	"hw_memory_usage_bytes":  hwWhole + `,hw_memory_location="device"`,
	"hw_memory_size_bytes":   hwWhole + `,hw_memory_location="device"`,
	"hw_power_watts":         hwWhole + `,hw_sensor_location=~"card|package|gpu"`,
	"hw_temperature_celsius": hwCard + `,hw_sensor_location="gpu",statistic!="min"`,
}

// scaled is a value of a series in the unit of its kind; marks for "no value" stay as they are.
func scaled(name string, v float64) float64 {
	if factor, is := scales[name]; is {
		return v * factor
	}
	return v
}

// DCGM's marks for "no value", with the three that follow each (not found, not supported, not permitted):
// dcgm_structs.h. Those of 64 bits become one and the same number on their way through a float64.
var blanks = [...]float64{0x7ffffff0, 0x7ffffffffffffff0, 140737488355328}

func blank(v float64) bool {
	for _, b := range blanks {
		if v >= b && v <= b+3 {
			return true
		}
	}
	return math.IsNaN(v) || math.IsInf(v, 0)
}

// state of a value within a sample set.
type state uint8

const (
	absent  state = iota // no series
	invalid              // a series whose value cannot be
	valid
)

// value is a number and whether it is one.
type value struct {
	v     float64
	state state
}

func (m metric) value(v float64) value {
	if blank(v) || v < m.min || v > m.max || m.whole && v != math.Trunc(v) {
		return value{state: invalid}
	}
	return value{v, valid}
}

// better is the one of two rows for the same that counts. Repeated rows repeat one value; adding them up would count it
// twice.
func (x value) better(y value) value {
	if y.state > x.state || y.state == valid && x.state == valid && y.v > x.v {
		return y
	}
	return x
}

// reading makes the value of a sample at a time into a Reading.
func (x value) reading(k kind, source Source) Reading {
	m := metrics[k]
	if x.state != valid {
		why := NoSeries
		if x.state == invalid {
			why = NoValue
		}
		return Reading{Unit: m.unit, Why: why}
	}
	return Reading{Value: x.v, Unit: m.unit, Source: source}
}

// kindOf finds the kind by the name of a series.
var kindOf = func() map[string]kind {
	all := map[string]kind{}
	for k, m := range metrics {
		for _, n := range m.names {
			all[n] = k
		}
	}
	return all
}()

// namesOf lists the names of the kinds that are wanted, in a steady order.
func namesOf(wanted func(kind, metric) bool) []string {
	var names []string
	for k, m := range metrics {
		if wanted(k, m) {
			names = append(names, m.names...)
		}
	}
	slices.Sort(names)
	return names
}
