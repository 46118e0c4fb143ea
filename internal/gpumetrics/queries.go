package gpumetrics

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is what a series measures, whatever name it goes by.
type kind int

const (
	engineRatio kind = iota // 0..1, of the card or of the slice
	utilPercent             // 0..100, of the card only
	memUsed
	memFree
	memReserved
	power
	temperature
	kinds // how many
)

// metric is one name that a kind goes by, and what values are possible. DCGM marks a missing value by a huge number (9223372036854775794 and its
// like for other types); whatever lies outside the range is unknown.
type metric struct {
	kind     kind
	min, max float64
}

// metrics are the names before and since DCGM 4.6. Values do not change with the name: GPU_UTIL_RATIO is per cent as well.
var metrics = map[string]metric{
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE":     {engineRatio, 0, 1.05}, // may overshoot a little
	"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": {engineRatio, 0, 1.05},
	"DCGM_FI_DEV_GPU_UTIL":              {utilPercent, 0, 100},
	"DCGM_FI_DEV_GPU_UTIL_RATIO":        {utilPercent, 0, 100},
	"DCGM_FI_DEV_FB_USED":               {memUsed, 0, 1 << 30},
	"DCGM_FI_DEV_FB_FREE":               {memFree, 0, 1 << 30},
	"DCGM_FI_DEV_FB_RESERVED":           {memReserved, 0, 1 << 30},
	"DCGM_FI_DEV_POWER_USAGE":           {power, 0, 1e5},
	"DCGM_FI_DEV_BOARD_POWER_WATTS":     {power, 0, 1e5},
	"DCGM_FI_DEV_GPU_TEMP":              {temperature, -50, 250},
	"DCGM_FI_DEV_GPU_TEMP_CELSIUS":      {temperature, -50, 250},
}

// Labels kept: without the others (driver version, bus id, pod labels …) the answer of a large site is a fifth of its size, and rows that two
// Prometheus replicas or a second scrape repeat become one. "uuid", "pod_name" and "pod_namespace" are the exporter's old spelling.
const (
	deviceLabels = "UUID, uuid, GPU_I_ID"
	podLabels    = "exported_namespace, exported_pod, namespace, pod, pod_namespace, pod_name"
)

// valuesQuery gives every metric of every device, and for each pod that holds one.
var valuesQuery = "max by (__name__, " + deviceLabels + ", " + podLabels + ") ({__name__=~" + quote(strings.Join(metricNames(), "|")) + "})"

// devicesQuery gives what each device is, with the time of its last sample as the value: an instant query stamps samples with its own time. All metrics
// of a device come from one scrape, so one of them tells the time for all.
var devicesQuery = "max by (" + deviceLabels + ", GPU_I_PROFILE, modelName, Hostname, hostname) (" +
	"timestamp(DCGM_FI_DEV_FB_USED) or timestamp(DCGM_FI_PROF_GR_ENGINE_ACTIVE) or timestamp(DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO) " +
	"or timestamp(DCGM_FI_DEV_GPU_UTIL) or timestamp(DCGM_FI_DEV_GPU_UTIL_RATIO))"

func metricNames() []string {
	names := make([]string, 0, len(metrics))
	for n := range metrics {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// historyQuery gives the engine use of every pod's devices, in per cent, for the given namespaces (all when there are none). Utilisation stands in where the
// profiling metrics are missing (vGPU, old cards), but never for a slice: some versions report 0 there.
func historyQuery(namespaces []string) string {
	var parts []string
	for _, part := range []struct{ factor, name, slices string }{
		{"100 * ", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", ""}, {"100 * ", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", ""},
		{"", "DCGM_FI_DEV_GPU_UTIL", `GPU_I_ID=""`}, {"", "DCGM_FI_DEV_GPU_UTIL_RATIO", `GPU_I_ID=""`},
	} {
		for _, in := range namespaceMatchers(namespaces) {
			matchers := strings.Trim(part.slices+","+in, ",")
			parts = append(parts, part.factor+"max by ("+deviceLabels+", "+podLabels+") ("+part.name+"{"+matchers+"})")
		}
	}
	return strings.Join(parts, " or ")
}

// namespaceMatchers are two when asked for namespaces: a row names its tenant as exported_namespace, or, where labels are honoured, as namespace.
func namespaceMatchers(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{""}
	}
	names := make([]string, len(namespaces))
	for i, n := range namespaces {
		names[i] = regexp.QuoteMeta(n)
	}
	any := quote(strings.Join(names, "|"))
	return []string{"exported_namespace=~" + any, `exported_namespace="",namespace=~` + any}
}

// quote writes a string of PromQL; its escapes are those of Go. Nothing reaches a query but through here.
func quote(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD")) }
