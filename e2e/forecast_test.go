package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestWhenWillItStart: nothing is estimated from nothing. After some starts of a size the start page says how long one
// usually takes; when all of it is in use, one that waits is told between when it will be ready, by the end of the
// first lease before it; and once it has started, the portal's metrics tell how good the estimates were.
func TestWhenWillItStart(t *testing.T) {
	const size = "vgpu-12q" // of which the cluster has the fewest
	address := freeAddress()
	own := ownPortal(t, "when", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) {
			c["metricsListen"] = address
			c["licensePools"] = []any{map[string]any{"name": "nvidia-vws", "title": "NVIDIA RTX vWS",
				"feature": "NVIDIA RTX Virtual Workstation", "seats": 50}}
			c["tenants"].([]any)[0].(map[string]any)["quota"].(map[string]int)[size] = 20
		}
	})
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })
	dana := as(t, "dana")
	total := scarce(t, dana, size)
	preview := map[string]any{"kind": "notebook", "tenant": "vision", "size": size, "image": "jupyterlab", "lease": "2h",
		"reason": "a test"}
	forecast := func(of map[string]any) map[string]any {
		f, _ := of["forecast"].(map[string]any)
		return f
	}
	if f := forecast(dana.ok(http.StatusOK, http.MethodPost, "/requests/preview",
		preview)); f["missing"] != "few_starts" || f["until"] != nil {
		t.Errorf("want no estimate from nothing, got %v", f)
	}
	// an estimate wants five starts; two more, for one that had to wait a moment on a busy machine is not counted
	for range max(0, 7-total) {
		dana.gives(dana.running(size, map[string]any{"lease": "2h"}))
	}
	held := []map[string]any{}
	for i := range total {
		held = append(held, dana.running(size, map[string]any{"name": fmt.Sprint("holder-", i),
			"lease": fmt.Sprint(2+i, "h")}))
	}
	dana.until("/workloads/"+str(held[0]["id"]), "without forecast while it runs", time.Minute,
		func(w map[string]any) bool { return w["forecast"] == nil })

	// by the portal's own picture of the cluster
	dana.until("/sizes?tenant=vision", "all in use", 3*time.Minute, func(m map[string]any) bool {
		capacity, _ := find(t, items(m), "name", size)["capacity"].(map[string]any)
		return capacity["free"] == 0.0
	})
	asked := dana.start(size, map[string]any{"name": "in-line", "lease": "2h"})
	id := str(asked["workload"])
	t.Cleanup(func() { dana.remove(id) })
	// who holds what is remembered for a moment: right after its start the last holder may still stand in the line
	waits := dana.until("/workloads/"+id, "told when, as the first in line", 3*time.Minute,
		func(w map[string]any) bool { f := forecast(w); return f["basis"] == "leases" && f["position"] == 1.0 })
	f, ends := forecast(waits), until(t, held[0])
	until, err := time.Parse(time.RFC3339, str(f["until"]))
	if err != nil || until.Before(ends) || until.After(ends.Add(30*time.Minute)) {
		t.Errorf("want it soon after %s, got %v %v", ends, f, err)
	}
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + id)
	p.reads("[data-test=forecast]", "Ready ") // "between" or "at about"
	p.reads("[data-test=forecast-rests]", "other lease ends by then")
	p.accessible()
	p.shot("waiting")
	p.open("/")
	p.reads("tr[data-name=in-line] [data-test=forecast]", "Queue position 1")
	p.shot("home")
	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		q := signIn(t, "dana", l)
		q.open("/workloads/" + id)
		q.sees("[data-test=forecast]")
		q.contrasts()
		q.fitsTheWindow()
		q.shot(name + "-waiting")
		q.open("/")
		q.fitsTheWindow()
		q.shot(name + "-home")
	}

	// on a busy machine the last holder may have stood in the line for a moment, and is counted too
	const outcome = `gpu_portal_start_estimates_total\{basis="leases",outcome="before"\} (\d+)`
	const errors = `gpu_portal_start_estimate_error_seconds_count\{basis="leases"\} (\d+)`
	counted := scrape(t, address)
	dana.gives(held[0])
	dana.reaches(id, "running")
	scraped := untilMetric(t, address, outcome, max(0, metricOf(t, counted, outcome))+1)
	if n := metricOf(t, scraped, errors) - max(0, metricOf(t, counted, errors)); n != 1 {
		t.Errorf("want one error more of an estimate by leases, got %v", n)
	}
	dana.gives(waits)
	dana.until("/sizes?tenant=vision", "free again", 3*time.Minute, func(m map[string]any) bool {
		return find(t, items(m), "name", size)["startsNow"] == true
	})
	// by now enough starts were seen; who holds what is remembered for a moment, here too
	waittest.Until(t, "an estimate from the starts so far", func() error {
		f := forecast(dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", preview))
		if f["basis"] != "starts" {
			return fmt.Errorf("got %v", f)
		}
		return nil
	})
	p.open("/start?kind=notebook&size=" + size)
	p.reads("[data-test=summary] [data-test=forecast]", "Usually ready in about")
	p.shot("summary")
	q := signIn(t, "dana", look{Width: 360, Language: "de-DE"})
	q.open("/start?kind=notebook&size=" + size)
	q.reads("[data-test=summary] [data-test=forecast]", "Meist in etwa")
	q.fitsTheWindow()
	q.shot("narrow-german-summary")
}

// gives stops a workload and waits until its GPU is back.
func (c client) gives(w map[string]any) {
	c.t.Helper()
	c.ok(http.StatusOK, http.MethodPost, "/workloads/"+str(w["id"])+"/stop", nil)
	c.reaches(str(w["id"]), "stopped")
}

// scarce waits until a size that starts at once is free as a whole, and counts it.
func scarce(t *testing.T, c client, size string) (total int) {
	t.Helper()
	var capacity map[string]any
	c.until("/sizes?tenant=vision", size+" free as a whole", 3*time.Minute, func(m map[string]any) bool {
		s := find(t, items(m), "name", size)
		capacity, _ = s["capacity"].(map[string]any)
		return s["startsNow"] == true && num(capacity["total"]) == num(capacity["free"])
	})
	return int(num(capacity["total"]))
}

func num(v any) float64 {
	f, _ := v.(float64)
	return f
}

// freeAddress is that of a freePort.
func freeAddress() string {
	return fmt.Sprintf("127.0.0.1:%d", freePort())
}

// untilMetric scrapes until a metric has a value, and gives what was scraped.
func untilMetric(t *testing.T, address, pattern string, want float64) []byte {
	t.Helper()
	var last []byte
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		last = scrape(t, address)
		if metricOf(t, last, pattern) == want {
			return last
		}
	}
	t.Fatalf("%s is not %v: %s", pattern, want, regexp.MustCompile("(?m)^gpu_portal_start_.*$").FindAll(last, -1))
	return nil
}

// scrape is what a portal exports at its own address for metrics.
func scrape(t *testing.T, address string) []byte {
	t.Helper()
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func metricOf(t *testing.T, scraped []byte, pattern string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + pattern + `$`).FindSubmatch(scraped)
	if found == nil {
		return -1
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
