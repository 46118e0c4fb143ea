package gpumetrics

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
)

// exporterPod knows the exporter by the name that its chart and the makers' operators give it, for sites where nothing
// else tells it from a workload: a free card of a scrape that does not honour labels has no labels but the exporter's.
func exporterPod(name string) bool {
	return slices.ContainsFunc(exporterNames, func(part string) bool { return strings.Contains(name, part) })
}

var exporterNames = []string{"dcgm-exporter", "metrics-exporter", "metric-exporter", "xpumanager"}

// own says which part of a device one of its pods uses. The only pod on a device uses all of it. Where several do, the
// exporter either tells each one's part, or one value for all, of which each gets the same part. Parts never add up to
// more than there is.
func (s *sampleSet) own(out *Device, d *device, pod podKey) {
	out.OwnEngine, out.OwnMemory, out.OwnPower = out.Engine, out.MemoryUsed, s.ownPower(out.Power, d)
	if len(d.pods) < 2 {
		return
	}
	out.OwnEngine = d.part(utilPercent, pod, out.Engine)
	out.OwnMemory = d.part(memUsed, pod, out.MemoryUsed)
}

// part of a pod in what the device does. A row of the device itself beside the pods' rows is how the exporter shows
// that the latter are the pods' own. They come from the driver's list of processes, at another moment than the
// device's: when they add up to more than that, they are measures of nothing, and are scaled.
func (d *device) part(k kind, pod podKey, whole Reading) Reading {
	if !whole.Known() {
		return whole
	}
	told := slices.ContainsFunc(d.pods, func(p podRows) bool { return p.rows[k].state == valid })
	if d.known[k].state != valid || !told {
		return apportioned(whole, 1/float64(len(d.pods)))
	}
	var own, sum float64
	for i := range d.pods {
		row := d.pods[i].rows[k]
		if row.state != valid {
			if d.pods[i].pod == pod {
				return row.reading(k, Measured)
			}
			continue
		}
		sum += row.v
		if d.pods[i].pod == pod {
			own = row.v
		}
	}
	if sum > whole.Value && sum > d.known[k].v {
		return apportioned(whole, own/sum)
	}
	r := whole
	r.Value = own
	return r
}

func apportioned(r Reading, part float64) Reading {
	r.Value *= part
	r.Source = Apportioned
	return r
}

// ownPower is the part of the card's power that one pod answers for: the slice's part of the card, and of that the
// pod's. Nobody measures it.
func (s *sampleSet) ownPower(card Reading, d *device) Reading {
	if !card.Known() {
		return card
	}
	part := 1.0
	if d.Instance != "" || s.partitioned[d.UUID] { // a card that is held whole and cut at once contradicts itself
		if part = s.sliceOf(d); part == 0 {
			return card.without(OneForAll)
		}
	}
	if n := len(d.pods); n > 1 {
		part /= float64(n)
	}
	if part == 1 {
		return card
	}
	return apportioned(card, part)
}

// sliceOf is the part of its card's compute that a slice has; 0 where the profile does not say. A card whose slices
// claim more than it has, as happens while it is being cut anew, is as large as they claim.
func (s *sampleSet) sliceOf(d *device) float64 {
	mine := hardware.ComputeSlices(d.Profile)
	if mine == 0 {
		return 0
	}
	return float64(mine) / float64(max(hardware.SlicesOf(d.Model), s.computeSlices[d.UUID]))
}
