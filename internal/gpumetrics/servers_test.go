package gpumetrics

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics/promtest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestBothServersTellTheSame gives the samples of each recorded exposition, every 15 s of more than an hour, to
// Prometheus and to VictoriaMetrics, and asks both every query that there is. What differs between them and is no
// reading is left out:
//
//   - the time of a sample: each server rounds the moment of a query in its own way, by less than a second
//   - why a value is unknown: VictoriaMetrics drops samples that are NaN, so that a value that cannot be is one that is
//     not there
//   - nvlinkTolerance of a rate: Prometheus extrapolates to the whole of its window, VictoriaMetrics does not
func TestBothServersTellTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.prom"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no expositions: %v", err)
	}
	now := time.Now().Truncate(time.Second)
	var all []promtest.Row
	for _, file := range files {
		all = append(all, rowsOf(t, filepath.Base(file))...)
	}
	told := map[string]map[string]any{}
	for _, name := range []string{promtest.Prometheus, promtest.Victoria} {
		server := promtest.Start(t, name)
		writeSamples(t, server, all, now)
		told[name] = benchmarkServer(t, server, len(all), now)
	}
	one, other := told[promtest.Prometheus], told[promtest.Victoria]
	for _, what := range slices.Sorted(maps.Keys(one)) {
		if d := diff.Diff(one[what], other[what], sameReadings...); d != "" {
			t.Errorf("%s (-Prometheus +VictoriaMetrics):\n%s", what, d)
		}
	}
	peaks := map[string]float64{}
	for _, s := range one["stretches"].([]WindowSummary) {
		peaks[s.Pod] = s.MemoryPeak.Value
		if full := strings.HasPrefix(s.Pod, "llm-0-amd"); full != (s.Full > 0) && !strings.Contains(s.Pod, "dcgm") {
			t.Errorf("%s: full for %s", s.Pod, s.Full)
		}
	}
	for pod, want := range map[string]float64{"high-utilization-57ls6-amd": 185000, "llm-1-amd-partitions": 11000,
		"llm-0": 65536, "sim-0": 12288} {
		if peaks[pod] != want {
			t.Errorf("%s: want a peak of %g MiB, got %g: %v", pod, want, peaks[pod], peaks)
		}
	}
	if n := len(one["devices"].(map[string]Live)); n < 12 {
		t.Errorf("want the devices of the pods of all files compared, got those of %d pods", n)
	}
}

const (
	// nvlinkTolerance: of fifteen seconds between samples in a window of five minutes, the part that only Prometheus adds.
	nvlinkTolerance = 0.06
	// roundTolerance: VictoriaMetrics keeps numbers as decimals of at least 15 digits.
	roundTolerance = 1e-12
)

var sameReadings = []diff.Option{
	diff.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() < 2*time.Second || a.IsZero() || b.IsZero() }),
	diff.Comparer(func(a, b Why) bool { return true }),
	diff.FilterPath(func(p diff.Path) bool { return !ofNVLink(p) }, cmpopts.EquateApprox(roundTolerance, 0)),
	diff.FilterPath(ofNVLink, cmpopts.EquateApprox(nvlinkTolerance, 0)),
	cmpopts.EquateEmpty(),
	diff.AllowUnexported(),
}

func ofNVLink(p diff.Path) bool {
	return slices.ContainsFunc(p, func(s diff.PathStep) bool { return s.String() == ".NVLinkRate" })
}

