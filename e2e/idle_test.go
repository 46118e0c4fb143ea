package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/playwright-community/playwright-go"
)

// idlePatience covers a setting's whole time twice over on a busy machine.
const idlePatience = 10 * time.Minute

// looksOften has the story run on a portal of its own that looks for what is idle every 15 seconds.
func looksOften(t *testing.T, name string) {
	t.Helper()
	own := ownPortal(t, name, func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) {
			outside(c)
			c["idle"] = map[string]any{"every": "15s"}
		}
	})
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })
}

// TestAnIdleGPUIsGivenBack: two slices, of which one works. An administrator looks whom a setting would affect, and
// saves it. Whoever holds the idle one is warned on its page; while Prometheus is away nothing is stopped; after it is
// back the idle one is stopped, and the other one was never touched. The portal is one of its own that looks every 15
// seconds.
func TestAnIdleGPUIsGivenBack(t *testing.T) {
	looksOften(t, "idle")
	dana, path := as(t, "dana"), func(w map[string]any) string { return "/workloads/" + str(w["id"]) }
	for name, use := range map[string]string{"works-hard": "0.91", "sits-idle": "0.01"} {
		pod := spaces("idle") + "vision/" + name + "-0"
		control(t, http.MethodPut, fmt.Sprintf("/load?pod=%s&value=%s", pod, use))
		t.Cleanup(func() { control(t, http.MethodDelete, "/load?pod="+pod) })
	}
	works, idles := dana.running("mig-1g.10gb", map[string]any{"name": "works-hard"}),
		dana.running("mig-1g.10gb", map[string]any{"name": "sits-idle"})
	control(t, http.MethodPut, fmt.Sprintf("/notebook?pod=%s&last_activity=2026-01-01T00:00:00Z&kernels=1&state=idle",
		spaces("idle")+"vision/sits-idle-0"))
	dana.until(path(idles)+"/metrics", "measured", waitForMetrics,
		func(m map[string]any) bool { v := engineOf(m); return v >= 0 && v < 5 })

	p := signIn(t, "pat", look{})
	p.open("/admin/idle")
	p.selects("[data-test=for]", "all")
	p.selects("[data-test=action]", "stop")
	p.fill("[data-test=after]", "1s")
	p.expecting("422")
	p.click("[data-test=check]")
	p.reads("main", "Enter a time from 1 min")
	p.fill("[data-test=after]", "1m")
	p.accessible()
	p.click("[data-test=check]")
	p.sees("[data-test=idle-would]")
	// when Prometheus has told of it for as long as the setting says
	eventually(t, "the preview hits the one that sits idle", idlePatience, func() bool {
		p.click("[data-test=check]")
		p.sees("[data-test=idle-hits]")
		return strings.Contains(p.text("[data-test=idle-hits]"), "1 would be stopped")
	})
	p.reads("#preview-running", "Warning, then stop")
	p.click("[data-test=idle-spared] summary")
	p.reads("#preview-spared", "works-hard")
	p.accessible()
	p.shot("preview")
	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		q := signIn(t, "pat", l)
		q.open("/admin/idle")
		q.selects("[data-test=for]", "all")
		q.selects("[data-test=action]", "stop")
		q.fill("[data-test=after]", "1m")
		eventually(t, "the preview hits it again", idlePatience, func() bool {
			q.click("[data-test=check]")
			q.sees("[data-test=idle-hits]")
			return q.count("#preview-running") > 0 && strings.Contains(q.text("#preview-running"), "sits-idle")
		})
		q.contrasts()
		q.fitsTheWindow()
		q.shot("hits-" + name)
	}
	p.click("[data-test=save]")
	p.reads("[data-test=flash]", "applies from now on")
	p.reads("[data-test=idle-saved]", "Pat")

	warned := dana.until(path(idles)+"/idle", "warned", idlePatience,
		func(s map[string]any) bool { return s["stopsAt"] != nil })
	dana.until(path(idles)+"/warnings", "told", idlePatience, func(s map[string]any) bool {
		list, _ := s["items"].([]any)
		return len(list) == 1 && list[0].(map[string]any)["message"] == "delivered"
	})
	d := signIn(t, "dana", look{})
	d.open(path(idles))
	// it may be over by now on a slow machine; the states that follow show what happened
	if d.count("[data-test=idle]") > 0 {
		d.shot("workload")
	}
	control(t, http.MethodPost, "/stop/prometheus")
	t.Cleanup(func() { control(t, http.MethodPost, "/start/prometheus") })
	if s := dana.ok(http.StatusOK, http.MethodGet, path(idles), nil); s["state"] == "running" {
		stops, err := time.Parse(time.RFC3339, str(warned["stopsAt"]))
		if err != nil {
			t.Fatal(err)
		}
		dana.until(path(idles)+"/idle", "not known any more", idlePatience, func(s map[string]any) bool {
			return s["stale"] == true && time.Now().After(stops.Add(20*time.Second))
		})
		if s := dana.ok(http.StatusOK, http.MethodGet, path(idles), nil); s["state"] != "running" {
			t.Errorf("without Prometheus it was stopped: %v", s["state"])
		}
	}
	control(t, http.MethodPost, "/start/prometheus")
	dana.reachesWithin(idlePatience, str(idles["id"]), "stopped")
	d.open(path(idles))
	d.reads("[data-test=reason]", "its GPU was idle for")
	d.open(path(idles) + "/history")
	d.reads("main", "GPU utilization stayed below 5 %")
	if s := dana.ok(http.StatusOK, http.MethodGet, path(works), nil); s["state"] != "running" {
		t.Errorf("what works was touched: %v", s["state"])
	}
	if s := dana.ok(http.StatusOK, http.MethodGet, path(works)+"/idle", nil); s["warnedAt"] != nil ||
		s["idleSeconds"] != 0.0 {
		t.Errorf("what works is taken for idle: %v", s)
	}

	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		q := signIn(t, "pat", l)
		q.open("/admin/idle")
		q.click("[data-test=check]")
		q.sees("[data-test=preview]")
		q.contrasts()
		q.fitsTheWindow()
		q.shot(name + "-preview")
	}
	as(t, "dana").ok(http.StatusNotFound, http.MethodGet, "/idle", nil)
	as(t, "nora").ok(http.StatusNotFound, http.MethodGet, path(idles)+"/idle", nil)
}

