package health

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// TestTroublesReachTheWorkload: where the exporter calls its node by its own pod, the inventory knows better, and the
// error of a card reaches who is on it.
func TestTroublesReachTheWorkload(t *testing.T) {
	w := newWorld()
	n := &w.memory.snapshot.Nodes[0]
	n.Exporters = []inventory.Exporter{{Namespace: "gpu-operator", Pod: "nvidia-dcgm-exporter-cwbcm"}}
	n.Resources = []inventory.Resource{{Name: "nvidia.com/gpu", Holders: []inventory.Holder{{Namespace: "gpu-vision",
		Pod: "nb-a-0", Count: 1}}}}
	x := NodeIndex(w.memory.snapshot)
	for sentence, labels := range map[string]map[string]string{
		"the exporter's pod":  {"Hostname": "nvidia-dcgm-exporter-cwbcm"},
		"the card":            {"UUID": "GPU-2"},
		"the pod that has it": {"namespace": "gpu-vision", "pod": "nb-a-0"},
		"the node":            {"node": "node-1"},
	} {
		if got := x.NodeOf(labels); got != "node-1" {
			t.Errorf("%s: want node-1, got %q", sentence, got)
		}
	}
	w.dcgm.report.Health = []gpumetrics.Card{brokenCard("GPU-1", x.NodeOf(map[string]string{"UUID": "GPU-1"}))}
	if c := w.Under(t.Context(), on("node-1", "nb-a", w.memory.living[0].Size)); len(c.Issues) != 1 {
		t.Errorf("want the error on the workload's card, got %+v", c)
	}
}
