package app

import (
	"net/http"
	"strings"
	"testing"
)

// TestErrorsStandInTheFrame: who is signed in keeps the navigation, and a page for other roles says so instead of that
// there is nothing; others meet no frame.
func TestErrorsStandInTheFrame(t *testing.T) {
	w := newWorld(t)
	b := w.as(developer)
	for path, want := range map[string]string{"/no/such/page": "nothing at this address",
		"/admin/rules": "Administrators and auditors", "/admin/tenants/none": "Administrators and auditors",
		"/workloads/w-none": ""} {
		a := b.get(path)
		doc := a.page(t)
		if a.status != http.StatusNotFound || doc.Find("nav#gp-nav a").Length() == 0 {
			t.Errorf("%s: want 404 within the frame, got %d", path, a.status)
		}
		if said := doc.Find("main [data-test=error]").Text(); !strings.Contains(said, want) {
			t.Errorf("%s: want %q, got %q", path, want, said)
		}
	}
	own := w.running(developer, "vision")
	colleague := w.as(owner)
	a := colleague.get("/gateway/authorize?workload=" + own.Name + "&return=/&state=" + gatewayState)
	if said := a.page(t).Find("main [data-test=error]").Text(); a.status != http.StatusForbidden ||
		!strings.Contains(said, "Dora Dev has not shared "+own.Name) {
		t.Errorf("%d %q", a.status, said)
	}
}
