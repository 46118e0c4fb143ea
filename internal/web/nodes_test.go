package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAnEndpointOverSeveralNodes: the form asks for nodes in place of replicas where the image runs so, and only there;
// the request has the number, the price of all, and the workload's page says it.
func TestAnEndpointOverSeveralNodes(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	plain := read(t, w.Get(webtest.Anna, "/start?kind=endpoint&image=vllm&nodes=3"), http.StatusOK)
	if plain.Find("#nodes").Length() != 0 || plain.Find("[data-test=replicas-min]").Length() != 1 {
		t.Error("nodes are asked for where the image has none")
	}
	image := webtest.OnNodes(w)
	doc := read(t, w.Get(webtest.Anna, "/start?kind=endpoint&image="+image), http.StatusOK)
	if doc.Find("#nodes").Length() != 1 || doc.Find("[data-test=replicas-min]").Length() != 0 {
		t.Error("want nodes in place of replicas")
	}
	form := url.Values{"tenant": {"vision"}, "kind": {"endpoint"}, "size": {"mig-1g.10gb"}, "image": {image},
		"lease": {"4h"}, "reason": {"the large one"}, "name": {"large"}, "nodes": {"5"}, "storage": {"0"}}
	back := textOf(read(t, w.Post(webtest.Anna, "/start", form), http.StatusUnprocessableEntity).Find("main"))
	if !strings.Contains(back, "Enter 1 to 4 nodes") {
		t.Errorf("5 nodes: %s", back)
	}
	form.Set("nodes", "2")
	to := wantRedirect(t, w.Post(webtest.Anna, "/start", form))
	if got := textOf(read(t, w.Get(webtest.Anna, to), http.StatusOK).Find("[data-test=nodes]")); !strings.Contains(got,
		"2") {
		t.Errorf("%s has %q nodes", to, got)
	}
}
