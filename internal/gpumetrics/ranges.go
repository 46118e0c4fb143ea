package gpumetrics

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Span is how far back a history goes, in points that a chart can show.
type Span struct {
	Name string // as in an address: "1h"
	Long time.Duration
	Step time.Duration
}

// Spans are those on offer. The exporter looks every 30 s, so that less tells nothing more.
func Spans() []Span {
	return []Span{{"1h", time.Hour, 30 * time.Second}, {"6h", 6 * time.Hour, 2 * time.Minute},
		{"24h", 24 * time.Hour, 10 * time.Minute},
		{"7d", 7 * 24 * time.Hour, time.Hour}, {"30d", 30 * 24 * time.Hour, 4 * time.Hour},
		{"90d", 90 * 24 * time.Hour, 12 * time.Hour}}
}

// SpanOf is the span with this name, else the first.
func SpanOf(name string) Span {
	all := Spans()
	return all[max(0, slices.IndexFunc(all, func(s Span) bool { return s.Name == name }))]
}

// SpanOver is the shortest span that is longer than something took, else the longest.
func SpanOver(d time.Duration) Span {
	all := Spans()
	for _, s := range all {
		if s.Long > d {
			return s
		}
	}
	return all[len(all)-1]
}

// lineKinds are the lines of a history. Of several devices their values are put together as combine says; so are those
// of a step.
var lineKinds = []struct {
	name    string
	kinds   []kind // the first that a device has
	factor  []float64
	combine func(values []float64) float64
	largest bool // within a step; else the mean
}{
	{"engine", []kind{engineRatio, utilPercent}, []float64{100, 1}, mean, false},
	{"tensor", []kind{tensorRatio}, []float64{100}, mean, false},
	{"memory", []kind{memUsed}, []float64{1}, sum, false},
	{"power", []kind{power}, []float64{1}, sum, false},
	{"temperature", []kind{temperature}, []float64{1}, slices.Max[[]float64], false},
	{"throttle", []kind{throttle}, []float64{1}, bits, true},
	{"xid", []kind{xidLast}, []float64{1}, slices.Max[[]float64], true},
}

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

// bits are all reasons of all cards.
func bits(values []float64) float64 {
	all := uint64(0)
	for _, v := range values {
		all |= uint64(v)
	}
	return float64(all)
}

// Line is one value over time; points are at every step, those in a gap unknown.
type Line struct {
	Name   string // "engine", "tensor", "memory", "power", "temperature", "throttle", "xid"; see also PodRanges
	Unit   Unit
	Points []Point
}

// Known reports whether any point is.
func (l Line) Known() bool {
	return slices.ContainsFunc(l.Points, func(p Point) bool { return p.Known })
}

// Ranges is what the devices of a pod did.
type Ranges struct {
	At      time.Time // when Prometheus answered
	Span    Span
	Devices int // how many devices there were, at different times perhaps
	Lines   []Line
}

// Line is the one with this name.
func (r Ranges) Line(name string) Line {
	for _, l := range r.Lines {
		if l.Name == name {
			return l
		}
	}
	return Line{Name: name}
}

// ReasonsOf are why a card runs slower than it could, from the bits of a point of "throttle".
func ReasonsOf(v float64) []Reason { return reasonsOf(Reading{Value: v, Source: Measured}) }

// XIDWords say what an error code means.
func XIDWords(code int) i18n.Text { return i18n.T("gpumetrics.xid." + classOf(code).name) }

// The histories that are kept, and how many may be asked for at once: a range over months costs Prometheus something.
const (
	rangeEvery  = time.Minute
	mostRanges  = 256
	rangesAtOne = 4
)

type rangeKey struct {
	pod  podKey
	span string
}

// Since is the same without what was before a moment: another one's pod of the same name, perhaps.
func (r Ranges) Since(at time.Time) Ranges {
	r.Lines = slices.Clone(r.Lines)
	for i, l := range r.Lines {
		points := slices.Clone(l.Points)
		for n, p := range points {
			points[n].Known = p.Known && !p.At.Before(at)
		}
		r.Lines[i].Points = points
	}
	return r
}

