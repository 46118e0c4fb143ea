package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestAWorkloadTellsWhatOthersSet: programs read of foreign edits what the page shows.
func TestAWorkloadTellsWhatOthersSet(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a := &API{deps: Deps{AppURL: func(string) string { return "" }, Now: func() time.Time { return at }}}
	w := workload.Workload{Observed: workload.Observation{Edits: []workload.ForeignEdit{
		{Object: "Service nb", Path: "spec.externalIPs", By: "kubectl-edit", Outcome: workload.EditRemoved, At: at},
		{Object: "Service nb", Path: "metadata.labels[x]", Outcome: workload.EditShown}}}}
	got := a.workloadView(w, usage.Money{}, i18n.MustLoad().For("en")).Edits
	want := []Edit{{Object: "Service nb", Path: "spec.externalIPs", By: "kubectl-edit", Outcome: "removed", At: &at},
		{Object: "Service nb", Path: "metadata.labels[x]", Outcome: "shown"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
