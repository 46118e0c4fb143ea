package gpumetrics

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WindowSummary is what a pod did with one device in a window. Where the exporter has one value for several pods it
// has it for each of them: whether a value is the pod's own, only the size of its workload tells.
type WindowSummary struct {
	Namespace, Pod string
	UUID, Instance string        // of the card, and of the slice on it
	MemoryPeak     Reading       // MiB, the highest sample of all
	EngineMean     Reading       // per cent, over the measured time
	EngineHigh     Reading       // per cent; one sample in twenty is higher
	Memory         time.Duration // for how long there are samples of the memory
	Engine         time.Duration // and of the engine
	Full           time.Duration // for how long more than FullFrom of the memory was taken
	// for how long there are samples of why the card is slower than it could be; 0 at most sites, where the exporter does
	// not tell
	Throttle time.Duration
	Slowed   time.Duration // and for how long it was slower, by heat or for want of power
	Idle     time.Duration // for how long the engine's use was below a limit; only Idling tells
}

// FullFrom is from which part of the memory on it is said to be full.
const FullFrom = 0.95

// summaryPart is one number of a WindowSummary, with the query of the rows that it is in.
type summaryPart string

const (
	summaryMemoryPeak summaryPart = "memory_peak"
	summaryMemoryTime summaryPart = "memory_time"
	summaryFullTime   summaryPart = "full_time"
	summaryEngineMean summaryPart = "engine_mean"
	summaryEngineHigh summaryPart = "engine_high"
	summaryEngineTime summaryPart = "engine_time"
	summaryThrottle   summaryPart = "throttle_time"
	summarySlowed     summaryPart = "slowed_time"
	summaryIdle       summaryPart = "idle_time"
)

// The parts of a look at everything, and of one at how busy the engine was.
var (
	wholeWindow = []summaryPart{summaryMemoryPeak, summaryMemoryTime, summaryFullTime, summaryEngineMean,
		summaryEngineHigh, summaryEngineTime, summaryThrottle, summarySlowed}
	idleWindow = []summaryPart{summaryEngineMean, summaryEngineTime, summaryIdle}
)

const (
	summaryTimeout = time.Minute // a day of samples of a whole site is more work than a look at now
	shortestWindow = time.Second
	meanStep       = time.Minute // of the samples that a mean is taken of, at most
	highOfTwenty   = "0.95"
	// slowedReasons looks at the bits of the reasons that are trouble: 0x4, 0x8 and 0x20, 0x40, 0x80 (health.go). PromQL
	// has no "and" of bits.
	slowedReasons = "(floor(%s / 4) %% 4 + floor(%s / 32) %% 8 > 0)"
)

// WindowSummaries asks what the pods of the given namespaces (all when there are none) did between two moments, all of
// them with one call. Time is counted in steps: a step counts when there is a sample in it or shortly before. It waits
// for the answer. Nothing of it is kept.
func (p *Poller) WindowSummaries(ctx context.Context, namespaces []string, from, until time.Time,
	step time.Duration) ([]WindowSummary, error) {
	return p.querySummaries(ctx, from, until, step, func(span time.Duration) string {
		return p.queries.summaries(namespaces,
			span, step, 0, wholeWindow)
	})
}

// Idling is WindowSummaries for the engine alone: its mean, for how long it is known, and for how long of that it was
// below so many per cent.
func (p *Poller) Idling(ctx context.Context, namespaces []string, from, until time.Time, step time.Duration,
	below float64) ([]WindowSummary, error) {
	return p.querySummaries(ctx, from, until, step, func(span time.Duration) string {
		return p.queries.summaries(namespaces, span, step, below, idleWindow)
	})
}

func (p *Poller) querySummaries(ctx context.Context, from, until time.Time, step time.Duration,
	query func(span time.Duration) string) ([]WindowSummary, error) {
	span := until.Sub(from)
	if span < shortestWindow || step < shortestWindow {
		return nil, nil
	}
	b := newSummarySampleSet(p.queries.labels, step)
	at := strconv.FormatFloat(float64(until.UnixMilli())/1000, 'f', 3, 64)
	ctx, stop := context.WithTimeout(ctx, summaryTimeout)
	defer stop()
	if _, err := p.queryFor(ctx, summaryTimeout, "query", url.Values{"query": {query(span)}, "time": {at}}, newTexts(),
		b.put); err != nil {
		return nil, err
	}
	return b.list(until), nil
}

