package charts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics/promtest"
)

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recordings are expositions of dcgm-exporter. They use the same cards: each is a site of its own here.
var recordings = []string{"mig", "k8s", "dra", "timeslicing"}

// scraped reads an exposition. A scrape that honours labels adds the exporter's own pod only where the row names none;
// any other moves the row's to exported_*.
func scraped(t *testing.T, text string, exporter, honour bool) (rows []promtest.Row) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"namespace": "nvidia-gpu-operator", "pod": "nvidia-dcgm-exporter-x7k2p",
		"container": "nvidia-dcgm-exporter"}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].Metric {
			row := map[string]string{"__name__": name}
			for _, l := range m.Label {
				if l.GetValue() != "" {
					row[l.GetName()] = l.GetValue()
				}
			}
			for label, value := range own {
				switch {
				case !exporter:
				case row[label] == "":
					row[label] = value
				case !honour:
					row["exported_"+label], row[label] = row[label], value
				}
			}
			rows = append(rows, promtest.Row{Labels: row, Value: numberOf(m)})
		}
	}
	return rows
}

func numberOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return m.Untyped.GetValue()
}

// hourOfSeries writes what a Prometheus has after an hour, and gives the moment of the last scrape. Keep chooses rows.
func hourOfSeries(t *testing.T, server string, honour bool, keep func(promtest.Row) bool) time.Time {
	t.Helper()
	var devices []promtest.Row
	for _, name := range recordings {
		text := testdata(t, "../../internal/gpumetrics/testdata/dcgm-"+name+".prom")
		devices = append(devices, scraped(t, strings.ReplaceAll(text, `UUID="GPU-`, `UUID="`+name+"-"), true, honour)...)
	}
	devices = append(devices, scraped(t, testdata(t, "dcgm-more.prom"), true, honour)...)
	portal := testdata(t, "portal.prom.txt")
	const step, hour = 4 * time.Minute, 64 * time.Minute
	end := time.Now().Truncate(time.Minute)
	for at, n := end.Add(-hour), 1; !at.After(end); at, n = at.Add(step), n+1 {
		rows := slices.Concat(devices, scraped(t, fmt.Sprintf(portal, n), false, true))
		if at.Equal(end) {
			rows = append(rows, scraped(t, testdata(t, "dcgm-fresh.prom"), true, honour)...)
		}
		promtest.Write(t, server, slices.DeleteFunc(rows, func(r promtest.Row) bool { return !keep(r) }), at)
	}
	return end
}

// row is one of an answer: its labels, and its number as the console would round it.
type row struct {
	labels map[string]string
	value  float64
}

