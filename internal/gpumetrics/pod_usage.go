package gpumetrics

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PodUsage is how much CPU and network a pod used, window by window, as the kubelet's cAdvisor counts it. Unlike the
// values of a card these are always the pod's own.
type PodUsage struct {
	Namespace, Pod string
	Slots          []UsageSlot
}

// UsageSlot is one window of a PodUsage, in order of time; a window of which nothing is known is missing.
type UsageSlot struct {
	Until   time.Time
	CPU     Rate // cores, of all containers
	Network Rate // bytes per second, received and sent
}

// Rate is a mean over a window, and for how long of it each of its counters has samples, counted in steps.
type Rate struct {
	Value float64
	Known time.Duration // 0 where there is no value
}

// The parts of the answer. A kubelet has a row of the CPU for each container, and at most sites one for the whole pod.
const (
	usageContainers summaryPart = "cpu_containers"
	usagePod        summaryPart = "cpu_pod"
	usageCPUTime    summaryPart = "cpu_time"
	usageReceived   summaryPart = "received"
	usageSent       summaryPart = "sent"
	usageInTime     summaryPart = "received_time"
	usageOutTime    summaryPart = "sent_time"
)

// cadvisorLabels are what the kubelet calls a pod, and where they stand if a scrape does not honour its labels.
var cadvisorLabels = Labels{Namespace: []string{"exported_namespace", "namespace"}, Pod: []string{"exported_pod",
	"pod"}}

// PodUsage asks how much the pods of the given namespaces (all when there are none) used from one moment to another,
// cut into slots, with one call. A container, or a network, that began or ended within a slot or the step before it
// leaves it partly known, as does a step without a sample of its own. A slot must be a whole number of steps. It waits
// for the answer. Nothing of it is kept.
func (p *Poller) PodUsage(ctx context.Context, namespaces []string, from, until time.Time, slot,
	step time.Duration) ([]PodUsage, error) {
	if step < shortestWindow || slot < step || until.Sub(from) < slot {
		return nil, nil
	}
	values := map[podKey]map[time.Time]map[summaryPart]float64{}
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	ctx, stop := context.WithTimeout(ctx, summaryTimeout)
	defer stop()
	_, err := p.queryFor(ctx, summaryTimeout, "query_range",
		url.Values{"query": {podUsageQuery(namespaces, slot, step)}, "start": {seconds(from.Add(slot))},
			"end":  {seconds(until)},
			"step": {strconv.FormatFloat(slot.Seconds(), 'f', -1, 64)}}, newTexts(), func(row series) { putUsage(values, row) })
	if err != nil {
		return nil, err
	}
	return usageList(values, slot, step), nil
}

// podUsageQuery is one query with all parts. Rates and times look back a step further than their slot: the growth of a
// counter between the last sample before the slot and the first one in it is known only from both.
func podUsageQuery(namespaces []string, slot, step time.Duration) string {
	pod := strings.Join(slices.Concat(cadvisorLabels.Namespace, cadvisorLabels.Pod), ", ")
	by := "by (" + pod + ") "
	one, window := "["+promDuration(step)+"]", "["+promDuration(slot+step)+"]"
	// As in podUtilization a millisecond less.
	steps := "[" + promDuration(slot+step-time.Millisecond) + ":" + promDuration(step) + "]"
	parts := map[summaryPart][]string{}
	for _, in := range (queries{labels: cadvisorLabels}).namespaceMatchers(namespaces) {
		// Of counters that a node scrapes twice the busier row counts, and neither is added to the other.
		sum := func(name summaryPart, each, series string) {
			parts[name] = append(parts[name], "sum "+by+"(max by ("+pod+", "+each+") (rate("+series+window+")))")
		}
		known := func(name summaryPart, series string) {
			parts[name] = append(parts[name], "min "+by+"(count_over_time((count_over_time("+series+one+") > 0)"+steps+"))")
		}
		const total = `cpu=~"total|"` // other rows are of one core each
		cpu := promSeries("container_cpu_usage_seconds_total", total+","+in)
		sum(usageContainers, "container", promSeries("container_cpu_usage_seconds_total", total+`,container!="",`+in))
		parts[usagePod] = append(parts[usagePod], "max "+by+"(rate("+promSeries("container_cpu_usage_seconds_total",
			total+`,container="",`+in)+window+"))")
		known(usageCPUTime, cpu)
		for name, of := range map[string][2]summaryPart{
			"container_network_receive_bytes_total":  {usageReceived, usageInTime},
			"container_network_transmit_bytes_total": {usageSent, usageOutTime},
		} {
			series := promSeries(name, `interface!="lo",`+in)
			sum(of[0], "interface", series)
			known(of[1], series)
		}
	}
	var query []string
	for _, name := range []summaryPart{usageContainers, usagePod, usageCPUTime, usageReceived, usageInTime, usageSent,
		usageOutTime} {
		query = append(query, part(string(name), strings.Join(parts[name], " or ")))
	}
	return strings.Join(query, " or ")
}

