package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAnAuditEventNamesItsRule: a bare name, "shares-and-slices", does not say what it is.
func TestAnAuditEventNamesItsRule(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Ask("r-ruled", webtest.Anna, "vision", "mig-1g.10gb", "8h", "A test.", 0)
	found := false
	part(read(t, w.Get(webtest.Dora, "/audit"), http.StatusOK), "event").Each(func(_ int, s *goquery.Selection) {
		found = found || strings.Contains(textOf(s), "Rule “shares-and-slices”")
	})
	if !found {
		t.Error("want an event with its rule in words")
	}
}

// TestADecisionThatIsNotListedIsNotTold: only a rule's own entry lets an act read as approved by a rule.
func TestADecisionThatIsNotListedIsNotTold(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, kind := range []audit.Kind{audit.RequestSubmitted, audit.WorkloadCreated} {
		e := audit.By(w.Actor(webtest.Anna), kind, webtest.Now)
		e.Request, e.Workload = "r-unknown", "w-train-resnet"
		if err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	doc := read(t, w.Get(webtest.Eli, "/audit?request=r-unknown"), http.StatusOK)
	if text := textOf(part(doc, "event")); part(doc, "event").Length() != 2 || strings.Contains(text, "auto-approved") {
		t.Errorf("want both entries as they are, got %q", text)
	}
}
