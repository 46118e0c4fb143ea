package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// An endpoint says who scales it and how far that may go now, and what KEDA says where it cannot.
func TestScaledByKEDA(t *testing.T) {
	t.Parallel()
	w := webtest.ByKEDA(t)
	well := read(t, w.Get(webtest.Anna, "/workloads/w-translate"), http.StatusOK)
	if got := textOf(well.Find("[data-test=scaling-autoscaler]")); !strings.Contains(got, "KEDA, up to 4 now") {
		t.Errorf("who scales it: %q", got)
	}
	if well.Find("[data-test=replicas-keda]").Length() != 0 {
		t.Error("a warning where KEDA scales")
	}
	ill := read(t, w.Get(webtest.Anna, "/workloads/w-embed"), http.StatusOK)
	if got := textOf(ill.Find("[data-test=replicas-keda]")); !strings.Contains(got, "not working correctly") {
		t.Errorf("KEDA's own words: %q", got)
	}
}
