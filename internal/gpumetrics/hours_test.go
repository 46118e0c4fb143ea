package gpumetrics

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestHoursOfModels: a sample is of the hour before it, an hour without one is unknown and no zero, what cannot be is
// unknown, and a day that is over is asked for once.
func TestHoursOfModels(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	p := newPoller(t, f.URL, c)
	asked := 0
	f.answerInstead(func(w http.ResponseWriter, r *http.Request) bool {
		asked++
		if q := r.FormValue("query"); !strings.HasPrefix(q, "avg by (modelName") ||
			!strings.Contains(q, "avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE") {
			t.Errorf("want the mean of each model, got %s", q)
		}
		if r.FormValue("start") != "1003600" || r.FormValue("end") != "1014400" || r.FormValue("step") != "3600s" {
			t.Errorf("want the ends of four hours, got %s to %s", r.FormValue("start"), r.FormValue("end"))
		}
		return replies(w, `{"status":"success","data":{"resultType":"matrix","result":[
			{"metric":{"modelName":"H200"},"values":[[1003600,"0"],[1010800,"55.5"],[1014400,"9e18"]]},
			{"metric":{"card_series":"MI300X"},"values":[[1014400,"104"]]}]}}`)
	})
	from := time.Unix(1_000_000, 0).Add(600 * time.Millisecond) // Prometheus is asked for whole seconds
	for range 2 {
		use, err := p.Hours(t.Context(), from, from.Add(4*time.Hour+20*time.Minute))
		if err != nil || len(use.Models) != 2 || use.Models[0].Model != "H200" || use.Models[1].Model != "MI300X" {
			t.Fatalf("want two models, got %+v (%v)", use, err)
		}
		for i, want := range []float64{0, math.NaN(), 55.5, math.NaN()} {
			if got := use.Models[0].Hours[i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("hour %d: want %g, got %g", i, want, got)
			}
		}
		if last := use.Models[1].Hours[3]; last != 100 {
			t.Errorf("want 100, got %g", last)
		}
	}
	if asked != 1 {
		t.Errorf("want one call, got %d", asked)
	}
	if use, err := p.Hours(t.Context(), from, from.Add(time.Minute)); err != nil || len(use.Models) != 0 || asked != 1 {
		t.Errorf("of no whole hour nothing is asked: got %+v, %v", use, err)
	}
}

// TestHoursOfARealPrometheus: only it can say that the query is PromQL.
func TestHoursOfARealPrometheus(t *testing.T) {
	p, err := New(Config{URL: startPrometheus(t, realProgram(t), recorded(t, "dcgm-mig.prom"), false)})
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now().Add(-30 * time.Minute) // the hour ends later than now, so that what was just scraped is in it
	waittest.Until(t, "the mean of a model", func() error {
		use, err := p.askHours(from, 1)
		if err == nil && (len(use.Models) == 0 || use.Models[0].Model == "" || math.IsNaN(use.Models[0].Hours[0])) {
			err = fmt.Errorf("want a model with its use, got %+v", use)
		}
		return err
	})
}
