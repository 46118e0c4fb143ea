package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAnEndpointIsTriedOnItsPage: Open leads there, whoever may not open it is told so and gets no form, and an
// endpoint that does not answer says why.
func TestAnEndpointIsTriedOnItsPage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const path = "/workloads/w-llm-chat/try"
	doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
	overview := read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat"), http.StatusOK)
	if href, _ := part(overview, "open").Attr("href"); href != path {
		t.Errorf("want Open to lead here, got %q", href)
	}
	wantAbsent(t, doc, "open", "base-url") // one is there, and its programs have the address
	if got := part(doc, "to-keys").AttrOr("href", ""); !strings.HasSuffix(got, "#workload-keys") {
		t.Errorf("want the way to the keys that programs need, got %q", got)
	}
	if action, _ := part(doc, "try-form").Attr("data-try"); action != path {
		t.Errorf("want calls sent to %s, got %q", path, action)
	}
	wantText(t, doc, "try-programs", "llm-chat.localhost:8080/v1", "ENDPOINT_KEY")
	wantAbsent(t, doc, "try-not-ready", "try-not-allowed")
	doc = read(t, w.Get(webtest.Eli, path), http.StatusOK)
	wantText(t, doc, "try-not-allowed", "may call this endpoint")
	wantAbsent(t, doc, "try-form", "try-programs")
	read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet/try"), http.StatusConflict)

	w.Add(w.Workload("slow-llm", webtest.Anna, "mig-1g.10gb").Endpoint().Queued("", time.Minute))
	doc = read(t, w.Get(webtest.Anna, "/workloads/w-slow-llm/try"), http.StatusOK)
	wantText(t, doc, "try-not-ready", "does not respond yet")
}
