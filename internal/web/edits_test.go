package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestWhatOthersChangedIsSaid: on the page of a workload stands what was taken back, who set it and when; what may stay
// stands apart, and what the cluster does not let the portal take back is worse.
func TestWhatOthersChangedIsSaid(t *testing.T) {
	for name, refused := range map[string]bool{"taken back": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			w := webtest.Busy(t)
			w.Add(w.Workload("segment-cells", webtest.Anna, "mig-1g.10gb").ChangedByOthers(refused))
			page := read(t, w.Get(webtest.Anna, "/workloads/w-segment-cells"), http.StatusOK)
			wantText(t, page, "edits", "containers[sidecar]", "kubectl-edit", "StatefulSet segment-cells")
			objects := read(t, w.Get(webtest.Anna, "/workloads/w-segment-cells/objects"), http.StatusOK)
			wantText(t, objects, "additions", "cost-center", "kustomize-controller")
			if strings.Contains(textOf(part(page, "edits")), "cost-center") {
				t.Error("what may stay is told as if it had been taken back")
			}
			wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "edits")
		})
	}
}
