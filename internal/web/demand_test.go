package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestUnmetDemandOfAMonth(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Unmet(
		usage.UnmetRequest{At: webtest.Now.Add(-2 * time.Hour), Person: "p-1", Size: "h100", Reason: usage.UnmetQuota},
		usage.UnmetRequest{At: webtest.Now.Add(-110 * time.Minute), Person: "p-1", Size: "h100", Reason: usage.UnmetQuota},
	)
	read(t, w.Get(webtest.Anna, "/usage/demand"), http.StatusNotFound)
	doc := read(t, w.Get(webtest.Dora, "/usage/demand"), http.StatusOK)
	if got := textOf(part(doc, "unmet")); !strings.Contains(got, "Team quota is full") ||
		!strings.Contains(got, "1 2 attempts 1") {
		t.Errorf("one request, two tries, one person; got %q", got)
	}
	if got := textOf(part(doc, "tile-total")); strings.Contains(got, "October") {
		t.Errorf("nobody counted in October; got %q", got)
	}
	wantText(t, read(t, w.Get(webtest.Eli, "/usage/demand?month=2026-09"), http.StatusOK), "empty",
		"All requests were met")
}

// TestUnmetDemandBesideTheMonthBefore: a row says who asked, how many it was a month ago, and that its size is gone.
func TestUnmetDemandBesideTheMonthBefore(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Unmet(
		usage.UnmetRequest{At: webtest.Now.Add(-time.Hour), Person: "p-1", Size: "gone", Reason: usage.UnmetQuota},
		usage.UnmetRequest{At: webtest.Now.AddDate(0, -1, 0), Person: "p-1", Size: "gone", Reason: usage.UnmetQuota},
		usage.UnmetRequest{At: webtest.Now.AddDate(0, -1, 0), Person: "p-2", Size: "gone", Reason: usage.UnmetQuota},
	)
	doc := read(t, w.Get(webtest.Dora, "/usage/demand"), http.StatusOK)
	wantText(t, doc, "tile-total", "2 in October 2026")
	wantText(t, doc, "unmet", "removed size")
	wantText(t, doc, "unmet-teams", "Vision")
	wantText(t, doc, "unmet-count", "2 in October 2026")
}

func TestUsageOpensWithEverybodysForAdmins(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/usage"), http.StatusOK)
	if got := textOf(part(doc, "usage")); !strings.Contains(got, "Speech") || !strings.Contains(got, "Vision") ||
		strings.Contains(got, "asr-train") {
		t.Errorf("want a line for each team, and its workloads only when asked for, got %q", got)
	}
	if !strings.Contains(w.Get(webtest.Dora, "/usage?by=workload").Body.String(), "asr-train") {
		t.Error("an administrator answers for all")
	}
	if strings.Contains(w.Get(webtest.Anna, "/usage").Body.String(), "asr-train") {
		t.Error("a developer reads her own")
	}
}
