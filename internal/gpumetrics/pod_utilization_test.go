package gpumetrics

import (
	"encoding/json"
	"fmt"
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
				row(memoryChange, "nb-0", "2048", "0"), row(memoryChange, "nb-0", "1", "2147483632"),
				row(memoryApart, "", "1"),
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
	unknown := Reading{Unit: MiB, Why: NoSeries}
	changed := Reading{Value: 2048, Unit: MiB, Source: Measured, At: first}
	absurd := Reading{Unit: MiB, Why: NoValue, At: second}
	want := []PodUtilization{
		{Namespace: "gpu-vision", Pod: "blank-0", UUID: "GPU-1", Instance: "9",
			Slots: []UtilizationSlot{{Until: first, High: none(first), MemoryChange: unknown, OwnMemory: true},
				{Until: second, High: none(second), MemoryChange: unknown}}},
		{Namespace: "gpu-vision", Pod: "nb-0", UUID: "GPU-1", Instance: "9",
			Slots: []UtilizationSlot{{Until: first, High: high(4, first), MemoryChange: changed, OwnMemory: true,
				Known: 5 * time.Minute},
				{Until: second, High: high(100, second), MemoryChange: absurd, Known: 150 * time.Second}}},
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

// loads is an exporter's page: the memory of works-0 grows by 100 MiB a second, that of waits-0 stays. On a card that
// is shared the exporter tells apart what grows-0 and rests-0 take, and on another one it repeats the card's memory for
// each pod.
func loads(began time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		grown := int(time.Since(began).Seconds() * 100)
		for _, r := range []struct {
			uuid, labels, pod string
			mib               int
		}{
			{"GPU-a", "", "works-0", grown}, {"GPU-b", "", "waits-0", 500}, {"GPU-free", "", "", 0},
			{"GPU-m", `,GPU_I_ID="9"`, "slice-0", grown}, {"GPU-m", `,GPU_I_ID="10"`, "other-slice-0", 20},
			{"GPU-s", "", "", grown + 300}, {"GPU-s", `,vgpu="0"`, "grows-0", grown}, {"GPU-s", `,vgpu="1"`, "rests-0", 300},
			{"GPU-r", `,vgpu="0"`, "one-0", grown}, {"GPU-r", `,vgpu="1"`, "two-0", grown},
		} {
			if r.pod != "" {
				r.labels += fmt.Sprintf(`,namespace="gpu-vision",pod=%q,container="main"`, r.pod)
				_, _ = fmt.Fprintf(w, "DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=%q%s} 0.01\n", r.uuid, r.labels)
			}
			_, _ = fmt.Fprintf(w, "DCGM_FI_DEV_FB_USED{UUID=%q%s} %d\n", r.uuid, r.labels, r.mib)
		}
	}
}

// TestMemoryChangesOfARealPrometheus: only it can say that the query is PromQL, and which rows it joins. With labels
// that are not honoured it is the same.
func TestMemoryChangesOfARealPrometheus(t *testing.T) {
	type change struct {
		Grows, Own bool
	}
	want := map[string]change{"works-0": {Grows: true}, "waits-0": {}, "slice-0": {Grows: true}, "other-slice-0": {},
		"grows-0": {Grows: true, Own: true}, "rests-0": {Own: true}, "one-0": {Grows: true}, "two-0": {Grows: true}}
	for _, honour := range []bool{true, false} {
		t.Run(fmt.Sprintf("honour=%t", honour), func(t *testing.T) {
			t.Parallel()
			exporter := httptest.NewServer(loads(time.Now()))
			t.Cleanup(exporter.Close)
			p, err := New(Config{URL: scrapedBy(t, realProgram(t), exporter.URL, honour)})
			if err != nil {
				t.Fatal(err)
			}
			within(t, "the clock of Prometheus", func() bool {
				_, err := p.Clock(t.Context())
				return err == nil
			})
			const slot, step = 4 * time.Second, 2 * time.Second
			var got map[string]change
			waittest.Until(t, "the memory of all pods", func() error {
				until := time.Now().Truncate(step)
				list, err := p.PodUtilization(t.Context(), []string{"gpu-vision"}, until.Add(-slot), until, slot, step)
				if err != nil {
					t.Fatal(err)
				}
				got = map[string]change{}
				for _, d := range list {
					if len(d.Slots) == 1 && d.Slots[0].MemoryChange.Known() && d.Slots[0].High.Known() {
						got[d.Pod] = change{d.Slots[0].MemoryChange.Value >= 100, d.Slots[0].OwnMemory}
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					return fmt.Errorf("changes (-want +got):\n%s", d)
				}
				return nil
			})
		})
	}
}

var within = waittest.For
