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
	if got := textOf(part(doc, "unmet")); !strings.Contains(got, "team quota is full") ||
		!strings.Contains(got, "1 2 1") {
		t.Errorf("one request, two tries, one person; got %q", got)
	}
	wantText(t, read(t, w.Get(webtest.Eli, "/usage/demand?month=2026-09"), http.StatusOK), "empty",
		"All requests were met")
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