func askAt(t *testing.T, server, query string, at time.Time) (rows []row) {
	t.Helper()
	answer, err := http.PostForm(server+"/api/v1/query", url.Values{"query": {query},
		"time": {strconv.FormatInt(at.Unix(), 10)}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if said.Error != "" {
		t.Errorf("%s\n%s", query, said.Error)
	}
	for _, r := range said.Data.Result {
		v, err := strconv.ParseFloat(r.Value[1].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row{r.Metric, v})
	}
	return rows
}

var legendLabel = regexp.MustCompile(`{{\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*}}`)

// drawn is what a person reads in a panel, in the order of the alphabet: the number, lines with their names, or rows of
// a table in which targets with the same labels are one.
func (p boardPanel) drawn(t *testing.T, server, project string, at time.Time) (lines []string) {
	t.Helper()
	table, cells := map[string]map[string]string{}, func(v float64) string {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	for _, target := range p.Targets {
		for _, r := range askAt(t, server, strings.ReplaceAll(target.Expr, "$namespace", project), at) {
			if p.Type != "table" {
				name := legendLabel.ReplaceAllStringFunc(target.LegendFormat, func(label string) string {
					return r.labels[legendLabel.FindStringSubmatch(label)[1]]
				})
				lines = append(lines, strings.TrimSpace(strings.TrimSpace(name)+" "+cells(r.value)))
				continue
			}
			key := fmt.Sprint(r.labels)
			if table[key] == nil {
				table[key] = maps.Clone(r.labels)
			}
			table[key]["Value #"+target.RefID] = cells(r.value)
		}
	}
	for _, labels := range table {
		var columns []string
		for _, s := range p.Styles {
			columns = append(columns, labels[s.Pattern])
		}
		lines = append(lines, strings.Join(columns, "|"))
	}
	slices.Sort(lines)
	return lines
}

// TestDashboardsInPrometheus: every panel over recorded series, whether Prometheus honours the exporter's labels or
// not. A member of a project sees in it what the console's tenancy leaves: rows whose own namespace is the project.
func TestDashboardsInPrometheus(t *testing.T) {
	all := boards(t, needed)
	everywhere := func(promtest.Row) bool { return true }
	both := map[string]map[string][]string{"cluster": clusterPanels, "project": projectPanels}
	for name, c := range map[string]struct {
		honour bool
		keep   func(promtest.Row) bool
		want   map[string]map[string][]string
	}{
		"labels are honoured":     {true, everywhere, both},
		"labels are not honoured": {false, everywhere, both},
		"a member of the project": {true, func(r promtest.Row) bool { return r.Labels["namespace"] == "tenant-red" },
			map[string]map[string][]string{"project": projectPanels}},
	} {
		t.Run(name, func(t *testing.T) {
			server := promtest.Start(t, promtest.Prometheus)
			at := hourOfSeries(t, server, c.honour, c.keep)
			for board, want := range c.want {
				got := map[string][]string{}
				for _, p := range all[board].panels() {
					got[p.Title] = p.drawn(t, server, "tenant-red", at)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got)\n%s", board, diff)
				}
			}
		})
	}
}

// What the panels show. Four sites are in one: nb-anna-0 of tenant-red holds a card in one recording, and slices in
// two.
var clusterPanels = map[string][]string{
	"Physical GPUs":                   {"11"},
	"MIG instances":                   {"6"},
	"Power of all GPUs":               {"2672"}, // a card once, however many slices repeat its power
	"Requests that wait for approval": {"3"},
	// a shared card counts with what each pod does on it; the mark for "no value" gives way to GPU_UTIL
	"Whole and shared GPUs, busy": {"tenant-blue 0.7376", "tenant-green 0.6951", "tenant-red 0.17"},
	// none of tenant-green: GPU_UTIL says 0 of a slice, and that is no value
	"MIG instances, busy": {"tenant-blue 3g.40gb 0.8733", "tenant-red 1g.10gb 0.2206",
		"tenant-red 2g.20gb 0.12"},
	"GPU memory, used of what is held": {"tenant-blue 0.7668", "tenant-green 0.4388", "tenant-red 0.1821"},
	"GPUs and MIG instances held": {
		"tenant-blue|NVIDIA H100 80GB HBM3|3g.40gb|1", "tenant-blue|NVIDIA H100 80GB HBM3||2", "tenant-blue|NVIDIA L4||1",
		"tenant-green|A100|1g.5gb|1", "tenant-green|A100||1", "tenant-green|NVIDIA H100 80GB HBM3||1", "tenant-red|A100||1",
		"tenant-red|NVIDIA H100 80GB HBM3|1g.10gb|2", "tenant-red|NVIDIA H100 80GB HBM3|2g.20gb|1",
		"tenant-red|NVIDIA H100 80GB HBM3||1", "tenant-red|NVIDIA L4||1",
	},
	"Held for an hour without any work": {
		"tenant-blue|nb-lea-0|NVIDIA L4||0", "tenant-red|nb-anna-0|NVIDIA H100 80GB HBM3|1g.10gb|0",
		"tenant-red|nb-anna-0|NVIDIA H100 80GB HBM3||0",
	},
	"Power, by node (W)": {"old-01 90", "worker-h100-02 801.5", "worker-h100-03 919.7", "worker-h100-04 796.1",
		"worker-l4-01 64.31"},
	"Hottest GPU, by node (°C)": {"worker-h100-02 57", "worker-h100-03 61", "worker-h100-04 60", "worker-l4-01 61"},
	"Last XID error of each GPU": {
		"worker-h100-02|1||k8s-7c9d3b14-2e55-4f3a-8d60-5a8e1b7f4c02|GPU memory page fault|31",
		"worker-h100-03|0|9|mig-1f0e8a52-6b1c-4c0e-9a53-0d7f6c2b9e01|GPU stopped processing|43",
	},
	"Devices, by who holds them":               {"main|H100|nvidia.com/gpu|card||5|1|2|0"},
	"Requests that wait":                       {"for approval 3", "for seat 1"},
	"Workloads":                                {"running 12"},
	"License seats taken":                      {"vws 0.4"},
	"Time until ready, nine starts in ten (s)": {"small 54"},
}

var projectPanels = map[string][]string{
	"GPUs that pods ask for": {"nvidia_com_gpu||4", "nvidia_com_mig_1g_10gb|1|"},
	"Quota":                  {"requests.nvidia.com/gpu|4|6"},
	"Busy, by pod":           {"fresh-0 0", "nb-anna-0 0.255", "nb-anna-0 1g.10gb 0.2206", "nb-jonas-0 2g.20gb 0.12"},
	"GPU memory used, by pod": {"fresh-0 0", "nb-anna-0 1g.10gb 3.134e+09", "nb-anna-0 8.142e+09",
		"nb-jonas-0 2g.20gb 2.796e+09"},
	"What pods hold": {
		"fresh-0|A100||0|0", "nb-anna-0|NVIDIA H100 80GB HBM3|1g.10gb|1.573e+07|0",
		"nb-anna-0|NVIDIA H100 80GB HBM3|1g.10gb|3.118e+09|0.4412", "nb-anna-0|NVIDIA H100 80GB HBM3||1.7e+09|0",
		"nb-anna-0|NVIDIA L4||6.442e+09|0.51", "nb-jonas-0|NVIDIA H100 80GB HBM3|2g.20gb|2.796e+09|0.12",
	},
	"Held for an hour without any work": {"nb-anna-0|NVIDIA H100 80GB HBM3|1g.10gb|0",
		"nb-anna-0|NVIDIA H100 80GB HBM3||0"},
}
