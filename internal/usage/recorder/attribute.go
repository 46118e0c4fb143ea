package recorder

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Metered is a stretch of the meter with what metrics know its workload by. Size is the one that the workload has now.
type Metered struct {
	usage.Interval
	Namespace string
	Name      string
	Kind      catalog.WorkloadKind
	Size      catalog.Size
}

// name is what pods are called after. Two workloads may have had it, one after the other.
type name struct {
	namespace, name string
	kind            catalog.WorkloadKind
}

// holder is the one line of the ledger that a name stands for in a span.
type holder struct {
	line    usage.EngineLine
	held    time.Duration
	devices int
	unclear bool // several lines, or what it held is not on record or not its own
}

// Attribute says how busy the devices of each line were in a span, from what was seen of pods. A name that stands for
// more than one line, because two workloads had it or because size or price changed in the span, says nothing: nobody
// can tell which of them a sample is of.
func Attribute(metered []Metered, seen []gpumetrics.WindowSummary, s usage.Span) []usage.EngineLine {
	holders, order := holdersOf(metered, s)
	for _, stretch := range seen {
		for kind, names := range workload.NamesOfPod(stretch.Pod) {
			var h *holder
			for _, n := range names {
				if h = holders[name{stretch.Namespace, n, kind}]; h != nil {
					break
				}
			}
			if h == nil || !stretch.EngineMean.Known() {
				continue
			}
			measured := stretch.Engine
			h.line.EngineUse = h.line.Add(usage.EngineUse{Measured: measured,
				Busy: time.Duration(stretch.EngineMean.Value / 100 * float64(measured)), Idle: min(stretch.Idle, measured)})
		}
	}
	var lines []usage.EngineLine
	for _, key := range order {
		h := holders[key]
		if h.unclear || h.line.Measured <= 0 {
			continue
		}
		n := time.Duration(h.devices)
		h.line.EngineUse = usage.EngineUse{Measured: h.line.Measured / n, Busy: h.line.Busy / n,
			Idle: h.line.Idle / n}.Within(h.held)
		lines = append(lines, h.line)
	}
	return lines
}

func holdersOf(metered []Metered, s usage.Span) (map[name]*holder, []name) {
	holders, order := map[name]*holder{}, []name{}
	for _, m := range metered {
		key := name{m.Namespace, m.Name, m.Kind}
		line := usage.EngineLine{Workload: m.Workload, Tenant: m.Tenant, Size: m.Interval.Size, PerHour: m.PerHour}
		h := holders[key]
		if h == nil {
			devices := m.Size.Devices()
			h = &holder{line: line, devices: devices, unclear: devices == 0 || m.Size.SharesDevice() ||
				m.Size.Name != m.Interval.Size}
			holders[key], order = h, append(order, key)
		}
		h.unclear = h.unclear || h.line != line
		for _, use := range usage.Uses([]usage.Interval{m.Interval}, s) {
			h.held += use.Held
		}
	}
	return holders, order
}
