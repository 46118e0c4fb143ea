package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// What waits is told when it will be ready, what that rests on, and what would start at once.
func TestWhatWaitsIsToldWhen(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	known := w.Inventory("local")
	for i, n := range known.Nodes {
		if n.Name == "gpu-03" { // its second card is somebody's who has no lease
			full := &known.Nodes[i].Resources[0]
			full.Holders = append(full.Holders, inventory.Holder{Namespace: "batch", Pod: "job-9", Count: 1})
		}
	}
	w.PutInventory(known)
	for i, took := range []time.Duration{10 * time.Minute, 40 * time.Minute, 3 * time.Hour} { // beside two of 20 min
		w.Decided(request.ID(fmt.Sprintf("r-past%d", i)), webtest.Ben, "h100", request.Approved, "", took)
	}
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-sweep-lr"), http.StatusOK)
	forecast := part(doc, "forecast")
	times := forecast.Find("time")
	if times.Length() != 1 || times.First().AttrOr("data-time", "") != "clock" {
		t.Errorf("want a time that a script puts into the reader's zone, got %q", textOf(forecast))
	}
	wantText(t, doc, "forecast", "Queue position 1", "Ready at about 15:01 UTC",
		"1 other lease ends by then", "Start MIG slice 40 GB now, €1.65/h")
	if href, _ := In(forecast, "forecast-instead").Attr("href"); href == "" {
		t.Error("want a way to what starts now")
	}
	home := read(t, w.Get(webtest.Anna, "/"), http.StatusOK)
	if got := textOf(In(row(home, "sweep-lr"), "forecast")); got != "Queue position 1 · ready about 15:01 UTC" {
		t.Errorf("the row says it too, got %q", got)
	}
	if got := textOf(In(row(home, "nb-anna-anna1"), "forecast")); got == "" {
		t.Error("want the same for what waits for people")
	}
	if In(row(home, "train-resnet"), "forecast").Length() != 0 {
		t.Error("what runs is not awaited")
	}
	asked := read(t, w.Get(webtest.Anna, "/requests/r-anna1"), http.StatusOK)
	wantText(t, asked, "forecast", "Ready between", "5 requests of this team",
		"P50 20 min, P90 3 h")
	w.Clock = w.Clock.Add(10 * time.Minute)
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-sweep-lr"), http.StatusOK), "forecast",
		"too old for an estimate")
}

func TestTheStartPageSaysHowLongAStartTakes(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantText(t, read(t, w.Get(webtest.Anna, "/start?size=mig-1g.10gb"), http.StatusOK), "forecast",
		"Usually ready in about 12 s", "7 starts of this size", "P90 40 s")
	wantText(t, read(t, w.Get(webtest.Anna, "/start?kind=endpoint&size=mig-1g.10gb"), http.StatusOK), "verdict",
		"ready in about 12 s, model loaded") // what counts as ready is another thing there
	w = webtest.Empty(t)
	wantText(t, read(t, w.Get(webtest.Anna, "/start?size=cpu"), http.StatusOK), "forecast",
		"too old for an estimate")
}

// TestAnAlternativeKeepsTheModel: the link to a size that would start now brings the model of the endpoint along.
func TestAnAlternativeKeepsTheModel(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	sent := w.Post(webtest.Anna, "/start", endpointForm("size", "h100", "lease", "4h", "reason", "the demo", "model.name",
		"Qwen/Qwen2.5-3B-Instruct"))
	asked := read(t, w.Get(webtest.Anna, sent.Header().Get("Location")), http.StatusOK)
	href := part(asked, "forecast-instead").AttrOr("href", "")
	if !strings.Contains(href, "model.name=Qwen%2FQwen2.5-3B-Instruct") || strings.Contains(href, "size=h100") {
		t.Errorf("want another size for the same model, got %q", href)
	}
}
