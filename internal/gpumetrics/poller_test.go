package gpumetrics

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newPoller(t *testing.T, url string, c *clock, change ...func(*Config)) *Poller {
	t.Helper()
	cfg := Config{URL: url, Now: c.Now, Timeout: 10 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// brief is a device in one line, "?" for what is unknown, "~" before what is apportioned.
func brief(d Device) string {
	value := func(r Reading) string {
		switch r.Source {
		case Unknown:
			return "?"
		case Apportioned:
			return fmt.Sprintf("~%.0f", r.Value)
		}
		return fmt.Sprintf("%.0f", r.Value)
	}
	out := fmt.Sprintf("%s %s %s#%s engine %s memory %s/%s power %s temp %s", d.UUID[4:8], d.Node, d.Profile, d.Instance,
		value(d.Engine), value(d.MemoryUsed), value(d.MemoryTotal), value(d.Power), value(d.Temperature))
	if d.CardShared {
		out += " shared"
	}
	if d.Pods > 1 {
		out += fmt.Sprintf(" own %s %s %s of %d", value(d.OwnEngine), value(d.OwnMemory), value(d.OwnPower), d.Pods)
	}
	return out
}

func briefs(l Live) []string {
	var out []string
	for _, d := range l.Devices {
		out = append(out, brief(d))
	}
	return out
}

// recordedCases are what a person must be told of each pod in the recorded expositions.
var recordedCases = []struct {
	name, file, namespace, pod string
	want                       []string
}{
	{"a whole card", "dcgm-k8s.prom", "tenant-blue", "llama-predictor-00001-deployment-6f7c9d8b5-x2kqp",
		[]string{"1f0e worker-h100-02 # engine 96 memory 72822/81559 power 613 temp 57"}},
	{"an idle whole card is a measured zero", "dcgm-k8s.prom", "tenant-red", "nb-anna-0",
		[]string{"7c9d worker-h100-02 # engine 0 memory 1621/81559 power 118 temp 38"}},
	{"a MIG slice", "dcgm-mig.prom", "tenant-red", "nb-jonas-0",
		[]string{"1f0e worker-h100-03 2g.20gb#3 engine 12 memory 2666/20096 power 232 temp 45 shared"}},
	{"a whole card beside a cut one", "dcgm-mig.prom", "tenant-green", "train-0",
		[]string{"7c9d worker-h100-03 # engine 99 memory 78822/81559 power 688 temp 61"}},
	{"a time-sliced card", "dcgm-timeslicing.prom", "tenant-red", "nb-anna-0",
		[]string{"1f0e worker-l4-01 # engine 74 memory 10560/23034 power 64 temp 61 shared own 51 6144 ~21 of 3"}},
	{"an idle pod on a time-sliced card", "dcgm-timeslicing.prom", "tenant-blue", "nb-lea-0",
		[]string{"1f0e worker-l4-01 # engine 74 memory 10560/23034 power 64 temp 61 shared own 0 0 ~21 of 3"}},
	{"a vGPU has neither power nor profiling", "dcgm-vgpu.prom", "tenant-red", "viz-0",
		[]string{"1f0e vm-vgpu-node-01 # engine 33 memory 3168/12288 power ? temp ?"}},
	{"a DRA claim on a slice", "dcgm-dra.prom", "tenant-red", "nb-anna-0",
		[]string{"1f0e worker-h100-04 1g.10gb#7 engine 44 memory 2974/9984 power 140 temp 44 shared"}},
	{"cards without pods belong to nobody", "dcgm-plain.prom", "nvidia-gpu-operator", "nvidia-dcgm-exporter-x7k2p",
		[]string(nil)},
	{"a pod that no row names", "dcgm-mig.prom", "tenant-red", "nb-nobody-0", []string(nil)},
}

func TestRecordedExpositions(t *testing.T) {
	for _, c := range recordedCases {
		for _, honour := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, honor_labels %t", c.name, honour), func(t *testing.T) {
				clock := newClock()
				f := newFake(t, clock.Now)
				f.scrape(recorded(t, c.file), honour)
				p := newPoller(t, f.URL, clock)
				if err := p.Poll(t.Context()); err != nil {
					t.Fatal(err)
				}
				live := p.Live(c.namespace, c.pod)
				t.Log(briefs(live))
				if diff := cmp.Diff(c.want, briefs(live)); diff != "" {
					t.Errorf("devices (-want +got):\n%s", diff)
				}
				for _, d := range live.Devices {
					if d.Engine.Known() && !d.Engine.At.Equal(clock.Now()) {
						t.Errorf("want the reading from %s, got %s", clock.Now(), d.Engine.At)
					}
				}
			})
		}
	}
}

