package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestDifferencesPage(t *testing.T) {
	w := webtest.Busy(t)
	w.Restored()
	page := read(t, w.Get(webtest.Dora, "/admin/differences"), http.StatusOK)
	var sides []string
	part(page, "difference").Each(func(_ int, s *goquery.Selection) { sides = append(sides, textOf(s)) })
	if len(sides) != 5 {
		t.Fatalf("want five rows, got %d", len(sides))
	}
	for i, want := range [][]string{{"train-detector", "in the cluster only", "1 × nvidia.com/gpu, node-3", "Anna Albers"},
		{"notebook-of-monday", "in the database only", "nothing"}, {"segment-lungs", "different", "Running in the database"},
		{"left-behind", "Released by Dora Admin"}, {"old-home", "200 GiB", "unknown"}} {
		for _, text := range want {
			if !strings.Contains(sides[i], text) {
				t.Errorf("row %d: want %q in %q", i, text, sides[i])
			}
		}
	}
	if got := page.Find("[data-test=held] a").Length(); got != 4 {
		t.Errorf("want four ways to decide all, got %d", got)
	}
	if got := read(t, w.Get(webtest.Eli, "/admin/differences"),
		http.StatusOK).Find("[data-test=difference] a[data-test]").Length(); got != 0 {
		t.Errorf("want nothing for an auditor to decide, got %d", got)
	}
}

// A decision is confirmed with what was seen, and is a Conflict when that has changed.
func TestDifferenceIsConfirmed(t *testing.T) {
	w := webtest.Busy(t)
	w.Restored()
	ask := read(t, w.Get(webtest.Dora, "/admin/differences/d-1/apply"), http.StatusOK)
	if text := ask.Find("[data-test=ask]").Text(); !strings.Contains(text, "deleted from the cluster") {
		t.Errorf("want to be told what it does: %q", text)
	}
	seen, _ := ask.Find("input[name=seen]").Attr("value")
	changed := w.Difference("d-1")
	changed.Version = "2"
	w.Differ(changed)
	if got := w.Post(webtest.Dora, "/admin/differences/d-1/apply",
		url.Values{"seen": {seen}}); got.Code != http.StatusConflict {
		t.Errorf("want 409 for what has changed, got %d", got.Code)
	}
	if got := w.Post(webtest.Dora, "/admin/differences/d-1/apply",
		url.Values{"seen": {"2"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("want it decided, got %d: %s", got.Code, got.Body)
	}
	if d := w.Difference("d-1"); d.Decision != drift.Apply || d.ByName == "" {
		t.Errorf("decided: %+v", d)
	}
	record := w.Record()
	if e := record[len(record)-1]; e.Kind != audit.DifferenceApplied || e.Workload != "w-1" {
		t.Errorf("event: %+v", e)
	}
}
