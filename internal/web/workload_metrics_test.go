package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestAWorkloadsHistoryInChartsAndWords(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK)
	wantText(t, doc, "chart-engine", "GPU utilization", "avg", "peak 91 %", "last", "%", "11:00 UTC", "12:00 UTC")
	wantText(t, doc, "chart-memory", "of 10 GiB", "7.5 GiB")
	wantText(t, doc, "chart-tensor", "Unknown: no metrics in this time range")
	wantText(t, doc, "throttle", "Throttled by heat", "11:40 UTC – 11:47 UTC")
	wantText(t, doc, "xid", "XID 31", "11:50 UTC – 12:00 UTC")
	line, _ := part(doc, "chart-engine").Find(".gp-spark__line").Attr("d")
	if got := strings.Count(line, "M"); got != 2 {
		t.Errorf("want two strokes with the gap between them, got %d", got)
	}
	if rows := part(doc, "metrics-row"); rows.Length() != 116 || !strings.Contains(textOf(rows), "unknown") {
		t.Errorf("want a row for each of 115 points, and one for the gap, got %d", rows.Length())
	}
	if n := doc.Find("[data-test^=range-]").Length(); n != 6 {
		t.Errorf("want six ranges, got %d", n)
	}
	if current := doc.Find("[data-test=range-1h]").AttrOr("aria-current", ""); current != "true" {
		t.Error("the range that is shown is marked")
	}
	weeks := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics?range=30d&pause=1"), http.StatusOK)
	if href := part(weeks, "range-7d").AttrOr("href", ""); href != "/workloads/w-train-resnet/metrics?pause=1&range=7d" {
		t.Errorf("a paused page stays paused with another range, got %q", href)
	}
	if url := weeks.Find("body").AttrOr("data-live-url", ""); url != "" {
		t.Errorf("a paused page follows %s", url)
	}
}

// TestPowerIsTheWholeCards: of a slice or a share, power and temperature are the card's, and the charts say so; what is
// measured of the slice itself does not, and neither do the charts of a whole card.
func TestPowerIsTheWholeCards(t *testing.T) {
	t.Parallel()
	const note = "whole card"
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK)
	wantText(t, doc, "chart-power", note)
	wantText(t, doc, "chart-temperature", note)
	if text := textOf(part(doc, "chart-engine")) + textOf(part(doc, "chart-memory")); strings.Contains(text, note) {
		t.Errorf("utilization and memory are the slice's own, got %q", text)
	}
	whole := w.Work("w-train-resnet")
	whole.Size.Technology, whole.Size.Accelerator.Profile = catalog.Full, ""
	w.PutWork(whole)
	if text := textOf(part(read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK),
		"chart-power")); strings.Contains(text, note) {
		t.Errorf("a whole card has its power for itself, got %q", text)
	}
	shared := w.Work("w-train-resnet")
	shared.Size.Technology = catalog.TimeSlicing
	w.PutWork(shared)
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK), "chart-power", note)
}

// TestCPUAndNetworkAreDrawn beside the GPU, and alone where there is none: what decides whether such a workload idles.
func TestCPUAndNetworkAreDrawn(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	gpu := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK)
	wantText(t, gpu, "chart-cpu", "CPU", "cores")
	wantText(t, gpu, "chart-network", "Network", "MB/s")
	wantText(t, gpu, "metrics-row", "cores", "MB/s", "%")
	none := read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/metrics"), http.StatusOK)
	wantText(t, none, "chart-cpu", "of 2 cores")
	wantText(t, none, "chart-network", "MB/s")
	wantAbsent(t, none, "chart-engine", "throttle", "xid", "metrics-words")
	w.PodPasts = nil
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/metrics"), http.StatusOK), "metrics-words",
		"It has no GPU", "cAdvisor")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK), "chart-cpu")
}

func TestAHistoryIsForThoseWhoMaySeeTheWorkload(t *testing.T) {
	t.Parallel()
	if got := webtest.Busy(t).Get(webtest.Olaf, "/workloads/w-train-resnet/metrics").Code; got != http.StatusNotFound {
		t.Errorf("want 404, got %d", got)
	}
}

// TestAHistoryThatIsNotThereIsUnknown: Prometheus is slow, away, has nothing, or has been silent for long. There is a
// Page each time, and never a zero.
func TestAHistoryThatIsNotThereIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world func(w *webtest.World)
		words string
	}{
		"slow": {func(w *webtest.World) {
			w.RangesErr = fault.Wrap(fault.Unavailable, context.DeadlineExceeded, i18n.T("gpumetrics.not_yet"))
		}, "Waiting for Prometheus"},
		"away": {func(w *webtest.World) { w.RangesErr = fault.New(fault.Unavailable, i18n.T("gpumetrics.unavailable")) },
			"Prometheus does not respond"},
		"nothing": {func(w *webtest.World) { w.Pasts, w.PodPasts = nil, nil }, "has no values"},
	} {
		t.Run(name, func(t *testing.T) {
			w := webtest.Busy(t)
			c.world(w)
			doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics?range=7d"), http.StatusOK)
			wantText(t, doc, "metrics-words", c.words)
			wantAbsent(t, doc, "metrics-row", "chart-engine")
		})
	}
	w := webtest.Busy(t)
	past := webtest.Past()
	past.At = webtest.Now.Add(-20 * time.Minute)
	for i := range past.Lines {
		for j := range past.Lines[i].Points {
			if p := &past.Lines[i].Points[j]; webtest.Now.Sub(p.At) < 20*time.Minute {
				p.Known = false
			}
		}
	}
	w.Pasts["train-resnet-0"] = past
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/metrics"), http.StatusOK)
	wantText(t, doc, "metrics-since", "No new data since 21 Nov 2026, 11:40")
	wantText(t, doc, "chart-engine", "unknown since 11:40 UTC")
}