// Ranges is what a pod's devices did in a span. It waits for the first answer, as long as the context lets it; later
// ones come by themselves, after which OnFresh is called. Everybody who looks at the same is given the same answer,
// which is asked for once a minute at most. Faults: Unavailable when Prometheus does not answer, or has not yet.
func (p *Poller) Ranges(ctx context.Context, namespace, pod string, span Span) (Ranges, error) {
	key := rangeKey{podKey{namespace, pod}, span.Name}
	return p.rangesOf(ctx, key, func() (Ranges, error) { return p.askRanges(key.pod, span) })
}

func (p *Poller) rangesOf(ctx context.Context, key rangeKey, ask func() (Ranges, error)) (Ranges, error) {
	k := p.ranges.get(key, p.cfg.Now(), ask)
	if k.at.IsZero() && k.call != nil {
		select {
		case <-k.call:
			k = p.ranges.get(key, p.cfg.Now(), ask)
		case <-ctx.Done():
			return Ranges{}, fault.Wrap(fault.Unavailable, ctx.Err(), i18n.T("gpumetrics.not_yet"))
		}
	}
	if k.at.IsZero() {
		return Ranges{}, fault.Wrap(fault.Unavailable, cmp.Or(k.err, errNever), i18n.T("gpumetrics.unavailable"))
	}
	return k.value, nil
}

// Waiting reports whether an error of Ranges says that the answer is still on its way.
func Waiting(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (p *Poller) askRanges(pod podKey, span Span) (Ranges, error) {
	return p.askRows(p.queries.podMatchers(pod), span)
}

func (p *Poller) askRows(rows []string, span Span) (Ranges, error) {
	until := p.cfg.Now().Truncate(span.Step)
	r := newRanger(p.queries.labels, until, span)
	at := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	_, err := p.query(context.Background(), "query_range", url.Values{"query": {p.queries.ranges(rows, span.Step)},
		"start": {at(until.Add(-span.Long))}, "end": {at(until)}, "step": {inSeconds(span.Step)}}, newTexts(), r.put)
	if err != nil {
		p.cfg.Logger.Warn("no history of a pod from Prometheus", "error", err.Error())
		return Ranges{}, err
	}
	return r.close(p.cfg.Now()), nil
}

// inSeconds writes a length of time for PromQL.
func inSeconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }

// nameLabel keeps a series' name where functions over time drop it: without it the values of different series would be
// rows of the same labels.
const nameLabel = "portal_name"

// ranges gives every value of the devices whose rows some matchers choose. Where a step is longer than the exporter's,
// it is the mean of the step, or for errors and reasons the largest; values that cannot be are left out before that.
func (q queries) ranges(rows []string, step time.Duration) string {
	of := func(largest, bytes bool) string { // series in bytes and milliwatts reach further
		var names []string
		for _, l := range lineKinds {
			if l.largest == largest {
				for _, k := range l.kinds {
					names = append(names, metrics[k].names...)
				}
			}
		}
		names = slices.DeleteFunc(names, func(n string) bool { return (scales[n] != 0) != bytes })
		slices.Sort(names)
		most := "1e9"
		if bytes {
			most = "1e15"
		}
		var parts []string
		for _, holder := range rows {
			parts = append(parts, maxBy(slices.Concat([]string{"__name__"}, q.labels.ofDevice()))+"("+
				selector(names, holder)+")")
		}
		all := "label_replace((" + strings.Join(parts, " or ") + `) >= -50 < ` + most + `, "` + nameLabel +
			`", "$1", "__name__", "(.+)")`
		if step < 10*time.Minute {
			return all
		}
		over := "avg_over_time("
		if largest {
			over = "max_over_time("
		}
		return over + all + "[" + inSeconds(step) + ":" + inSeconds(max(time.Minute, step/12)) + "])"
	}
	return of(false, false) + " or " + of(true, false) + " or " + of(false, true)
}

// podsMark ends no name of a pod.
const podsMark = "-*"

// PodsOf stands for the pods of a Deployment, those of now and those before them, where Ranges takes the name of a pod:
// each has a name of its own. The pod of a StatefulSet keeps its name.
func PodsOf(deployment string) string { return deployment + podsMark }