// card is one exposition of one whole card, held by tenant-a/nb-0 unless other labels are given.
func card(values map[string]string) string {
	var b strings.Builder
	for name, value := range values {
		fmt.Fprintf(&b, "# TYPE %s gauge\n%s{gpu=\"0\",UUID=\"GPU-aaaa\",modelName=\"NVIDIA "+
			"L4\",Hostname=\"node-1\",namespace=\"tenant-a\",pod=\"nb-0\"} %s\n", name, name, value)
	}
	return b.String()
}

func busyCard(change ...string) string {
	values := map[string]string{
		"DCGM_FI_PROF_GR_ENGINE_ACTIVE": "0.5", "DCGM_FI_DEV_FB_USED": "100", "DCGM_FI_DEV_FB_FREE": "300",
		"DCGM_FI_DEV_FB_RESERVED": "12",
		"DCGM_FI_DEV_POWER_USAGE": "61.5", "DCGM_FI_DEV_GPU_TEMP": "44",
	}
	for i := 0; i+1 < len(change); i += 2 {
		if values[change[i]] = change[i+1]; change[i+1] == "" {
			delete(values, change[i])
		}
	}
	return card(values)
}

func TestValuesThatCannotBe(t *testing.T) {
	cases := map[string]struct {
		change []string
		want   string
	}{
		"all is well": {nil, "aaaa node-1 # engine 50 memory 100/412 power 62 temp 44"},
		"NaN": {[]string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "NaN"},
			"aaaa node-1 # engine ? memory 100/412 power 62 temp 44"},
		"+Inf": {[]string{"DCGM_FI_DEV_POWER_USAGE", "+Inf"}, "aaaa node-1 # engine 50 memory 100/412 power ? temp 44"},
		"-Inf": {[]string{"DCGM_FI_DEV_GPU_TEMP", "-Inf"}, "aaaa node-1 # engine 50 memory 100/412 power 62 temp ?"},
		"sentinel of 64 bits": {[]string{"DCGM_FI_DEV_FB_FREE", "9223372036854775794"},
			"aaaa node-1 # engine 50 memory 100/? power 62 temp 44"},
		"sentinel of 32 bits": {[]string{"DCGM_FI_DEV_FB_USED", "2147483632"},
			"aaaa node-1 # engine 50 memory ?/? power 62 temp 44"},
		"sentinel of floating point": {[]string{"DCGM_FI_DEV_POWER_USAGE", "140737488355328"},
			"aaaa node-1 # engine 50 memory 100/412 power ? temp 44"},
		"negative": {[]string{"DCGM_FI_DEV_FB_USED", "-1"},
			"aaaa node-1 # engine 50 memory ?/? power 62 temp 44"},
		"a row is missing": {[]string{"DCGM_FI_DEV_POWER_USAGE", ""},
			"aaaa node-1 # engine 50 memory 100/412 power ? temp 44"},
		"no profiling, utilisation stands in": {[]string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "", "DCGM_FI_DEV_GPU_UTIL", "31"},
			"aaaa node-1 # engine 31 memory 100/412 power 62 temp 44"},
		"names since DCGM 4.6": {[]string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "0.25",
			"DCGM_FI_DEV_POWER_USAGE", "",
			"DCGM_FI_DEV_BOARD_POWER_WATTS", "70", "DCGM_FI_DEV_GPU_TEMP", "", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "50"},
			"aaaa node-1 # engine 25 memory 100/412 power 70 temp 50"},
		"GPU_UTIL_RATIO is per cent in spite of its name": {[]string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "",
			"DCGM_FI_DEV_GPU_UTIL_RATIO", "31"},
			"aaaa node-1 # engine 31 memory 100/412 power 62 temp 44"},
		"a ratio that overshoots": {[]string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "1.01"},
			"aaaa node-1 # engine 100 memory 100/412 power 62 temp 44"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			f := newFake(t, clock.Now)
			f.scrape(busyCard(c.change...), true)
			p := newPoller(t, f.URL, clock)
			if err := p.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, briefs(p.Live("tenant-a", "nb-0"))); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
		})
	}
}

