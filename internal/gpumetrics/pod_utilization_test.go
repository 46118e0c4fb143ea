package gpumetrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestPodUtilizationOfOnePod: the parts of one answer become one PodUtilization for each pod and device. A mark for "no
// value" is unknown and no number, and what nobody counted is not known.
func TestPodUtilizationOfOnePod(t *testing.T) {
	from := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	asked := 0
	row := func(name summaryPart, pod string, values ...string) map[string]any {
		var samples [][]any
		for i, v := range values {
			samples = append(samples, []any{float64(from.Add(time.Duration(i+1) * 5 * time.Minute).Unix()), v})
		}
		return map[string]any{"metric": map[string]string{"UUID": "GPU-1", "GPU_I_ID": "9",
			"exported_namespace": "gpu-vision", "exported_pod": pod, partLabel: string(name)}, "values": samples}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if got := []string{r.FormValue("start"), r.FormValue("end"), r.FormValue("step")}; !cmp.Equal(got,
			[]string{"1795176300.000", "1795176600.000", "300"}) {
			t.Errorf("want the end of each slot, got %v", got)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix",
			"result": []any{
				row(utilizationHigh, "nb-0", "2.5", "101"), row(utilizationHigh, "nb-0", "4", "1"),
				row(utilizationTime, "nb-0", "2", "1"),
				row(utilizationHigh, "blank-0", "922337203685477579400", "NaN"),
			}}})
	}))
	t.Cleanup(server.Close)
	p, err := New(Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.PodUtilization(t.Context(), []string{"gpu-vision"}, from, from.Add(10*time.Minute), 5*time.Minute,
		150*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	first, second := from.Add(5*time.Minute), from.Add(10*time.Minute)
	high := func(v float64, at time.Time) Reading {
		return Reading{Value: v, Unit: Percent, Source: Measured, At: at}
	}
	none := func(at time.Time) Reading { return Reading{Unit: Percent, Why: NoValue, At: at} }
	want := []PodUtilization{
		{Namespace: "gpu-vision", Pod: "blank-0", UUID: "GPU-1", Instance: "9",
			Slots: []UtilizationSlot{{Until: first, High: none(first)}, {Until: second, High: none(second)}}},
		{Namespace: "gpu-vision", Pod: "nb-0", UUID: "GPU-1", Instance: "9",
			Slots: []UtilizationSlot{{Until: first, High: high(4, first), Known: 5 * time.Minute},
				{Until: second, High: high(100, second), Known: 150 * time.Second}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("works (-want +got):\n%s", diff)
	}
	if asked != 1 {
		t.Errorf("want one call, got %d", asked)
	}
}

// TestNothingIsKnownOfAPrometheusThatDoesNotAnswer: an error is an error and never an empty list, which would be
// everybody's rest.
func TestNothingIsKnownOfAPrometheusThatDoesNotAnswer(t *testing.T) {
	for name, answer := range map[string]string{"an error": `{"status":"error","error":"x"}`, "no JSON": `<html>`,
		"half an answer": `{"status":"success","data":{"resultType":"matrix","result":[`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
		}))
		t.Cleanup(server.Close)
		p, err := New(Config{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if _, err := p.PodUtilization(t.Context(), nil, now.Add(-5*time.Minute), now, 5*time.Minute,
			time.Minute); err == nil {
			t.Errorf("%s: want an error from Works", name)
		}
		if _, err := p.Clock(t.Context()); err == nil {
			t.Errorf("%s: want an error from Clock", name)
		}
	}
}

// TestWorksOfARealPrometheus: only it can say that the query is PromQL, and that a gap that its look back would bridge
// is one.
func TestWorksOfARealPrometheus(t *testing.T) {
	p, err := New(Config{URL: startPrometheus(t, realProgram(t), recorded(t, "dcgm-mig.prom"), false)})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "the clock of Prometheus", func() bool {
		at, err := p.Clock(t.Context())
		return err == nil && time.Since(at).Abs() < time.Minute
	})
	var works []PodUtilization
	within(t, "a slot that is known from its beginning to its end", func() bool {
		until := time.Now().Truncate(2 * time.Second)
		works, err = p.PodUtilization(t.Context(), nil, until.Add(-4*time.Second), until, 4*time.Second, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range works {
			if len(w.Slots) == 1 && w.Slots[0].Known == 4*time.Second && w.Slots[0].High.Known() && w.Instance != "" {
				return true
			}
		}
		return false
	})
	// nothing is there of a time that has not come, whatever was there a moment before
	until := time.Now().Add(time.Hour).Truncate(2 * time.Second)
	if works, err = p.PodUtilization(t.Context(), nil, until.Add(-4*time.Second), until, 4*time.Second,
		2*time.Second); err != nil || len(works) > 0 {
		t.Errorf("want nothing of the future, got %v %v", works, err)
	}
}

var within = waittest.For