// benchmarkServer is everything that a server is ever asked.
func benchmarkServer(t *testing.T, server string, rows int, now time.Time) map[string]any {
	t.Helper()
	live, err := New(Config{URL: server})
	if err != nil {
		t.Fatal(err)
	}
	// Both are asked for the same moment, that of the last sample: a slow machine asks the second server much later.
	p, err := New(Config{URL: server, Params: url.Values{"time": {strconv.FormatInt(now.Unix(), 10)}},
		Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	// Both are asked for the same past, which is so old that each shows all of it.
	then, err := New(Config{URL: server, Now: func() time.Time { return now.Add(-time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	must := func(what string, v any, err error) {
		if err != nil {
			t.Errorf("%s of %s: %v", what, server, err)
		}
		out[what] = v
	}
	// A server that has just been given samples needs a moment to show them: VictoriaMetrics the newest of each series
	// last.
	count := func(query string) (shown float64, err error) {
		_, err = p.query(t.Context(), "query", url.Values{"query": {query}}, newTexts(), func(s series) {
			shown = s.samples[0].value
		})
		return shown, err
	}
	waittest.Until(t, "all series", func() error {
		all, err := count(`count({__name__!=""})`)
		whole, newestErr := count(`count(last_over_time({__name__!=""}[1s]))`)
		if err == nil && newestErr == nil && all >= float64(rows) && whole == all {
			return nil
		}
		return fmt.Errorf("%s shows %g of %d series, %g of them whole: %w", server, all, rows, whole,
			errors.Join(err, newestErr))
	})
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	devices := map[string]Live{}
	for pod := range p.samples.pods {
		now := p.Live(pod.namespace, pod.pod)
		now.At = time.Time{}
		devices[pod.namespace+"/"+pod.pod] = now
		for _, span := range Spans() {
			r, err := then.askRanges(pod, span)
			lines := map[string][]Point{}
			for _, l := range r.Lines {
				lines[l.Name] = l.Points
			}
			must("ranges "+span.Name+" "+pod.namespace+"/"+pod.pod, lines, err)
		}
	}
	out["devices"] = devices
	out["fleet"] = p.Fleet().Nodes
	hour, err := then.askPast(now)
	must("past", hour.use, err)
	for k := range p.samples.devices {
		r, err := then.askRows(then.queries.cardMatchers(k.uuid), SpanOf("6h"))
		must("card "+k.uuid, r.Line("engine").Points, err)
	}
	health := p.Report().Health
	for _, c := range health {
		for _, trouble := range c.Issues {
			delete(trouble.What.Args, "Time") // in whole minutes; the time itself stands in XIDs
		}
	}
	out["health"] = health
	licenses, err := live.Licenses(t.Context())
	slices.SortFunc(licenses, func(a, b LicenseSample) int { return cmp.Compare(a.UUID, b.UUID) })
	must("licenses", licenses, err)
	until := now.Add(-2 * time.Minute).Truncate(time.Minute)
	stretches, err := live.WindowSummaries(t.Context(), nil, until.Add(-time.Hour), until, time.Minute)
	must("stretches", stretches, err)
	idling, err := live.Idling(t.Context(), nil, until.Add(-time.Hour), until, time.Minute, 5)
	must("idling", idling, err)
	works, err := live.PodUtilization(t.Context(), nil, until.Add(-time.Hour), until, 5*time.Minute, time.Minute)
	must("works", works, err)
	clock, err := live.Clock(t.Context())
	if d := time.Since(clock).Abs(); err != nil || d > 10*time.Second {
		t.Errorf("the clock of %s is %s away, %v", server, d, err)
	}
	past := map[string][]Point{}
	for pod := range p.samples.pods {
		points, err := then.History(t.Context(), pod.namespace, pod.pod, MetricEngine, until.Add(-50*time.Minute), until)
		must("history", nil, err)
		past[pod.namespace+"/"+pod.pod] = points
	}
	out["history"] = past
	return out
}

// rowsOf reads an exposition as a scrape that does not honour labels does. Files stand for sites of their own: the same
// made-up card in two of them is two cards.
func rowsOf(t *testing.T, file string) (rows []promtest.Row) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(recorded(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].Metric {
			row := map[string]string{"__name__": name}
			for _, l := range m.Label {
				row[l.GetName()] = l.GetValue()
			}
			target(row)
			for _, id := range slices.Concat(DefaultLabels().UUID, DefaultLabels().Pod[:1]) {
				if row[id] != "" {
					row[id] += "-" + strings.TrimSuffix(file, ".prom")
				}
			}
			rows = append(rows, promtest.Row{Labels: row, Value: valueOf(m)})
		}
	}
	return rows
}

const (
	scrapedEvery = 15 * time.Second
	scrapedFor   = 75 * time.Minute
)

// writeSamples sends what would have been scraped, oldest first. Engines are busy in waves, NVLink's counters go on,
// the others stay.
func writeSamples(t *testing.T, server string, rows []promtest.Row, now time.Time) {
	t.Helper()
	for at, n := now.Add(-scrapedFor), 0; !at.After(now); at, n = at.Add(scrapedEvery), n+1 {
		list := make([]promtest.Row, len(rows))
		for i, r := range rows {
			switch name := r.Labels["__name__"]; {
			case strings.Contains(name, "PROF_GR_ENGINE"):
				r.Value *= 0.5 + 0.5*math.Abs(math.Sin(float64(n)/20))
			case strings.Contains(name, "NVLINK_BANDWIDTH"):
				r.Value += 1e6 * float64(n)
			}
			list[i] = r
		}
		promtest.Write(t, server, list, at)
	}
}
