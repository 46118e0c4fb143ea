package gpumetrics

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PodUtilization is how hard a pod's device worked and by how much its memory changed, window by window. As in
// WindowSummary, only the size of its workload tells whether the values are the pod's own, but for the memory
// where OwnMemory says so.
type PodUtilization struct {
	Namespace, Pod string
	UUID, Instance string // of the card, and of the slice on it
	Slots          []UtilizationSlot
}

// UtilizationSlot is one window of a PodUtilization, in order of time; a window of which nothing is known is missing.
type UtilizationSlot struct {
	Until time.Time
	High  Reading // per cent, the highest sample of all
	// MiB, between the lowest and the highest sample of the used memory in the slot and the step before it: a change
	// between the last sample before the slot and the first one in it is known only from both
	MemoryChange Reading
	OwnMemory    bool // the exporter tells each pod's own part of a device's memory, beside the whole
	// for how long of it there are samples, counted in steps; the whole slot where none of them lacks one
	Known time.Duration
}

const (
	utilizationHigh summaryPart = "engine_high"
	utilizationTime summaryPart = "engine_time"
	memoryChange    summaryPart = "memory_change"
	memoryApart     summaryPart = "memory_apart"
)

// PodUtilization asks how hard the pods of the given namespaces (all when there are none) worked from one moment to
// another, cut into slots, with one call. A step without a sample of its own is not known: other than in a
// WindowSummary, an older sample does not stand in for it. A slot must be a whole number of steps. It waits for the
// answer. Nothing of it is kept.
func (p *Poller) PodUtilization(ctx context.Context, namespaces []string, from, until time.Time, slot,
	step time.Duration) ([]PodUtilization, error) {
	if step < shortestWindow || slot < step || until.Sub(from) < slot {
		return nil, nil
	}
	b := newUtilizationSampleSet(p.queries.labels, slot, step)
	seconds := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	ctx, stop := context.WithTimeout(ctx, summaryTimeout)
	defer stop()
	_, err := p.queryFor(ctx, summaryTimeout, "query_range",
		url.Values{"query": {p.queries.podUtilization(namespaces, slot, step)}, "start": {seconds(from.Add(slot))},
			"end":  {seconds(until)},
			"step": {strconv.FormatFloat(slot.Seconds(), 'f', -1, 64)}}, newTexts(), b.put)
	if err != nil {
		return nil, err
	}
	return b.list(), nil
}

// podUtilization is one query with all parts. A step counts when the highest of its samples can be: NaN and the
// sentinels of "no value" are none.
func (q queries) podUtilization(namespaces []string, slot, step time.Duration) string {
	by := maxBy(slices.Concat(q.labels.ofDevice(), q.labels.Namespace, q.labels.Pod))
	one := "[" + promDuration(step) + "]"
	// A millisecond less: a range that includes its beginning, as in Prometheus 2, would count a step too many, which
	// could stand for one that lacks.
	steps := "[" + promDuration(slot-time.Millisecond) + ":" + promDuration(step) + "]"
	var high, long, changed []string
	for _, in := range q.namespaceMatchers(namespaces) {
		for _, e := range q.engines(in) {
			high = append(high, e.factor+by+"(max_over_time("+e.series+"["+promDuration(slot)+"]))")
			long = append(long, by+"(count_over_time(("+e.factor+"max_over_time("+e.series+one+") >= 0 <= 105)"+steps+"))")
		}
		for _, m := range q.memories(in) {
			over := "_over_time(" + m.series + "[" + promDuration(slot+step) + "])"
			changed = append(changed, m.factor+by+"(max"+over+" - min"+over+")")
		}
	}
	var query []string
	for _, p := range []struct {
		name summaryPart
		rows []string
	}{{utilizationHigh, high}, {utilizationTime, long}, {memoryChange, changed}, {memoryApart, q.apart(slot + step)}} {
		query = append(query, part(string(p.name), strings.Join(p.rows, " or ")))
	}
	return strings.Join(query, " or ")
}

// apart are the devices that have a row of their memory for themselves beside others of the same name.
func (q queries) apart(span time.Duration) (rows []string) {
	device := "(" + strings.Join(q.labels.ofDevice(), ", ") + ") "
	over := func(in string) []string {
		var list []string
		for _, m := range q.memories(in) {
			list = append(list, "count_over_time("+m.series+"["+promDuration(span)+"])")
		}
		return list
	}
	all := over("")
	for i, own := range over(q.labels.withoutPod()) {
		rows = append(rows, "(max by "+device+"("+own+") and on "+device+"(count by "+device+"("+all[i]+") > 1))")
	}
	return rows
}

