package gpumetrics

import "strconv"

// engine is a series that tells how busy an engine is; times factor it is per cent.
type engine struct{ factor, series string }

// percent is the series without what cannot be: one of DCGM's marks for "no value" would drown all others in a mean,
// and is no time in which the use was known.
func (e engine) percent() string { return "((" + e.factor + e.series + ") >= 0 <= 105)" }

// engines are the series of some rows, the better ones first: where one is, a later one of the same device does not
// count.
func (q queries) engines(in string) []engine {
	var list []engine
	for _, n := range metrics[engineRatio].names {
		list = append(list, engine{"100 * ", promSeries(n, in)})
	}
	for _, n := range metrics[utilPercent].names { // of the card: some versions say 0 of a slice
		list = append(list, engine{"", promSeries(n, q.labels.whole()+","+in)})
	}
	return list
}

// memory is a series that tells how much memory is used; times factor it is MiB. Part is which part of all of it that
// is, 0..1.
type memory struct{ factor, series, part string }

// sizes are the series that tell all memory beside those that tell the used one. DCGM tells what is free instead, and
// XPU Manager 1.x the part that is used.
var sizes = map[string]string{"gpu_used_vram": "gpu_total_vram", "amd_gpu_used_vram": "amd_gpu_total_vram",
	"habanalabs_memory_used_bytes": "habanalabs_memory_total_bytes", "hw_memory_usage_bytes": "hw_memory_size_bytes"}

// memories are the series of some rows, of every maker's cards.
func (q queries) memories(in string) (list []memory) {
	for _, n := range metrics[memUsed].names {
		m := memory{series: promSeries(n, in)}
		if factor, is := scales[n]; is {
			m.factor = strconv.FormatFloat(factor, 'g', -1, 64) + " * "
		}
		switch size, told := sizes[n]; {
		case told:
			m.part = m.series + " / " + promSeries(size, in)
		case n == "xpum_memory_used_bytes":
			m.part = promSeries("xpum_memory_ratio", in)
		default:
			m.part = m.series + " / (" + m.series + " + " + promSeries(metrics[memFree].names[0], in) + ")"
		}
		list = append(list, m)
	}
	return list
}
