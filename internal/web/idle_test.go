package web_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func idleForm(more url.Values) url.Values {
	form := url.Values{"base": {"0"}, "for-0": {"all"}, "action-0": {"stop"}, "after-0": {"4h"}, "below-0": {"5"},
		"keepAlive-0": {"8h"}, "for-1": {""}, "action-1": {"warn"}, "after-1": {""}, "below-1": {""}, "keepAlive-1": {""}}
	for name, values := range more {
		form[name] = values
	}
	return form
}

// nothingSet asks that neither settings nor records of idle time were written.
func nothingSet(t *testing.T, w *webtest.World, otherwise string) {
	t.Helper()
	set, err := w.IdleSettings(t.Context())
	records, fails := w.IdleRecords(t.Context())
	if err := errors.Join(err, fails); err != nil || set.Version != 0 || len(records) != 0 {
		t.Errorf("%s: %+v, %v, %v", otherwise, set, records, err)
	}
}

// TestIdleSettingsAreTriedAndSaved: an administrator sees whom a setting would affect before anything is written, and
// saves it; others may not.
func TestIdleSettingsAreTriedAndSaved(t *testing.T) {
	w := webtest.Busy(t)
	w.Idle.Did = func(time.Time) float64 { return 1 }
	read(t, w.Get(webtest.Anna, "/admin/idle"), http.StatusNotFound)
	wantText(t, read(t, w.Get(webtest.Eli, "/admin/idle"), http.StatusOK), "empty", "No idle policy")
	read(t, w.Post(webtest.Eli, "/admin/idle/preview", idleForm(nil)), http.StatusForbidden)

	doc := read(t, w.Post(webtest.Dora, "/admin/idle/preview", idleForm(nil)), http.StatusOK)
	wantText(t, doc, "idle-hits", "would be stopped")
	wantText(t, doc, "idle-would", "in the last 30 days")
	if part(doc, "case").Length() == 0 {
		t.Error("want the workloads that it would affect")
	}
	w.Idle.Did = func(time.Time) float64 { return 90 }
	busy := read(t, w.Post(webtest.Dora, "/admin/idle/preview", idleForm(nil)), http.StatusOK)
	wantText(t, busy, "idle-hits", "0 would be stopped and 0 warned")
	wantText(t, busy, "idle-spared", "continue unchanged", "train-resnet", "No action")
	w.Idle.Did = func(time.Time) float64 { return 1 }
	nothingSet(t, w, "a preview wrote")
	w.Idle.Away = true
	doc = read(t, w.Post(webtest.Dora, "/admin/idle/preview", idleForm(nil)), http.StatusOK)
	wantText(t, doc, "idle-hits", "0 would be stopped and 0 warned", "unknown")
	wantText(t, doc, "preview", "No metrics.")
	wantText(t, doc, "idle-would", "Prometheus did not respond to every query in time: local")

	wrong := idleForm(url.Values{"after-0": {"1m"}, "below-0": {"90"}, "for-1": {"all"}})
	if doc := read(t, w.Post(webtest.Dora, "/admin/idle", wrong), http.StatusUnprocessableEntity); part(doc,
		"form-errors").Length() == 0 {
		t.Error("want what is wrong said")
	}
	nothingSet(t, w, "what is wrong was saved")
	wantRedirect(t, w.Post(webtest.Dora, "/admin/idle", idleForm(nil)))
	wantText(t, read(t, w.Get(webtest.Eli, "/admin/idle"), http.StatusOK), "idle-row", "Default (everyone)",
		"Warn, then stop",
		"4h", "5 %", "8h")
	// somebody was faster
	read(t, w.Post(webtest.Dora, "/admin/idle", idleForm(url.Values{"after-0": {"5h"}})), http.StatusConflict)
}

