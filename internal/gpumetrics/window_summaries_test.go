package gpumetrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestWindowSummariesOfOnePod: the parts of one answer become one WindowSummary for each pod and device; a mark for "no
// value" is unknown and no number, and the exporter's own pod is nobody.
func TestWindowSummariesOfOnePod(t *testing.T) {
	until := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	var asked []string
	row := func(name summaryPart, value string, labels ...string) map[string]any {
		metric := map[string]string{"UUID": "GPU-1", "GPU_I_ID": "9", "exported_namespace": "gpu-vision",
			"exported_pod": "nb-0", "namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-1", partLabel: string(name)}
		for i := 0; i+1 < len(labels); i += 2 {
			metric[labels[i]] = labels[i+1]
		}
		return map[string]any{"metric": metric, "value": []any{float64(until.Unix()), value}}
	}
	idle := row(summaryMemoryPeak, "3")
	delete(idle["metric"].(map[string]string), "exported_namespace")
	delete(idle["metric"].(map[string]string), "exported_pod")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.FormValue("query"))
		if got := r.FormValue("time"); got != "1795132800.000" {
			t.Errorf("want the end of the stretch as the time of the query, got %s", got)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector",
			"result": []any{
				row(summaryMemoryPeak, "6144"), row(summaryMemoryPeak, "6000", "exported_namespace", "gpu-vision"),
				row(summaryMemoryTime, "288"), row(summaryFullTime, "3"),
				row(summaryEngineMean, "4.5"), row(summaryEngineHigh, "101"), row(summaryEngineTime, "280"),
				row(summaryThrottle, "288"), row(summarySlowed, "12"),
				row(summaryMemoryPeak, "9223372036854775794", "exported_pod", "blank-0"),
				row(summaryEngineMean, "NaN", "exported_pod", "blank-0"), idle,
			}}})
	}))
	t.Cleanup(server.Close)
	p, err := New(Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.WindowSummaries(t.Context(), []string{"gpu-vision"}, until.Add(-24*time.Hour), until, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	mib := func(v float64) Reading { return Reading{Value: v, Unit: MiB, Source: Measured, At: until} }
	percent := func(v float64) Reading { return Reading{Value: v, Unit: Percent, Source: Measured, At: until} }
	unknown := func(u Unit, why Why) Reading { return Reading{Unit: u, Why: why, At: until} }
	none := Reading{Unit: Percent, Why: NoSeries}
	want := []WindowSummary{
		{Namespace: "gpu-vision", Pod: "blank-0", UUID: "GPU-1", Instance: "9", MemoryPeak: unknown(MiB, NoValue),
			EngineMean: unknown(Percent, NoValue), EngineHigh: none},
		{Namespace: "gpu-vision", Pod: "nb-0", UUID: "GPU-1", Instance: "9", MemoryPeak: mib(6144), EngineMean: percent(4.5),
			EngineHigh: percent(100),
			Memory:     24 * time.Hour, Engine: 280 * 5 * time.Minute, Full: 15 * time.Minute, Throttle: 24 * time.Hour,
			Slowed: time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
	if len(asked) != 1 || strings.Count(asked[0], "gpu-vision") == 0 {
		t.Errorf("want one call for the namespaces, got %d: %.200q", len(asked), asked)
	}
}

// TestStretchesOfARealPrometheus: only it can say that the query is PromQL, and that a slice's row is not taken for the
// card's.
func TestStretchesOfARealPrometheus(t *testing.T) {
	text := recorded(t, "dcgm-mig.prom") + "# TYPE DCGM_FI_DEV_CLOCKS_EVENT_REASONS gauge\n" +
		`DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu="1",UUID="GPU-7c9d3b14-2e55-4f3a-8d60-5a8e1b7f4c02",namespace="tenant-green",pod="train-0"} 68` + "\n"
	p, err := New(Config{URL: startPrometheus(t, realProgram(t), text, false)})
	if err != nil {
		t.Fatal(err)
	}
	enough := func(uses []WindowSummary) bool {
		for _, u := range uses {
			if u.Pod == "train-0" {
				return u.Memory >= 3*time.Second && u.Slowed >= 3*time.Second
			}
		}
		return false
	}
	var uses []WindowSummary
	waittest.Until(t, "three seconds of samples", func() error {
		now := time.Now()
		if uses, err = p.WindowSummaries(t.Context(), []string{"tenant-red", "tenant-blue", "tenant-green", `odd"} name\`},
			now.Add(-time.Hour), now, time.Second); enough(uses) {
			return nil
		}
		return fmt.Errorf("got %w, %+v", err, uses)
	})
	peaks := map[string]float64{}
	for _, u := range uses {
		peaks[u.Pod+" "+u.Instance] = u.MemoryPeak.Value
		if !u.EngineMean.Known() || !u.EngineHigh.Known() || u.Engine == 0 {
			t.Errorf("want the engine of %s known, got %+v", u.Pod, u)
		}
		if u.Idle != 0 {
			t.Errorf("want no word about idling where it was not asked for, got %+v", u)
		}
		if u.Pod == "train-0" && u.Full < 3*time.Second || u.Pod == "nb-anna-0" && u.Full != 0 {
			t.Errorf("want a full card to be full and an empty slice not, got %+v", u)
		}
	}
	want := map[string]float64{"mistral-predictor-7d9c5b6f7c-5wq8z 2": 31208, "nb-jonas-0 3": 2666, "nb-anna-0 9": 15,
		"train-0 ": 78822}
	if diff := cmp.Diff(want, peaks); diff != "" {
		t.Errorf("peaks (-want +got):\n%s", diff)
	}
}

// TestIdlingOfARealPrometheus: an engine that is busy is not idle, and where a ratio and a percentage are there, only
// the ratio counts.
func TestIdlingOfARealPrometheus(t *testing.T) {
	row := func(name, uuid, pod string, value string) string {
		return name + `{gpu="1",UUID="` + uuid + `",namespace="team",pod="` + pod + `"} ` + value + "\n"
	}
	text := "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" + row("DCGM_FI_DEV_GPU_UTIL", "GPU-1", "busy-0", "0") +
		row("DCGM_FI_DEV_GPU_UTIL", "GPU-2", "old-0", "4") + row("DCGM_FI_DEV_GPU_UTIL", "GPU-3", "works-0", "5") +
		"# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge\n" + row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GPU-1", "busy-0", "0.06") +
		row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GPU-4", "idle-0", "0.02") +
		row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GPU-5", "blank-0", "9223372036854775794")
	p, err := New(Config{URL: startPrometheus(t, realProgram(t), text, false)})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]WindowSummary{}
	waittest.Until(t, "three seconds of samples", func() error {
		now := time.Now()
		list, err := p.Idling(t.Context(), []string{"team"}, now.Add(-time.Hour), now, time.Second, 5)
		for _, s := range list {
			of[s.Pod] = s
		}
		if of["idle-0"].Engine >= 3*time.Second {
			return nil
		}
		return fmt.Errorf("got %w, %+v", err, list)
	})
	for pod, mean := range map[string]float64{"busy-0": 6, "works-0": 5, "idle-0": 2, "old-0": 4} {
		s := of[pod]
		want := time.Duration(0)
		if mean < 5 {
			want = s.Engine
		}
		if s.EngineMean.Value != mean || s.Idle != want || s.MemoryPeak.Known() {
			t.Errorf("want %s at %g per cent idle for %s, got %+v", pod, mean, want, s)
		}
	}
	if of["blank-0"].EngineMean.Known() {
		t.Errorf("a mark for no value is no use, got %+v", of["blank-0"])
	}
}
