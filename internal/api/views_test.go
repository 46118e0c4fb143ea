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

// TestAWorkloadTellsWhoCarriesItsCalls: the base address at a gateway of the site, and why it is not taken.
func TestAWorkloadTellsWhoCarriesItsCalls(t *testing.T) {
	a := &API{deps: Deps{AppURL: func(string) string { return "" }, Now: time.Now}}
	view := func(r *workload.Route) *Route {
		w := workload.Workload{Observed: workload.Observation{Route: r}}
		return a.workloadView(w, usage.Money{}, i18n.MustLoad().For("en")).Route
	}
	if got := view(nil); got != nil {
		t.Errorf("the portal itself carries them, got %+v", got)
	}
	want := &Route{Address: "https://models.example.org/gpu-vision/a/v1", Detail: "HTTPRoute NoMatchingParent: none"}
	got := view(&workload.Route{Address: "https://models.example.org/gpu-vision/a", Detail: want.Detail})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
