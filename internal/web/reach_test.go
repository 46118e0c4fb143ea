package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAccessFromOutsideInThePages: asked on the endpoint's page with a reason, it waits for an administrator while the
// endpoint goes on; then the page has both addresses, and the owner takes it away.
func TestAccessFromOutsideInThePages(t *testing.T) {
	t.Parallel()
	const at = "/workloads/w-llm-chat"
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, at), http.StatusOK)
	wantText(t, doc, "workload-reach", "Reachable only from inside the company network")
	if href, _ := part(doc, "reach-ask").Attr("href"); href != at+"/reach" {
		t.Errorf("it is asked for at %q", href)
	}
	doc = read(t, w.Get(webtest.Anna, at+"/reach"), http.StatusOK)
	wantText(t, doc, "reach-form", "who calls it from outside")
	back := w.Post(webtest.Anna, at+"/reach", url.Values{"reason": {" "}, "until": {"2020-01-01"}})
	if body := back.Body.String(); back.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(body, "a future date") {
		t.Errorf("want reason and day asked for, got %d", back.Code)
	}
	id := strings.TrimPrefix(wantRedirect(t, w.Post(webtest.Anna, at+"/reach", url.Values{"reason": {"a partner"}})),
		"/requests/")
	if again := wantRedirect(t, w.Post(webtest.Anna, at+"/reach", url.Values{"reason": {"once more"}})); again !=
		"/requests/"+id {
		t.Errorf("a second one waits: %s", again)
	}
	doc = read(t, w.Get(webtest.Anna, at), http.StatusOK)
	wantText(t, doc, "reach-waits", "External access waits for approval")
	wantAbsent(t, doc, "reach-open")
	if got := w.Post(webtest.Anna, "/approvals/"+id+"/approve", url.Values{"seen": {"1"}}).Code; got < 400 {
		t.Errorf("the owner approves it: %d", got)
	}
	wantRedirect(t, w.Post(webtest.Dora, "/approvals/"+id+"/approve", url.Values{"seen": {"1"}}))
	if r := w.Request(request.ID(id)); r.State != request.Approved || !w.Work("w-llm-chat").Reach.External {
		t.Fatalf("want it open, got %+v and %+v", r.State, w.Work("w-llm-chat").Reach)
	}
	doc = read(t, w.Get(webtest.Anna, at), http.StatusOK)
	wantText(t, doc, "reach-open", "Externally reachable", webtest.Dora.Name)
	wantText(t, doc, "reach-address", "https://llm-chat.models.example.com/v1")
	doc = read(t, w.Get(webtest.Eli, at), http.StatusOK)
	wantAbsent(t, doc, "reach-close")
	if got := w.Post(webtest.Olaf, at+"/reach/close", nil).Code; got != http.StatusNotFound {
		t.Errorf("another team takes it away: %d", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, at+"/reach/close", nil))
	if w.Work("w-llm-chat").Reach.External {
		t.Error("it is still open")
	}
	doc = read(t, w.Get(webtest.Anna, at), http.StatusOK)
	wantText(t, doc, "workload-reach", "Reachable only from inside the company network")
}