// utilizationSampleSet gathers the rows of both parts.
type utilizationSampleSet struct {
	labels     Labels
	slot, step time.Duration
	targets    map[podKey]bool
	doubtful   map[summaryKey]bool
	apart      map[deviceKey]map[time.Time]bool // devices whose pods have rows of their own memory
	values     map[summaryKey]map[time.Time]map[summaryPart]float64
}

func newUtilizationSampleSet(l Labels, slot, step time.Duration) *utilizationSampleSet {
	return &utilizationSampleSet{labels: l, slot: slot, step: step, targets: map[podKey]bool{},
		doubtful: map[summaryKey]bool{}, apart: map[deviceKey]map[time.Time]bool{},
		values: map[summaryKey]map[time.Time]map[summaryPart]float64{}}
}

func (b *utilizationSampleSet) put(row series) {
	if t := b.labels.target(row.labels); t != (podKey{}) {
		b.targets[t] = true
	}
	pod, doubtful := b.labels.holder(row.labels)
	device, named := b.labels.device(row.labels)
	name := summaryPart(row.labels.get(partLabel))
	if named && name == memoryApart {
		if b.apart[device] == nil {
			b.apart[device] = map[time.Time]bool{}
		}
		for _, s := range row.samples {
			b.apart[device][s.at.UTC()] = true
		}
		return
	}
	if pod == (podKey{}) || !named {
		return
	}
	key := summaryKey{pod, device}
	b.doubtful[key] = b.doubtful[key] || doubtful
	if b.values[key] == nil {
		b.values[key] = make(map[time.Time]map[summaryPart]float64, len(row.samples))
	}
	for _, s := range row.samples {
		at := s.at.UTC()
		if b.values[key][at] == nil {
			b.values[key][at] = map[summaryPart]float64{}
		}
		// Two scrapes of one device give two rows: the busier one counts.
		if v := s.value; v > b.values[key][at][name] || !hasPart(b.values[key][at], name) {
			b.values[key][at][name] = v
		}
	}
}

// list gives what was gathered, in a steady order, without the exporter's own pod, which stands beside idle cards.
func (b *utilizationSampleSet) list() []PodUtilization {
	out := make([]PodUtilization, 0, len(b.values))
	for key, slots := range b.values {
		if b.doubtful[key] && (b.targets[key.pod] || exporterPod(key.pod.pod)) {
			continue
		}
		w := PodUtilization{Namespace: key.pod.namespace, Pod: key.pod.pod, UUID: key.device.uuid,
			Instance: key.device.instance,
			Slots:    make([]UtilizationSlot, 0, len(slots))}
		for at, parts := range slots {
			s := UtilizationSlot{Until: at, High: readPart(parts, utilizationHigh, utilPercent, at),
				MemoryChange: readPart(parts, memoryChange, memUsed, at), OwnMemory: b.apart[key.device][at]}
			if n := parts[utilizationTime]; n > 0 && n < 1e7 {
				s.Known = min(b.slot, time.Duration(n)*b.step)
			}
			w.Slots = append(w.Slots, s)
		}
		slices.SortFunc(w.Slots, func(x, y UtilizationSlot) int { return x.Until.Compare(y.Until) })
		out = append(out, w)
	}
	slices.SortFunc(out, func(x, y PodUtilization) int {
		return strings.Compare(x.Namespace+"\x00"+x.Pod+"\x00"+x.UUID+"\x00"+x.Instance, y.Namespace+"\x00"+y.Pod+"\x00"+
			y.UUID+"\x00"+y.Instance)
	})
	return out
}

// Clock is what time it is at Prometheus: samples of now carry it.
func (p *Poller) Clock(ctx context.Context) (time.Time, error) {
	var at time.Time
	_, err := p.query(ctx, "query", url.Values{"query": {"vector(1)"}}, newTexts(), func(row series) {
		if len(row.samples) > 0 {
			at = row.samples[0].at.UTC()
		}
	})
	if err == nil && at.IsZero() {
		err = errNever
	}
	return at, err
}
