package gpumetrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// fakePrometheus answers the Poller's own queries from an exposition, as a Prometheus that has just scraped it would.
type fakePrometheus struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	labels   Labels
	rows     []map[string]string // labels with "__name__" and the value under "="
	scraped  time.Time
	since    []answered // answers to since when errors are there
	clock    func() time.Time
	requests []string                                          // what was asked, in order
	instead  func(w http.ResponseWriter, r *http.Request) bool // true when it has answered
}

func newFake(t *testing.T, clock func() time.Time) *fakePrometheus {
	f := &fakePrometheus{t: t, clock: clock, labels: DefaultLabels()}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// scrape takes an exposition in. Honouring labels or not is what honor_labels does: without it the exporter's pod takes
// the plain names.
func (f *fakePrometheus) scrape(exposition string, honour bool) {
	f.t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(exposition))
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows, f.scraped = nil, f.clock()
	for name, family := range families {
		for _, m := range family.Metric {
			row := map[string]string{"__name__": name, "=": strconv.FormatFloat(valueOf(m), 'g', -1, 64)}
			for _, l := range m.Label {
				row[l.GetName()] = l.GetValue()
			}
			if !honour {
				target(row)
			}
			f.rows = append(f.rows, row)
		}
	}
}

func target(row map[string]string) {
	for name, own := range map[string]string{"namespace": "nvidia-gpu-operator", "pod": "nvidia-dcgm-exporter-x7k2p",
		"container": "nvidia-dcgm-exporter"} {
		if old := row[name]; old != "" {
			row["exported_"+name] = old
		}
		row[name] = own
	}
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return m.Untyped.GetValue()
}

func (f *fakePrometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.FormValue("query")
	f.requests = append(f.requests, r.URL.Path+" "+query)
	if f.instead != nil && f.instead(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	kind, result := "vector", []any{}
	if strings.HasSuffix(r.URL.Path, "query_range") {
		kind = "matrix"
		for _, row := range f.max("DCGM_FI_PROF_GR_ENGINE_ACTIVE", slices.Concat(f.labels.UUID, f.labels.Instance,
			f.labels.Namespace, f.labels.Pod), "") {
			result = append(result, map[string]any{"metric": row.labels, "values": rangeOf(f.t, r, row.value)})
		}
	} else {
		for _, row := range f.instant(query) {
			result = append(result, map[string]any{"metric": row.labels, "value": []any{seconds(f.clock()), row.value}})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": kind,
		"result": result}})
}

// answered is one row of an answer.
type answered struct {
	labels map[string]string
	value  string
}

// instant evaluates the three queries by what they mean; TestRealPrometheus asks whether they say it.
func (f *fakePrometheus) instant(query string) (rows []answered) {
	l := f.labels
	q := newQueries(l)
	device := l.ofDevice()
	switch query {
	default:
		if strings.Contains(query, partOther+"/") {
			rows = f.since
		}
	case q.names:
		for _, row := range f.rows {
			if strings.HasPrefix(row["__name__"], "DCGM_") {
				rows = append(rows, answered{map[string]string{"__name__": row["__name__"]}, "1"})
			}
		}
	case q.devices:
		for _, name := range []string{"DCGM_FI_DEV_FB_USED", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL",
			"DCGM_FI_DEV_POWER_USAGE", "gpu_used_vram", "habanalabs_memory_used_bytes", "xpum_memory_used_bytes",
			"hw_memory_usage_bytes", modelOf} {
			for _, row := range f.max(name, slices.Concat(device, []string{amdMemory}, l.Profile, l.Model, l.Node,
				targetLabels, claimLabels, l.Namespace, l.Pod),
				"") {
				rows = append(rows, answered{row.labels, fmt.Sprint(seconds(f.scraped))})
			}
		}
	case q.values:
		for name, k := range kindOf {
			switch {
			case k < firstCardKind:
				rows = append(rows, f.max(name, slices.Concat([]string{"__name__"}, device, l.Namespace, l.Pod), "")...)
			case k < kinds:
				rows = append(rows, f.max(name, slices.Concat([]string{"__name__"}, l.ofCard()), partCard)...)
			}
		}
	case q.health:
		for name, k := range kindOf {
			switch {
			case k < kinds:
			case k == nvlinkRate: // nothing moves between two scrapes of a file
				for _, row := range f.max(name, l.UUID, partNVLink) {
					rows = append(rows, answered{row.labels, "0"})
				}
			case metrics[k].slice:
				rows = append(rows, f.max(name, slices.Concat([]string{"__name__", "xid"}, device), "")...)
			default:
				rows = append(rows, f.max(name, slices.Concat([]string{"__name__"}, l.UUID), partCard)...)
			}
		}
	}
	return rows
}

// max is "max by (…)" over the series of a name.
func (f *fakePrometheus) max(name string, by []string, part string) []answered {
	groups := map[string]answered{}
	for _, row := range f.rows {
		if row["__name__"] != name || !chosen(row, matchers[name]) {
			continue
		}
		kept := map[string]string{}
		for _, l := range by {
			if row[l] != "" {
				kept[l] = row[l]
			}
		}
		if part != "" {
			kept[partLabel] = part
		}
		key := fmt.Sprint(kept)
		old, seen := groups[key]
		if !seen || number([]byte(row["="])) > number([]byte(old.value)) || math.IsNaN(number([]byte(old.value))) {
			groups[key] = answered{kept, row["="]}
		}
	}
	return slices.Collect(maps.Values(groups))
}

// chosen evaluates matchers of PromQL.
func chosen(row map[string]string, matchers string) bool {
	for _, m := range regexp.MustCompile(`(\w+)(=~|!=|=)"([^"]*)"`).FindAllStringSubmatch(matchers, -1) {
		is := row[m[1]] == m[3]
		if m[2] == "=~" {
			is = regexp.MustCompile("^(?:" + m[3] + ")$").MatchString(row[m[1]])
		}
		if is == (m[2] == "!=") {
			return false
		}
	}
	return true
}

// rangeOf repeats a ratio as per cent over the range, with a gap of ten minutes in the middle.
func rangeOf(t *testing.T, r *http.Request, value string) (points []any) {
	start, _ := strconv.ParseInt(r.FormValue("start"), 10, 64)
	end, _ := strconv.ParseInt(r.FormValue("end"), 10, 64)
	step, _ := strconv.ParseInt(r.FormValue("step"), 10, 64)
	if step == 0 {
		t.Error("query_range without a step")
		return nil
	}
	ratio, _ := strconv.ParseFloat(value, 64)
	for at := start; at <= end; at += step {
		if at >= start+1500 && at < start+2100 {
			continue
		}
		points = append(points, []any{at, strconv.FormatFloat(100*ratio, 'g', -1, 64)})
	}
	return points
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (f *fakePrometheus) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func (f *fakePrometheus) answerInstead(h func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instead = h
}

// recorded reads one of the expositions in testdata, which say in their first lines what they are made from.
func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 21, 9, 0, 20, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