// Utilisation of a card that is cut into slices is refused by the driver, and reported as 0 by some versions: a slice
// without profiling is unknown.
func TestUtilisationSaysNothingOfASlice(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	labels := `{UUID="GPU-bbbb",GPU_I_ID="3",GPU_I_PROFILE="1g.10gb",namespace="tenant-a",pod="nb-0"}`
	f.scrape("DCGM_FI_DEV_GPU_UTIL"+labels+" 0\nDCGM_FI_DEV_FB_USED"+labels+" 5\n", true)
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bbbb  1g.10gb#3 engine ? memory 5/? power ? temp ? shared"},
		briefs(p.Live("tenant-a", "nb-0"))); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestRepeatedRowsAreNotAddedUp(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(busyCard(), true)
	f.mu.Lock()
	f.rows = append(f.rows, f.rows...)
	f.mu.Unlock()
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aaaa node-1 # engine 50 memory 100/412 power 62 temp 44"},
		briefs(p.Live("tenant-a", "nb-0"))); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestStaleSamplesAreUnknownAndKeepTheirTime(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(busyCard(), true)
	scraped := clock.Now()
	clock.pass(90 * time.Second)
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := p.Live("tenant-a", "nb-0").Devices[0].Engine; !e.Known() || !e.At.Equal(scraped) {
		t.Errorf("want 50 %% of %s, got %+v", scraped, e)
	}
	clock.pass(31 * time.Second)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := p.Live("tenant-a", "nb-0").Devices[0].Engine; e.Known() || e.Value != 0 || !e.At.Equal(scraped) {
		t.Errorf("want unknown since %s, got %+v", scraped, e)
	}
}

// Prometheus may run on a machine whose clock is wrong: a difference between two clocks is not an age.
func TestAgeIsTakenByOneClock(t *testing.T) {
	here, there := newClock(), newClock()
	there.pass(-20 * time.Minute)
	f := newFake(t, there.Now)
	f.scrape(busyCard(), true)
	there.pass(10 * time.Second)
	p := newPoller(t, f.URL, here)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := p.Live("tenant-a", "nb-0").Devices[0].Engine; !e.Known() || !e.At.Equal(here.Now().Add(-10*time.Second)) {
		t.Errorf("want 50 %% as of ten seconds ago, got %+v", e)
	}
}