// TestAnIdleWorkloadSaysSo: its page and its owner's first page say since when it is idle and what follows, and one
// click keeps it; a colleague sees it and cannot keep it.
func TestAnIdleWorkloadSaysSo(t *testing.T) {
	w := webtest.Busy(t)
	w.EndsWhenIdle(6 * time.Hour)
	w.IsIdle("w-train-resnet", webtest.Now.Add(-5*time.Hour), webtest.Now.Add(-5*time.Minute))
	page := "/workloads/w-train-resnet"
	doc := read(t, w.Get(webtest.Anna, page), http.StatusOK)
	wantText(t, doc, "idle", "GPU idle for", "stops at", "stayed below 5 %", "peak 1 %")
	wantText(t, doc, "idle-signal", "GPU utilization", "1 %", "5 %")
	wantText(t, read(t, w.Get(webtest.Anna, "/"), http.StatusOK), "attention-idle", "train-resnet")
	wantText(t, read(t, w.Get(webtest.Eli, "/admin/idle"), http.StatusOK), "idle-now", "Workloads warned 1",
		"Next stop unless used", "Cost of idle GPUs")
	now := read(t, w.Get(webtest.Dora, "/admin/idle"), http.StatusOK)
	wantText(t, now, "idle-warned-row", "train-resnet", "Anna Albers", "MIG slice 10 GB", "4 h 59 min",
		"Stops at 13:00 UTC")
	if href := part(now, "idle-warned-row").Find("a").AttrOr("href", ""); href != page {
		t.Errorf("want the way to what stops next, got %q", href)
	}
	if href := part(now, "idle-stop").AttrOr("href", ""); href != page+"/stop" {
		t.Errorf("want the page that asks before it stops, got %q", href)
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/admin/idle"), http.StatusOK), "idle-stop")
	form := part(now, "idle-form")
	if _, marks := form.Attr("data-marks-changes"); !marks || In(form, "save").Length() != 1 {
		t.Error("want a button that saves, which a script shows once there is something to save")
	}
	if href := part(now, "idle-another").AttrOr("href", ""); now.Find("details"+href).Length() != 1 {
		t.Errorf("want a link that opens the group of another setting, got %q", href)
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, page), http.StatusOK), "keep-alive")
	read(t, w.Post(webtest.Eli, page+"/keep-alive", nil), http.StatusForbidden)
	wantRedirect(t, w.Post(webtest.Anna, page+"/keep-alive", nil))
	doc = read(t, w.Get(webtest.Anna, page), http.StatusOK)
	wantText(t, doc, "idle-kept", "Anna")
	wantAbsent(t, doc, "idle")
	wantText(t, read(t, w.Get(webtest.Eli, "/admin/idle"), http.StatusOK), "idle-now", "Workloads warned 0")

	w.IsIdle("w-train-resnet", webtest.Now.Add(-5*time.Hour), webtest.Now.Add(-5*time.Minute))
	w.IdleLooked(webtest.Now.Add(-time.Hour))
	wantAbsent(t, read(t, w.Get(webtest.Anna, page), http.StatusOK), "idle")
}

// TestAShareOfACardSaysWhatItWasJudgedBy: CPU and network with their thresholds, and nothing of a GPU that others use.
func TestAShareOfACardSaysWhatItWasJudgedBy(t *testing.T) {
	w := webtest.Busy(t)
	w.EndsWhenIdle(6 * time.Hour)
	w.IsIdleByPods("w-train-resnet", webtest.Now.Add(-5*time.Hour), webtest.Now.Add(-5*time.Minute))
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	wantText(t, doc, "idle", "Idle for", "stops at", "CPU and network have stayed below", "Signals")
	if text := textOf(part(doc, "idle")); strings.Contains(text, "GPU") {
		t.Errorf("want nothing of a GPU, got %q", text)
	}
	var rows []string
	part(doc, "idle-signal").Each(func(_ int, row *goquery.Selection) { rows = append(rows, textOf(row)) })
	if want := []string{"CPU 0.013 cores 0.05 cores", "Network 0.4 kB/s 10 kB/s"}; !slices.Equal(rows, want) {
		t.Errorf("want %q, got %q", want, rows)
	}
	wantText(t, read(t, w.Get(webtest.Anna, "/"), http.StatusOK), "attention-idle", "train-resnet", "Idle for")
}

