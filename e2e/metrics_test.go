package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// engineOf is the GPU use of a workload's first device as the API tells it, -1 while it is unknown.
func engineOf(m map[string]any) float64 {
	devices, _ := m["devices"].([]any)
	if len(devices) == 0 {
		return -1
	}
	device, _ := devices[0].(map[string]any)
	reading, _ := device["enginePercent"].(map[string]any)
	value, ok := reading["value"].(float64)
	if !ok {
		return -1
	}
	return value
}

// meanUse is a workload's among the holders, -1 while it is unknown.
func meanUse(holders map[string]any, of map[string]any) float64 {
	for _, item := range holders["items"].([]any) {
		h := item.(map[string]any)
		if v, ok := h["meanUsePercent"].(float64); ok && h["workload"] == of["id"] {
			return v
		}
	}
	return -1
}

// TestALoadShowsOnItsOwnPageAndNoOther: two slices of the same size, one of which works. Prometheus tells of it, and so
// do its page, its history and the map of the fleet; the other one stays idle everywhere.
func TestALoadShowsOnItsOwnPageAndNoOther(t *testing.T) {
	dana := as(t, "dana")
	works, idles := dana.running("mig-1g.10gb", map[string]any{"name": "works-hard"}),
		dana.running("mig-1g.10gb", map[string]any{"name": "sits-idle"})
	for name, value := range map[string]string{"works-hard": "0.91", "sits-idle": "0.01"} {
		query := fmt.Sprintf("/load?pod=%s/%s-0&value=%s", works["namespace"], name, value)
		control(t, http.MethodPut, query)
		t.Cleanup(func() { control(t, http.MethodDelete, strings.SplitN(query, "&", 2)[0]) })
	}
	path := func(w map[string]any) string { return "/workloads/" + str(w["id"]) }
	dana.until(path(works)+"/metrics", "at work", waitForMetrics, func(m map[string]any) bool { return engineOf(m) > 85 })
	dana.until(path(idles)+"/metrics", "idle", waitForMetrics,
		func(m map[string]any) bool { v := engineOf(m); return v >= 0 && v < 5 })

	dana.until("/fleet/holders", "one who works and one who does not", waitForMetrics, func(m map[string]any) bool {
		return meanUse(m, works) > 20 && meanUse(m, idles) >= 0 && meanUse(m, idles) < 5
	})

	p := signIn(t, "dana", look{})
	p.open(path(works))
	p.comes("[data-test=device]", "measured") // once, for all that came about in the same way
	p.open(path(works) + "/metrics")
	p.comes("[data-test=chart-engine]", "last")
	// a steady load is a line without height, which no browser calls visible
	p.do(p.assert.Locator(p.at("[data-test=chart-engine] .gp-spark__line").First()).ToBeAttached())
	p.do(p.at("[data-test=chart-engine] [data-chart]").First().Hover())
	p.reads("[data-test=chart-engine] [data-chart-value]", "·")
	p.accessible()
	p.shot("history")
	p.click("[data-test=range-6h]")
	p.sees("[data-test=range-6h][aria-current=true]")
	p.open(path(idles))
	p.comes("[data-test=engine]", "1 %")

	p.open("/fleet/use")
	p.sees("[data-test=map-card] .gp-map__part--4")
	p.sees("[data-test=map-card] .gp-map__part--idle")
	p.open("/fleet/use/holders")
	p.comes("[data-test=holder]:has-text('works-hard')", "works-hard")
	p.accessible()
	p.shot("holders")
	p.click("[data-test=pause]")
	p.reads("[data-test=stream]", "Paused")

	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		t.Run(name, func(t *testing.T) {
			q := signIn(t, "dana", l)
			for _, page := range []string{"/fleet/use/holders", path(works) + "/metrics"} {
				q.open(page)
				q.sees("h1")
				if l.Dark {
					q.contrasts()
				}
				q.fitsTheWindow()
				q.shot(name + strings.NewReplacer("/", "_", str(works["id"]), "W").Replace(page))
			}
		})
	}

	stranger := signIn(t, "nora", look{NoScript: true})
	stranger.expecting("404")
	stranger.open("/fleet/use/holders")
	if text := stranger.text("main"); strings.Contains(text, "works-hard") ||
		strings.Contains(text, str(works["namespace"])) {
		t.Errorf("a stranger reads whose GPUs work: %.300s", text)
	}
	as(t, "nora").ok(http.StatusNotFound, http.MethodGet, path(works)+"/metrics", nil)
}
