package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// TestAnotherSchedulersPods: pods with annotations and no limits hold what they name, are held for by a reservation, or
// keep everything on their node from being called free. The first is what a pod of Run:ai was seen to carry.
func TestAnotherSchedulersPods(t *testing.T) {
	with := func(pairs ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations, p.Spec.SchedulerName = map[string]string{}, "runai-scheduler"
			for i := 0; i < len(pairs); i += 2 {
				p.Annotations[pairs[i]] = pairs[i+1]
			}
		}
	}
	runai := with("gpu-memory", "8192", "received-resource-type", "Fraction", "runai/shared-gpu-configmap",
		"nb-jg7fhgv-runai-sh-gpu")
	reservation := func(p *corev1.Pod) { p.Namespace = "kai-resource-reservation" }
	inside := with("received-resource-type", "Regular")
	says := func(pods int) []i18n.Text { return []i18n.Text{i18n.T("inventory.own_scheduler", "Pods", pods)} }
	for sentence, c := range map[string]struct {
		pods     []*corev1.Pod
		change   []func(*corev1.Node)
		gpu      int64 // free whole cards of one
		slice    int64 // free slices of seven
		warnings []i18n.Text
		level    catalog.Isolation
	}{
		"nobody":                  {nil, nil, 1, 7, nil, catalog.IsolationHard},
		"a fraction of some card": {[]*corev1.Pod{pod("a", nil, runai)}, nil, 0, 0, says(1), catalog.IsolationUnknown},
		"a fraction of a card that is reserved": {[]*corev1.Pod{pod("a", nil, runai), pod("gpu-reservation-x", list(gpu,
			"1"), reservation)}, nil, 0, 7, nil, catalog.IsolationHard},
		"the same words where kube-scheduler placed the pod": {[]*corev1.Pod{pod("a", nil, runai, func(p *corev1.Pod) {
			p.Spec.SchedulerName = "default-scheduler"
		})}, nil, 1, 7, nil, catalog.IsolationHard},
		"a slice that is not named": {[]*corev1.Pod{pod("a", nil, with("received-resource-type", "MigInstance"))}, nil, 0, 0,
			says(1), catalog.IsolationUnknown},
		"a slice that is named": {[]*corev1.Pod{pod("a", nil, with("received-resource-type", "MigInstance",
			"nvidia.com/mig-1g.10gb", "1"))}, nil, 1, 6, nil, catalog.IsolationHard},
		"a slice by its profile": {[]*corev1.Pod{pod("a", nil, with("runai/mig-profile", "1g.10gb"))}, nil, 1, 6, nil,
			catalog.IsolationHard},
		"a slice that the node does not list": {[]*corev1.Pod{pod("a", nil, with("runai/mig-profile", "2g.20gb"))}, nil, 0, 0,
			says(1), catalog.IsolationUnknown},
		"a regular pod of the same scheduler": {[]*corev1.Pod{pod("a", list(slice, "2"), inside)}, nil, 1, 5, nil,
			catalog.IsolationHard},
		"a pod without a card": {[]*corev1.Pod{pod("a", nil, inside)}, nil, 1, 7, nil, catalog.IsolationHard},
		"what is held is held, beside it": {[]*corev1.Pod{pod("a", list(slice, "2")), pod("b", nil, runai)}, nil, 0, 0,
			says(1),
			catalog.IsolationUnknown},
		"a node of Run:ai's dynamic MIG": {nil, []func(*corev1.Node){label("node-role.kubernetes.io/runai-dynamic-mig",
			"true")}, 0, 0, says(0), catalog.IsolationUnknown},
	} {
		n := Build("main", time.Time{}, Objects{Nodes: []*corev1.Node{mixedNode(c.change...)}, Pods: c.pods}, ours).Nodes[0]
		for _, r := range n.Resources {
			if want := map[string]int64{gpu: c.gpu, slice: c.slice}[r.Name]; r.Free() != want {
				t.Errorf("%s: want %d of %s free, got %d", sentence, want, r.Name, r.Free())
			}
		}
		if diff := cmp.Diff(c.warnings, n.Warnings); diff != "" {
			t.Errorf("%s (-want +got)\n%s", sentence, diff)
		}
		if got := Isolation(n, slice); got != c.level {
			t.Errorf("%s: want isolation %s, got %s", sentence, c.level, got)
		}
	}
}