// summaries is one query with several parts. Below is the use, in per cent, under which an engine is idle.
func (q queries) summaries(namespaces []string, span, step time.Duration, below float64, wanted []summaryPart) string {
	by := maxBy(slices.Concat(q.labels.ofDevice(), q.labels.Namespace, q.labels.Pod))
	var (
		all   = "[" + promDuration(span) + "]"
		steps = "[" + promDuration(span) + ":" + promDuration(step) + "]"
		fine  = "[" + promDuration(span) + ":" + promDuration(min(step, meanStep)) + "]"
		parts = map[summaryPart][]string{}
		add   = func(name summaryPart, query string) { parts[name] = append(parts[name], query) }
	)
	for _, in := range q.namespaceMatchers(namespaces) {
		for _, m := range q.memories(in) {
			add(summaryMemoryPeak, m.factor+by+"(max_over_time("+m.series+all+"))")
			add(summaryMemoryTime, by+"(count_over_time("+m.series+steps+"))")
			add(summaryFullTime, by+"(count_over_time((("+m.part+") > "+strconv.FormatFloat(FullFrom, 'g', -1, 64)+")"+steps+
				"))")
		}
		for _, e := range q.engines(in) {
			add(summaryEngineMean, by+"(avg_over_time("+e.percent()+fine+"))")
			add(summaryEngineHigh, e.factor+by+"(quantile_over_time("+highOfTwenty+", "+e.series+all+"))")
			add(summaryEngineTime, by+"(count_over_time("+e.percent()+steps+"))")
			// With "bool" there is a value, 0, where the engine never was idle: without one the next kind would speak in its
			// place.
			add(summaryIdle, by+"(sum_over_time(("+e.percent()+" < bool "+strconv.FormatFloat(below, 'g', -1, 64)+")"+steps+
				"))")
		}
		for _, n := range metrics[throttle].names {
			s := promSeries(n, in)
			add(summaryThrottle, by+"(count_over_time("+s+steps+"))")
			add(summarySlowed, by+"(count_over_time("+fmt.Sprintf(slowedReasons, s, s)+steps+"))")
		}
	}
	var query []string
	for _, name := range wanted {
		query = append(query, part(string(name), strings.Join(parts[name], " or ")))
	}
	return strings.Join(query, " or ")
}

// promSeries chooses rows of a series that are of devices.
func promSeries(name, in string) string {
	return name + "{" + strings.Trim(matchers[name]+","+strings.Trim(in, ","), ",") + "}"
}

// promDuration writes a length of time as PromQL reads it, in whole milliseconds.
func promDuration(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// summarySampleSet gathers the rows of the parts.
type summarySampleSet struct {
	labels    Labels
	step      time.Duration
	targets   map[podKey]bool
	doubtful  map[summaryKey]bool
	summaries map[summaryKey]map[summaryPart]float64
}

type summaryKey struct {
	pod    podKey
	device deviceKey
}

func newSummarySampleSet(l Labels, step time.Duration) *summarySampleSet {
	return &summarySampleSet{labels: l, step: step, targets: map[podKey]bool{}, doubtful: map[summaryKey]bool{},
		summaries: map[summaryKey]map[summaryPart]float64{}}
}

func (b *summarySampleSet) put(row series) {
	if t := b.labels.target(row.labels); t != (podKey{}) {
		b.targets[t] = true
	}
	pod, doubtful := b.labels.holder(row.labels)
	device, named := b.labels.device(row.labels)
	if pod == (podKey{}) || !named || len(row.samples) == 0 {
		return
	}
	key, name := summaryKey{pod, device}, summaryPart(row.labels.get(partLabel))
	if b.summaries[key] == nil {
		b.summaries[key] = map[summaryPart]float64{}
	}
	b.doubtful[key] = b.doubtful[key] || doubtful
	// Two scrapes of one device give two rows; neither is to be added to the other.
	if v := row.samples[0].value; v > b.summaries[key][name] || !hasPart(b.summaries[key], name) {
		b.summaries[key][name] = v
	}
}

func hasPart(of map[summaryPart]float64, name summaryPart) bool {
	_, ok := of[name]
	return ok
}

// list gives what was gathered, in a steady order, without the exporter's own pod, which stands beside idle cards.
func (b *summarySampleSet) list(at time.Time) []WindowSummary {
	out := make([]WindowSummary, 0, len(b.summaries))
	for key, parts := range b.summaries {
		if b.doubtful[key] && (b.targets[key.pod] || exporterPod(key.pod.pod)) {
			continue
		}
		// The most that a range may count is what fits into it; more would be a slip of whoever answers.
		lasting := func(name summaryPart) time.Duration {
			if n := parts[name]; n > 0 && n < 1e7 {
				return time.Duration(n) * b.step
			}
			return 0
		}
		out = append(out, WindowSummary{Namespace: key.pod.namespace, Pod: key.pod.pod, UUID: key.device.uuid,
			Instance:   key.device.instance,
			MemoryPeak: readPart(parts, summaryMemoryPeak, memUsed, at), EngineMean: readPart(parts, summaryEngineMean,
				utilPercent, at), EngineHigh: readPart(parts, summaryEngineHigh, utilPercent, at),
			Memory: lasting(summaryMemoryTime), Engine: lasting(summaryEngineTime), Full: lasting(summaryFullTime),
			Throttle: lasting(summaryThrottle), Slowed: lasting(summarySlowed), Idle: lasting(summaryIdle)})
	}
	slices.SortFunc(out, func(x, y WindowSummary) int {
		return strings.Compare(x.Namespace+"\x00"+x.Pod+"\x00"+x.UUID+"\x00"+x.Instance, y.Namespace+"\x00"+y.Pod+"\x00"+
			y.UUID+"\x00"+y.Instance)
	})
	return out
}

// readPart is a value that may be one of its kind. Of the ratio a little more than the whole is the whole.
func readPart(parts map[summaryPart]float64, name summaryPart, k kind, at time.Time) Reading {
	v, ok := parts[name]
	if !ok {
		return Reading{Unit: metrics[k].unit, Why: NoSeries}
	}
	if k == utilPercent && v > 100 && v <= 105 {
		v = 100
	}
	r := metrics[k].value(v).reading(k, Measured)
	r.At = at
	return r
}