// TestAnIdlePodIsGivenBack: two notebooks without a GPU, of which one works. An administrator has CPU and network of
// pods judged; whoever holds the quiet one is warned, follows the notice to the graph of both, and after the
// administrator wants more than a warning it is stopped. The other one was never touched. The portal is one of its own
// that looks every 15 seconds.
func TestAnIdlePodIsGivenBack(t *testing.T) {
	looksOften(t, "idlepods")
	dana, path := as(t, "dana"), func(w map[string]any) string { return "/workloads/" + str(w["id"]) }
	for name, use := range map[string]string{"computes": "0.9", "waits": "0"} {
		pod := spaces("idlepods") + "vision/" + name + "-0"
		control(t, http.MethodPut, fmt.Sprintf("/cpu?pod=%s&value=%s", pod, use))
		t.Cleanup(func() { control(t, http.MethodDelete, "/cpu?pod="+pod) })
	}
	works, waits := dana.running("cpu", map[string]any{"name": "computes"}),
		dana.running("cpu", map[string]any{"name": "waits"})
	for _, name := range []string{"computes", "waits"} {
		control(t, http.MethodPut, fmt.Sprintf("/notebook?pod=%s&last_activity=2026-01-01T00:00:00Z&kernels=1&state=idle",
			spaces("idlepods")+"vision/"+name+"-0"))
	}

	p := signIn(t, "pat", look{})
	p.open("/admin/idle")
	p.selects("[data-test=for]", "all")
	p.selects("[data-test=action]", "warn")
	p.fill("[data-test=after]", "1m")
	p.click("[data-test=pods] summary")
	p.fill("[data-test=cpu]", "0.05")
	p.click("[data-test=check]")
	p.reads("[data-test=preview]", "without its own GPU: CPU below 0.05 cores and network below 10000 B/s")
	p.click("[data-test=save]")
	p.reads("[data-test=flash]", "applies from now on")

	dana.until(path(waits)+"/idle", "warned", idlePatience, func(s map[string]any) bool { return s["warnedAt"] != nil })
	d := signIn(t, "dana", look{})
	d.open(path(waits))
	d.reads("[data-test=idle]", "its CPU and network have stayed below the idle thresholds")
	d.reads("[data-test=idle]", "0.05 cores")
	d.accessible()
	d.shot("notice")
	d.click("[data-test=idle-graph]")
	for _, line := range []string{"cpu", "network"} {
		d.comes("[data-test=chart-"+line+"]", "last")
	}
	d.accessible()
	d.shot("graph")
	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		q := signIn(t, "dana", l)
		q.open(path(waits))
		q.sees("[data-test=idle]")
		q.contrasts()
		q.fitsTheWindow()
		q.shot("notice-" + name)
	}

	p.open("/admin/idle")
	p.selects("#action-0", "stop")
	p.click("[data-test=save]")
	p.reads("[data-test=flash]", "applies from now on")
	dana.reachesWithin(idlePatience, str(waits["id"]), "stopped")
	d.open(path(waits))
	d.reads("[data-test=reason]", "because it was idle for")
	d.open(path(waits) + "/history")
	d.reads("main", "CPU stayed below 0.05 cores")
	if s := dana.ok(http.StatusOK, http.MethodGet, path(works), nil); s["state"] != "running" {
		t.Errorf("what computes was touched: %v", s["state"])
	}
	if s := dana.ok(http.StatusOK, http.MethodGet, path(works)+"/idle", nil); s["warnedAt"] != nil ||
		s["idleSeconds"] != 0.0 || s["never"] != nil {
		t.Errorf("what computes is taken for idle: %v", s)
	}
}

// selects chooses an option of the last select that looks so.
func (p *person) selects(selector, value string) {
	p.t.Helper()
	_, err := p.at(selector).Last().SelectOption(playwright.SelectOptionValues{Values: &[]string{value}})
	p.do(err)
}

func (p *person) count(selector string) int {
	p.t.Helper()
	n, err := p.at(selector).Count()
	p.do(err)
	return n
}