func TestPrometheusInTrouble(t *testing.T) {
	answer := func(status int, kind, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	cases := map[string]func(http.ResponseWriter, *http.Request) bool{
		"500": answer(500, "text/plain", "internal"),
		"422 with a reason": answer(422, "application/json",
			`{"status":"error","errorType":"execution","error":"too many samples"}`),
		"200 that says error":   answer(200, "application/json", `{"status":"error","error":"no"}`),
		"a sign-in page":        answer(200, "text/html", "<html>sign in</html>"),
		"HTML that claims JSON": answer(200, "application/json", "<html>sign in</html>"),
		"cut in the middle": answer(200, "application/json",
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"DCGM`),
		"nothing":                 answer(200, "application/json", ""),
		"null":                    answer(200, "application/json", "null"),
		"an array":                answer(200, "application/json", "[]"),
		"something after the end": answer(200, "application/json", `{"status":"success","data":{"result":[]}}{}`),
		"slow": func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		},
		"100 MB": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`)
			row := `{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"` + strings.Repeat("x", 1000) +
				`"},"value":[1763715620,"1"]},`
			for range 100_000 {
				if _, err := io.WriteString(w, row); err != nil {
					return true
				}
			}
			return true
		},
		"100 MB in one string": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"`)
			for range 100_000 {
				if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
					return true
				}
			}
			return true
		},
	}
	for name, trouble := range cases {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			f := newFake(t, clock.Now)
			f.scrape(busyCard(), true)
			told := 0
			p := newPoller(t, f.URL, clock, func(c *Config) { c.Timeout, c.OnFresh = 2*time.Second, func() { told++ } })
			if s := p.Status(); s.OK || s.Err == nil || !s.Since.IsZero() {
				t.Errorf("want no answer ever before the first poll, got %+v", s)
			}
			if err := p.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			answered := clock.Now()
			f.answerInstead(trouble)
			clock.pass(10 * time.Minute)
			if err := p.Poll(t.Context()); err == nil {
				t.Fatal("want an error")
			}
			if s := p.Status(); s.OK || s.Err == nil || !s.Since.Equal(answered) {
				t.Errorf("want last answered at %s, got %+v", answered, s)
			}
			want := []string{"aaaa node-1 # engine 50 memory 100/412 power 62 temp 44"}
			live := p.Live("tenant-a", "nb-0")
			if diff := cmp.Diff(want, briefs(live)); diff != "" || !live.At.Equal(answered) {
				t.Errorf("last values must stay, with their time; got %s (-want +got):\n%s", live.At, diff)
			}
			clock.pass(6 * time.Minute)
			if diff := cmp.Diff([]string{"aaaa node-1 # engine ? memory ?/? power ? temp ?"},
				briefs(p.Live("tenant-a", "nb-0"))); diff != "" {
				t.Errorf("values of 16 minutes ago are not known any more (-want +got):\n%s", diff)
			}
			f.answerInstead(nil)
			f.scrape(busyCard(), true)
			if err := p.Poll(t.Context()); err != nil || !p.Status().OK {
				t.Errorf("want it to answer again, got %v, %+v", err, p.Status())
			}
			if told != 3 {
				t.Errorf("want OnFresh after each of 3 polls, got %d", told)
			}
		})
	}
}

func TestPrometheusGone(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p := newPoller(t, gone.URL, newClock())
	if err := p.Poll(t.Context()); err == nil {
		t.Error("want an error")
	}
	if live := p.Live("tenant-a", "nb-0"); len(live.Devices) != 0 || !live.At.IsZero() {
		t.Errorf("want nothing known, got %+v", live)
	}
}

func TestEmptyAnswerIsNoZero(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if live := p.Live("tenant-a", "nb-0"); len(live.Devices) != 0 || live.At.IsZero() {
		t.Errorf("want no devices, answered now; got %+v", live)
	}
}

// Reading costs nothing: the calls are those of the clock, whoever reads and however many workloads there are.
func TestCallsDoNotRiseWithReaders(t *testing.T) {
	calls := func(readers int) int {
		clock := newClock()
		f := newFake(t, clock.Now)
		f.scrape(busyCard(), true)
		polls := make(chan struct{}, 100)
		p := newPoller(t, f.URL, clock, func(c *Config) {
			c.Every, c.OnFresh = 10*time.Millisecond,
				func() { polls <- struct{}{} }
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = p.Run(ctx) })
		for range readers {
			p.Live("tenant-a", "nb-0")
			p.LastHour("tenant-a", "nb-0")
		}
		for range 5 { // one poll each time the clock has moved
			<-polls
			p.Live("tenant-a", "nb-0")
			p.LastHour("tenant-a", "nb-0")
			clock.pass(5 * time.Second)
		}
		stop()
		running.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, r := range f.requests {
			if strings.HasPrefix(r, "/api/v1/query ") {
				n++
			}
		}
		if ranges := len(f.requests) - n; ranges > 1 {
			t.Errorf("want one call for the history within 30 s, got %d", ranges)
		}
		return n
	}
	one, many := calls(1), calls(500)
	if one > 14 || many > 14 { // 5 polls of 2 queries, and perhaps one that had begun
		t.Errorf("want at most 14 calls in six polls, got %d with one reader and %d with 500", one, many)
	}
}

