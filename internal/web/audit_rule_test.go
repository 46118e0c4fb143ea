package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

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