func putUsage(values map[podKey]map[time.Time]map[summaryPart]float64, row series) {
	key := podKey{row.labels.first(cadvisorLabels.Namespace), row.labels.first(cadvisorLabels.Pod)}
	if key.namespace == "" || key.pod == "" {
		return
	}
	if values[key] == nil {
		values[key] = map[time.Time]map[summaryPart]float64{}
	}
	name := summaryPart(row.labels.get(partLabel))
	for _, s := range row.samples {
		at := s.at.UTC()
		if values[key][at] == nil {
			values[key][at] = map[summaryPart]float64{}
		}
		// Where an answer has two rows of a part, the busier one and the shorter time count.
		was, have := values[key][at][name]
		if shorter := name == usageCPUTime || name == usageInTime || name == usageOutTime; !have || math.IsNaN(s.value) ||
			shorter && s.value < was || !shorter && s.value > was {
			values[key][at][name] = s.value
		}
	}
}

// usageList gives what was gathered, in a steady order.
func usageList(values map[podKey]map[time.Time]map[summaryPart]float64, slot, step time.Duration) []PodUsage {
	out := make([]PodUsage, 0, len(values))
	for key, slots := range values {
		u := PodUsage{Namespace: key.namespace, Pod: key.pod, Slots: make([]UsageSlot, 0, len(slots))}
		for at, parts := range slots {
			lasting := func(names ...summaryPart) time.Duration {
				least := slot
				for _, name := range names {
					n := parts[name] - 1 // the step before the slot
					if !(n > 0 && n < 1e7) {
						return 0
					}
					least = min(least, time.Duration(n)*step)
				}
				return least
			}
			s := UsageSlot{Until: at}
			cpu, byContainer := parts[usageContainers]
			if whole, ok := parts[usagePod]; ok && (!byContainer || whole > cpu || math.IsNaN(whole)) {
				cpu, byContainer = whole, true
			}
			if byContainer && countable(cpu) {
				s.CPU = Rate{cpu, lasting(usageCPUTime)}
			}
			if hasPart(parts, usageReceived) && hasPart(parts, usageSent) {
				if all := parts[usageReceived] + parts[usageSent]; countable(all) {
					s.Network = Rate{all, lasting(usageInTime, usageOutTime)}
				}
			}
			u.Slots = append(u.Slots, s)
		}
		slices.SortFunc(u.Slots, func(x, y UsageSlot) int { return x.Until.Compare(y.Until) })
		out = append(out, u)
	}
	slices.SortFunc(out, func(x, y PodUsage) int {
		return strings.Compare(x.Namespace+"\x00"+x.Pod, y.Namespace+"\x00"+y.Pod)
	})
	return out
}

// countable reports whether a rate can be one.
func countable(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