func TestHistory(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(recordedLike, true)
	p := newPoller(t, f.URL, clock, func(c *Config) {
		c.Namespaces = func() []string { return []string{"tenant-a", "tenant-b"} }
	})
	now := clock.Now()
	var group sync.WaitGroup
	for range 50 { // many pages ask at once
		group.Go(func() {
			points, err := p.History(t.Context(), "tenant-a", "nb-0", MetricEngine, now.Add(-time.Hour), now)
			if err != nil {
				t.Error(err)
				return
			}
			known, gaps := 0, 0
			for _, at := range points {
				if at.Known {
					known++
					if at.Value != 75 {
						t.Errorf("want the mean of two cards, 75, got %v", at.Value)
					}
				} else {
					gaps++
				}
			}
			if len(points) != 60 || gaps != 10 || !points[0].At.Before(points[59].At) {
				t.Errorf("want 60 points, 10 of them in the gap, got %d and %d", len(points), gaps)
			}
		})
	}
	group.Wait()
	if n := f.count(); n != 1 {
		t.Errorf("want one call, got %d", n)
	}
	clock.pass(29 * time.Second)
	_ = p.LastHour("tenant-a", "nb-0")
	if n := f.count(); n != 1 {
		t.Errorf("want no second call within 30 s, got %d", n)
	}
	if points := p.LastHour("tenant-a", "somebody-else"); anyKnownPoint(points) {
		t.Error("want only gaps for a pod without rows")
	}
	if _, err := p.History(t.Context(), "tenant-a", "nb-0", `engine"} or vector(1)`, now, now); err == nil {
		t.Error("want a metric refused that there is none of")
	}
}

const recordedLike = `
DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID="GPU-aaaa",namespace="tenant-a",pod="nb-0"} 0.5
DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID="GPU-bbbb",namespace="tenant-a",pod="nb-0"} 1
`

func anyKnownPoint(points []Point) bool {
	for _, p := range points {
		if p.Known {
			return true
		}
	}
	return false
}

func TestHistoryWhilePrometheusIsDown(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(recordedLike, true)
	f.answerInstead(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true })
	p := newPoller(t, f.URL, clock)
	now := clock.Now()
	if _, err := p.History(t.Context(), "tenant-a", "nb-0", MetricEngine, now.Add(-time.Hour), now); err == nil {
		t.Error("want Unavailable while it has never answered")
	}
	f.answerInstead(nil)
	clock.pass(30 * time.Second)
	if _, err := p.History(t.Context(), "tenant-a", "nb-0", MetricEngine, now.Add(-time.Hour), now); err != nil {
		t.Fatal(err)
	}
	f.answerInstead(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true })
	clock.pass(10 * time.Minute)
	points := p.LastHour("tenant-a", "nb-0")
	if len(points) == 0 || points[len(points)-1].Known || !anyKnownPoint(points) {
		t.Errorf("want the last values and then a gap, got %v", points)
	}
}

// Names of namespaces come from people. None of them may end the string it stands in.
func TestQueriesQuoteNames(t *testing.T) {
	got := newQueries(DefaultLabels()).history([]string{`a"} or vector(1) or {x="`, `b\`, "c\n", ".*"})
	if strings.Contains(got, `"} or vector`) || strings.Contains(got, "\n") || strings.Contains(got, `|.*"`) {
		t.Errorf("a name escaped into the query: %s", got)
	}
}

func TestBadAddresses(t *testing.T) {
	for _, url := range []string{"", "prometheus", "ftp://x", "file:///etc/passwd", "http://"} {
		if _, err := New(Config{URL: url}); err == nil {
			t.Errorf("want %q refused", url)
		}
	}
}

func TestTokenIsShownToPrometheus(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := ""
	f.answerInstead(func(_ http.ResponseWriter, r *http.Request) bool {
		shown = r.Header.Get("Authorization")
		return false
	})
	if err := newPoller(t, f.URL+"/api/v1/", clock, func(c *Config) { c.TokenFile = file }).Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown != "Bearer secret" {
		t.Errorf("want the token shown, got %q", shown)
	}
}
