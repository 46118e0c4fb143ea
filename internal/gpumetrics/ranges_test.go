package gpumetrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// matrix is the answer to a range query: rows of labels, each with a value at the end of the range and at others, in
// steps before it.
func matrix(c *clock, span Span, rows map[string]map[int]string) string {
	var all []string
	until := c.Now().Truncate(span.Step)
	for labels, values := range rows {
		var points []string
		for back, v := range values {
			points = append(points, fmt.Sprintf(`[%d,%q]`, until.Add(-time.Duration(back)*span.Step).Unix(), v))
		}
		all = append(all, `{"metric":{`+labels+`},"values":[`+strings.Join(points, ",")+`]}`)
	}
	return `{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(all, ",") + `]}}`
}

func replies(w http.ResponseWriter, text string) bool {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
	return true
}

// lastPoints are the last points of a line, oldest first; "?" in a gap.
func lastPoints(r Ranges, name string, n int) (out []string) {
	points := r.Line(name).Points
	for _, p := range points[max(0, len(points)-n):] {
		out = append(out, map[bool]string{true: fmt.Sprintf("%g", p.Value), false: "?"}[p.Known])
	}
	return out
}

func TestRangesPutDevicesTogether(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	p := newPoller(t, f.URL, c)
	span := SpanOf("1h")
	row := func(name, uuid, instance string) string {
		return fmt.Sprintf(`"portal_name":%q,"UUID":%q,"GPU_I_ID":%q`, name, uuid, instance)
	}
	text := matrix(c, span, map[string]map[int]string{
		row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "a", "1"): {2: "0.5", 1: "0.25", 0: "0.5"}, row("DCGM_FI_PROF_GR_ENGINE_ACTIVE",
			"b", ""): {2: "0.7"},
		// of a slice utilisation says nothing
		row("DCGM_FI_DEV_GPU_UTIL", "a", "1"): {3: "0"}, row("DCGM_FI_DEV_GPU_UTIL", "c", ""): {3: "30"},
		row("DCGM_FI_DEV_FB_USED", "a", "1"): {1: "100", 0: "9223372036854775794"},
		row("DCGM_FI_DEV_FB_USED", "b", ""):  {1: "11"},
		// one card, told for each slice
		row("DCGM_FI_DEV_POWER_USAGE", "a", "1"): {0: "200"}, row("DCGM_FI_DEV_POWER_USAGE", "a", "2"): {0: "200"},
		row("DCGM_FI_DEV_GPU_TEMP", "a", ""): {1: "NaN", 0: "+Inf"}, row("DCGM_FI_DEV_XID_ERRORS", "a", "1"): {1: "31",
			0: "31.5"},
		row("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "a", ""): {0: "4"}, row("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "b",
			""): {0: "32"},
	})
	f.answerInstead(func(w http.ResponseWriter, r *http.Request) bool { return replies(w, text) })
	r, err := p.Ranges(t.Context(), "red", "a", span)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, l := range r.Lines {
		got[l.Name] = lastPoints(r, l.Name, 4)
	}
	want := map[string][]string{"engine": {"30", "60", "25", "50"}, "tensor": {"?", "?", "?", "?"},
		"memory": {"?", "?", "111", "?"}, "power": {"?", "?", "?", "200"},
		"temperature": {"?", "?", "?", "?"}, "throttle": {"?", "?", "?", "36"}, "xid": {"?", "?", "31", "?"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Devices != 3 {
		t.Errorf("want three devices, got %d", r.Devices)
	}
}

// TestNoAnswerIsUnknownEverywhere: whatever Prometheus does, each view says that it does not know, none says zero, and
// none waits longer than it wants to.
func TestNoAnswerIsUnknownEverywhere(t *testing.T) {
	release := make(chan struct{})
	bad := map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"refuses": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		},
		"a sign-in page": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
			return true
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request) bool { return replies(w, "") },
		"the wrong type": func(w http.ResponseWriter, _ *http.Request) bool {
			return replies(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`)
		},
		"half an answer": func(w http.ResponseWriter, _ *http.Request) bool {
			return replies(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{`)
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) bool {
			return replies(w, `{"status":"error","errorType":"timeout","error":"query timed out"}`)
		},
		"no rows": func(w http.ResponseWriter, r *http.Request) bool {
			kind := "vector"
			if strings.HasSuffix(r.URL.Path, "query_range") {
				kind = "matrix"
			}
			return replies(w, `{"status":"success","data":{"resultType":"`+kind+`","result":[]}}`)
		},
		"100 MB": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"matrix","result":[`)
			row := strings.Repeat(`{"metric":{"portal_name":"DCGM_FI_DEV_FB_USED","UUID":"a"},"values":[[1795251600,"0"]]},`,
				1000)
			for range 1200 {
				if _, err := io.WriteString(w, row); err != nil {
					return true
				}
			}
			return true
		},
		"slow": func(_ http.ResponseWriter, r *http.Request) bool { <-release; return true },
	}
	for name, instead := range bad {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			f := newFake(t, c.Now)
			p := newPoller(t, f.URL, c)
			f.answerInstead(instead)
			ctx := t.Context()
			if name == "slow" {
				gone, stop := context.WithCancel(ctx)
				stop() // whoever asks has no time
				ctx = gone
				t.Cleanup(func() { close(release); p.settle() })
			}
			r, err := p.Ranges(ctx, "red", "a", SpanOf("24h"))
			if err == nil {
				for _, l := range r.Lines {
					if l.Known() {
						t.Errorf("%s is known: %v", l.Name, l.Points)
					}
				}
			}
			if name == "slow" {
				if !Waiting(err) {
					t.Errorf("want to hear that the answer is on its way, got %v", err)
				}
			} else if err != nil && Waiting(err) {
				t.Errorf("an answer that will not come is not waited for, got %v", err)
			}
			if name == "slow" {
				return
			}
			p.settle()
			if err := p.Poll(t.Context()); err == nil && name != "no rows" {
				t.Error("want the failure told")
			}
			if fleet := p.Fleet(); fleet != nil && len(fleet.Nodes) > 0 {
				t.Errorf("something is known of the fleet: %v", sketch(fleet))
			}
		})
	}
}

