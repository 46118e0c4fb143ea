package gpumetrics

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAnHourThatIsOver: of each card and slice its own mean; what cannot be is unknown and no zero; an hour is asked
// for once, a failure again after a minute.
func TestAnHourThatIsOver(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	p := newPoller(t, f.URL, c)
	asked, broken := 0, true
	f.answerInstead(func(w http.ResponseWriter, r *http.Request) bool {
		asked++
		if broken {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		if q := r.FormValue("query"); !strings.Contains(q, "avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE") ||
			strings.Contains(q, "namespace") {
			t.Errorf("want the mean of each device, got %s", q)
		}
		return replies(w, `{"status":"success","data":{"resultType":"vector","result":[
			{"metric":{"UUID":"a"},"value":[1,"41"]},{"metric":{"UUID":"b","GPU_I_ID":"7"},"value":[1,"3"]},
			{"metric":{"UUID":"c"},"value":[1,"NaN"]},{"metric":{"UUID":"d"},"value":[1,"9e9"]},
			{"metric":{},"value":[1,"50"]}]}}`)
	})
	until := c.Now().Truncate(time.Hour)
	if _, err := p.Past(t.Context(), until); err == nil {
		t.Error("want a fault while Prometheus does not respond")
	}
	broken = false
	if _, err := p.Past(t.Context(), until); err == nil || asked != 1 {
		t.Errorf("want no second call at once, got %d and %v", asked, err)
	}
	c.pass(2 * time.Minute)
	if _, err := p.Past(t.Context(), until); err == nil {
		t.Error("the failure has grown old, and is asked for again with the next look")
	}
	for range 3 {
		use, err := p.Past(t.Context(), until.Add(10*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := use.Of("a", ""); !ok || v != 41 {
			t.Errorf("card a: want 41, got %g (%v)", v, ok)
		}
		if v, ok := use.Of("b", "7"); !ok || v != 3 {
			t.Errorf("slice 7 of b: want 3, got %g (%v)", v, ok)
		}
		if use.Devices() != 2 {
			t.Errorf("want nothing known of what cannot be, got %d devices", use.Devices())
		}
	}
	if asked != 2 {
		t.Errorf("want one call for an hour that does not change, got %d in all", asked)
	}
}

// TestARangeOfACard asks for the rows of one card, by whatever label it is named.
func TestARangeOfACard(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	p := newPoller(t, f.URL, c)
	query := ""
	f.answerInstead(func(w http.ResponseWriter, r *http.Request) bool {
		query = r.FormValue("query")
		return replies(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	})
	if _, err := p.CardRanges(t.Context(), `GPU-"1`, SpanOf("6h")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`UUID="GPU-\"1"`, `UUID="",uuid="GPU-\"1"`} {
		if !strings.Contains(query, want) {
			t.Errorf("want %s in %s", want, query)
		}
	}
}