// TestThresholdsOfPodsAreTriedAndSaved: a share of a card is out of reach until the form has thresholds for it; then
// the preview has it by the same rules.
func TestThresholdsOfPodsAreTriedAndSaved(t *testing.T) {
	w := webtest.Busy(t)
	w.SharesItsCard("w-train-resnet")
	item := w.Work("w-train-resnet")
	item.Image.Auth = "" // no Jupyter server that says what it does
	w.PutWork(item)
	w.Idle.Did = func(time.Time) float64 { return 90 }
	w.Idle.Pod = func(time.Time) idle.PodUse { return idle.PodUse{CPU: 0.01, Network: 300} }
	wantText(t, read(t, w.Post(webtest.Dora, "/admin/idle/preview", idleForm(nil)), http.StatusOK), "preview",
		"Others share its card")
	pods := idleForm(url.Values{"cpu-0": {"0.05"}, "network-0": {""}})
	doc := read(t, w.Post(webtest.Dora, "/admin/idle/preview", pods), http.StatusOK)
	wantText(t, doc, "idle-hits", "1 would be stopped")
	wantText(t, doc, "case", "train-resnet", "Warning, then stop")
	wantText(t, doc, "changes", "CPU below 0.05 cores and network below 10000 B/s")
	for _, wrong := range []url.Values{{"cpu-0": {"many"}}, {"cpu-0": {"9"}}, {"network-0": {"1.5"}},
		{"network-0": {"-1"}}} {
		doc := read(t, w.Post(webtest.Dora, "/admin/idle", idleForm(wrong)), http.StatusUnprocessableEntity)
		if part(doc, "form-errors").Length() == 0 {
			t.Errorf("%v: want what is wrong said", wrong)
		}
	}
	nothingSet(t, w, "a preview or what is wrong wrote")
	wantRedirect(t, w.Post(webtest.Dora, "/admin/idle", pods))
	wantText(t, read(t, w.Get(webtest.Eli, "/admin/idle"), http.StatusOK), "idle-row", "0.05 cores, 10000 B/s")
	form := formOf(read(t, w.Get(webtest.Dora, "/admin/idle"), http.StatusOK), "idle-form")
	if form.Get("cpu-0") != "0.05" || form.Get("network-0") != "10000" {
		t.Errorf("want the form to show what is saved, got %v", form)
	}
}

// Settings are typed as text as well, by the same rules, and a preview says which of them would be others.
func TestIdleSettingsAsText(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	turned := read(t, w.Post(webtest.Dora, "/admin/idle/preview", idleForm(url.Values{"turn": {"text"}})), http.StatusOK)
	if _, off := part(turned, "idle-form").Attr("data-marks-changes"); off {
		t.Error("what was changed before the turn can be saved as it is")
	}
	text := strings.TrimPrefix(part(turned, "text").Text(), "\n")
	if want := "all:\n  action: stop\n  after: 4h\n  below: 5\n  keepAlive: 8h\n"; text != want {
		t.Errorf("want %q, got %q", want, text)
	}
	wrong := url.Values{"base": {"0"}, "text": {"all:\n  action: stop\n  after: 1m\n"}}
	doc := read(t, w.Post(webtest.Dora, "/admin/idle", wrong), http.StatusUnprocessableEntity)
	wantText(t, doc, "problem", "Line 3")
	nothingSet(t, w, "what is wrong was saved")
	more := url.Values{"base": {"0"}, "text": {text + "teams:\n  vision:\n    action: warn\n    after: 2h\n"}}
	doc = read(t, w.Post(webtest.Dora, "/admin/idle/preview", more), http.StatusOK)
	wantText(t, doc, "changes", "Default (everyone)", "Warn, then stop after 4h",
		"Warn after 2h with utilization below 5 %")
	nothingSet(t, w, "a preview wrote")
	wantRedirect(t, w.Post(webtest.Dora, "/admin/idle", more))
	form := formOf(read(t, w.Get(webtest.Dora, "/admin/idle"), http.StatusOK), "idle-form")
	if form.Get("for-1") != "teams.vision" || form.Get("after-1") != "2h" {
		t.Errorf("the form shows what the text said, got %v", form)
	}
	doc = read(t, w.Post(webtest.Dora, "/admin/idle/preview", url.Values{"base": {"1"}, "text": {text}}), http.StatusOK)
	if changes := part(doc, "changes").Find("li"); changes.Length() != 1 || changes.Find("ins").Length() != 0 {
		t.Errorf("want what is taken away, got %q", textOf(changes))
	}
	back := url.Values{"base": {"1"}, "text": {text}, "turn": {"form"}}
	doc = read(t, w.Post(webtest.Dora, "/admin/idle/preview", back), http.StatusOK)
	if part(doc, "idle-group").Length() != 2 || part(doc, "text").Length() != 0 {
		t.Error("want the form again")
	}
}