// made are the characters of which Kubernetes makes names: neither a vowel nor what looks like one
// (k8s.io/apimachinery/pkg/util/rand).
const made = "[bcdfghjklmnpqrstvwxz2456789]"

// called is how rows of a pod, or of PodsOf, are found. A Deployment's pods are called after it, after their
// ReplicaSet, and five characters: other names that begin alike do not match.
func called(pod string) string {
	if deployment, ok := strings.CutSuffix(pod, podsMark); ok {
		return "=~" + quote(regexp.QuoteMeta(deployment)+"-"+made+"{1,10}-"+made+"{5}")
	}
	return "=" + quote(pod)
}

// podMatchers are one for each pair of names that a row may call its pod by; a later pair counts where those before it
// are not there.
func (q queries) podMatchers(pod podKey) []string {
	var all []string
	before := ""
	for i, ns := range q.labels.Namespace {
		all = append(all, before+ns+"="+quote(pod.namespace)+","+q.labels.Pod[i]+called(pod.pod))
		before += ns + `="",`
	}
	return all
}

// ranger sorts the rows of an answer into lines.
type ranger struct {
	labels  Labels
	first   time.Time
	span    Span
	steps   int
	devices map[deviceKey]map[kind][]float64 // NaN in a gap
}

func newRanger(l Labels, until time.Time, span Span) *ranger {
	return &ranger{labels: l, first: until.Add(-span.Long), span: span, steps: int(span.Long/span.Step) + 1,
		devices: map[deviceKey]map[kind][]float64{}}
}

func (r *ranger) put(row series) {
	name := row.labels.get(nameLabel)
	k, ok := kindOf[name]
	key, named := r.labels.device(row.labels)
	if !ok || !named || k == utilPercent && key.instance != "" { // of a slice utilisation says nothing
		return
	}
	if !metrics[k].slice {
		key = key.card() // rows of slices repeat what is the card's
	}
	if r.devices[key] == nil {
		r.devices[key] = map[kind][]float64{}
	}
	points := r.devices[key][k]
	if points == nil {
		points = slices.Repeat([]float64{math.NaN()}, r.steps)
		r.devices[key][k] = points
	}
	whole := metrics[k].whole
	for _, s := range row.samples {
		i := int(s.at.Sub(r.first).Round(time.Second) / r.span.Step)
		v := scaled(name, s.value)
		if i < 0 || i >= r.steps || blank(v) || v < metrics[k].min || v > metrics[k].max || whole && v != math.Trunc(v) {
			continue
		}
		if math.IsNaN(points[i]) || v > points[i] { // two spellings of one
			points[i] = v
		}
	}
}

func (r *ranger) close(at time.Time) Ranges {
	out := Ranges{At: at, Span: r.span}
	for _, d := range r.devices {
		// what only has power is the card that slices are cut from
		if d[engineRatio] != nil || d[utilPercent] != nil || d[memUsed] != nil {
			out.Devices++
		}
	}
	for _, l := range lineKinds {
		line := Line{Name: l.name, Unit: metrics[l.kinds[0]].unit, Points: make([]Point, r.steps)}
		var values []float64
		for i := range line.Points {
			line.Points[i].At = r.first.Add(time.Duration(i) * r.span.Step)
			values = values[:0]
			for _, d := range r.devices {
				if v, ok := valueAt(d, l.kinds, l.factor, i); ok {
					values = append(values, v)
				}
			}
			if len(values) > 0 {
				slices.Sort(values) // sums of the same are the same
				line.Points[i].Value, line.Points[i].Known = l.combine(values), true
			}
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// valueAt is the first of the kinds that a device has at a point.
func valueAt(d map[kind][]float64, kinds []kind, factors []float64, i int) (float64, bool) {
	for n, k := range kinds {
		if points := d[k]; points != nil && !math.IsNaN(points[i]) {
			v := points[i] * factors[n]
			if metrics[k].unit == Percent {
				v = min(100, v)
			}
			return v, true
		}
	}
	return 0, false
}
