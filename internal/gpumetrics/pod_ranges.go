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

// The lines of PodRanges.
const (
	CPULine     = "cpu"     // cores, of all containers
	NetworkLine = "network" // bytes per second, received and sent
)

// shortestRate is the shortest window of a rate: kubelets are scraped once a minute at most sites, and a rate needs
// several samples.
const shortestRate = 5 * time.Minute

// PodRanges is how much CPU and network a pod, or those of PodsOf together, used in a span, as the kubelet's cAdvisor
// counts it: also of pods without a GPU, or with a share of one whose use says nothing. It waits, is shared and fails
// as Ranges does.
func (p *Poller) PodRanges(ctx context.Context, namespace, pod string, span Span) (Ranges, error) {
	key := rangeKey{podKey{namespace, pod}, "pod " + span.Name}
	return p.rangesOf(ctx, key, func() (Ranges, error) {
		return p.askPodRanges(key.pod, span, max(span.Step, shortestRate))
	})
}

func (p *Poller) askPodRanges(pod podKey, span Span, window time.Duration) (Ranges, error) {
	until := p.cfg.Now().Truncate(span.Step)
	first, steps := until.Add(-span.Long), int(span.Long/span.Step)+1
	parts := map[summaryPart][]float64{} // NaN in a gap
	at := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	_, err := p.query(context.Background(), "query_range", url.Values{
		"query": {podRangesQuery(pod, window)}, "start": {at(first)}, "end": {at(until)},
		"step": {inSeconds(span.Step)}}, newTexts(), func(row series) {
		name := summaryPart(row.labels.get(partLabel))
		if parts[name] == nil {
			parts[name] = slices.Repeat([]float64{math.NaN()}, steps)
		}
		for _, s := range row.samples {
			if i := int(s.at.Sub(first).Round(time.Second) / span.Step); i >= 0 && i < steps && countable(s.value) {
				parts[name][i] = s.value
			}
		}
	})
	if err != nil {
		p.cfg.Logger.Warn("no history of a pod's CPU and network from Prometheus", "error", err.Error())
		return Ranges{}, err
	}
	cpu, network := Line{Name: CPULine, Unit: Cores}, Line{Name: NetworkLine, Unit: BytesPerSecond}
	value := func(name summaryPart, i int) float64 {
		if parts[name] == nil {
			return math.NaN()
		}
		return parts[name][i]
	}
	for i := range steps {
		when := first.Add(time.Duration(i) * span.Step)
		cores, whole := value(usageContainers, i), value(usagePod, i)
		if math.IsNaN(cores) || whole > cores {
			cores = whole
		}
		cpu.Points = append(cpu.Points, pointOf(when, cores))
		network.Points = append(network.Points, pointOf(when, value(usageReceived, i)+value(usageSent, i)))
	}
	return Ranges{At: p.cfg.Now(), Span: span, Lines: []Line{cpu, network}}, nil
}

// pointOf is a value at a moment; NaN is not known.
func pointOf(at time.Time, v float64) Point {
	if math.IsNaN(v) {
		return Point{At: at}
	}
	return Point{At: at, Value: v, Known: true}
}

// podRangesQuery is one query with all parts, each a sum over the pods.
func podRangesQuery(pod podKey, window time.Duration) string {
	q := queries{labels: cadvisorLabels}
	names := strings.Join(slices.Concat(cadvisorLabels.Namespace, cadvisorLabels.Pod), ", ")
	over := "[" + promDuration(window) + "]"
	var query []string
	for _, of := range []struct {
		part         summaryPart
		series, rows string
		each         string // label of which a pod has several rows
	}{
		{usageContainers, "container_cpu_usage_seconds_total", `cpu=~"total|",container!="",`, ", container"},
		{usagePod, "container_cpu_usage_seconds_total", `cpu=~"total|",container="",`, ""},
		{usageReceived, "container_network_receive_bytes_total", `interface!="lo",`, ", interface"},
		{usageSent, "container_network_transmit_bytes_total", `interface!="lo",`, ", interface"},
	} {
		var rows []string
		for _, match := range q.podMatchers(pod) {
			// of counters that a node scrapes twice the busier row counts
			rows = append(rows, "max by ("+names+of.each+") (rate("+promSeries(of.series, of.rows+match)+over+"))")
		}
		query = append(query, part(string(of.part), "sum("+strings.Join(rows, " or ")+")"))
	}
	return strings.Join(query, " or ")
}

// With adds lines of another history, each at the points that this one has; what that did not look at is unknown. A
// history without lines becomes the other.
func (r Ranges) With(other Ranges) Ranges {
	if len(r.Lines) == 0 {
		return other
	}
	r.Lines = slices.Clone(r.Lines)
	for _, l := range other.Lines {
		known := map[int64]Point{}
		for _, p := range l.Points {
			known[p.At.Unix()] = p
		}
		points := make([]Point, len(r.Lines[0].Points))
		for i, p := range r.Lines[0].Points {
			points[i] = known[p.At.Unix()]
			points[i].At = p.At
		}
		l.Points = points
		r.Lines = append(r.Lines, l)
	}
	return r
}