// TestAClockThatDiffersIsNoAge: Prometheus' clock is an hour ahead. The range is asked for by ours, and what lies
// outside of it is left out.
func TestAClockThatDiffersIsNoAge(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	p := newPoller(t, f.URL, c)
	span := SpanOf("1h")
	text := matrix(c, span, map[string]map[int]string{`"portal_name":"DCGM_FI_PROF_GR_ENGINE_ACTIVE","UUID":"a"`: {
		-120: "0.9", 5: "0.5", 500: "0.1"}})
	f.answerInstead(func(w http.ResponseWriter, _ *http.Request) bool { return replies(w, text) })
	r, err := p.Ranges(t.Context(), "red", "a", span)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"50", "?", "?", "?", "?", "?"}, lastPoints(r, "engine", 6)); diff != "" {
		t.Error(diff)
	}
}

// TestRangesAreAskedOncePerMinute, however many look; a failure is not asked for again at once either.
func TestRangesAreAskedOncePerMinute(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	p := newPoller(t, f.URL, c)
	look := func(times int) {
		for range times {
			_, _ = p.Ranges(t.Context(), "red", "a", SpanOf("6h"))
			p.settle()
		}
	}
	look(50)
	c.pass(59 * time.Second)
	look(50)
	if got := f.count(); got != 1 {
		t.Errorf("want one query in a minute, got %d", got)
	}
	c.pass(2 * time.Second)
	f.answerInstead(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	look(50)
	if got := f.count(); got != 2 {
		t.Errorf("want one more, got %d", got)
	}
	if _, err := p.Ranges(t.Context(), "red", "a", SpanOf("6h")); err != nil {
		t.Errorf("want the last answer to stay, got %v", err)
	}
	if _, err := p.Ranges(t.Context(), "red", "b", SpanOf("6h")); err == nil || Waiting(err) || errors.Is(err, errNever) {
		t.Errorf("want the failure told, got %v", err)
	}
}

// TestAHistoryBeginsWithItsWorkload: what was before is another one's, and the answer that others are shown stays as it
// is.
func TestAHistoryBeginsWithItsWorkload(t *testing.T) {
	at := time.Unix(1000, 0)
	all := Ranges{Lines: []Line{{Name: "engine", Points: []Point{{At: at, Value: 1, Known: true},
		{At: at.Add(time.Minute), Value: 2, Known: true}, {At: at.Add(2 * time.Minute), Value: 3}}}}}
	if diff := cmp.Diff([]string{"?", "2", "?"}, lastPoints(all.Since(at.Add(time.Minute)), "engine", 3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1", "2", "?"}, lastPoints(all, "engine", 3)); diff != "" {
		t.Errorf("the answer itself changed: %s", diff)
	}
}
