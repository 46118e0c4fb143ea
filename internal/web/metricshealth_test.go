package web_test

import (
	"net/http"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func metricsHealthOf(t *testing.T, w *webtest.World, who identity.Person, status int) *goquery.Document {
	t.Helper()
	return read(t, w.Get(who, "/admin/metrics"), status)
}

// TestMetricsHealthSaysWhatSuffers: since when the source is away, which views suffer, and what to do about a card.
func TestMetricsHealthSaysWhatSuffers(t *testing.T) {
	t.Parallel()
	doc := metricsHealthOf(t, webtest.Troubled(t), webtest.Dora, http.StatusOK)
	wantText(t, doc, "away", "11:56", "Nothing is stopped or charged")
	wantText(t, doc, "views", "Partial", "Unknown", "Not needed here", "Power, Temperature")
	wantText(t, doc, "findings", "2 values are blank", "No action needed")
	wantText(t, doc, "series", "20 of 22", "not found")
	wantText(t, doc, "cards", "XID 79", "Act now", "gpu-01")
	if n := part(doc, "card").Length(); n != 1 {
		t.Errorf("want the one card with trouble, got %d", n)
	}
}

// TestMetricsHealthNeverAnswered: nothing is known, and the page says so instead of showing an empty, healthy list.
func TestMetricsHealthNeverAnswered(t *testing.T) {
	t.Parallel()
	w := webtest.Troubled(t)
	w.Reports["local"] = gpumetrics.Report{}
	doc := metricsHealthOf(t, w, webtest.Eli, http.StatusOK)
	wantText(t, doc, "away", "has not responded since the portal started")
	wantAbsent(t, doc, "cards", "views")
	delete(w.Reports, "local")
	wantText(t, metricsHealthOf(t, w, webtest.Eli, http.StatusOK), "empty", "No Prometheus is configured")
}

func TestMetricsHealthIsForThoseWhoSeeEverything(t *testing.T) {
	t.Parallel()
	if got := webtest.Troubled(t).Get(webtest.Anna, "/admin/metrics"); got.Code != http.StatusNotFound {
		t.Errorf("want 404 for a developer, got %d", got.Code)
	}
}
