package webtest

import (
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

type dcgm struct{ world *World }

func (d dcgm) Report() gpumetrics.Report { return d.world.Reports["local"] }
func (d dcgm) Fleet() *gpumetrics.Fleet  { return d.world.Fleets["local"] }

// Ill is a world with a card that fell off the bus, one that wants a reset, and a node and a card that an administrator
// marked.
func Ill(s Scope) *World {
	w := Troubled(s)
	report := w.Reports["local"]
	report.HealthAt = Now.Add(-20e9)
	report.Health = append(report.Health, gpumetrics.Card{UUID: "GPU-2", Model: "NVIDIA H100 80GB HBM3", Node: "gpu-03",
		At: Now, ECCCorrected: known(12, gpumetrics.Count), ECCUncorrected: known(0, gpumetrics.Count),
		Throttle: known(0x20, gpumetrics.Count),
		Reasons:  []gpumetrics.Reason{{Name: "heat", Severity: gpumetrics.Warning}},
		Issues: []gpumetrics.Issue{{Severity: gpumetrics.Warning, What: i18n.T("gpumetrics.throttle.heat"),
			Todo: i18n.T("gpumetrics.todo.throttle_heat")}}},
		gpumetrics.Card{UUID: "GPU-0", Model: "NVIDIA H100 80GB HBM3", Node: "gpu-01", At: Now, TellsErrors: true,
			ECCUncorrected: known(0, gpumetrics.Count)})
	w.Reports["local"] = report
	corrected := uint64(12)
	known := w.Inventory("local")
	for i, n := range known.Nodes {
		if n.Name == "gpu-03" {
			known.Nodes[i].Cards.Each[0].Errors = &inventory.CardErrors{Corrected: &corrected, RowsPending: true,
				XIDs: []inventory.CardXID{{Code: 63, Count: 2, Last: Now.Add(-3 * 3600e9)}}}
		}
	}
	w.PutInventory(known)
	dora := w.Actor(Dora)
	for place, note := range map[health.Target]string{
		{Cluster: "local", Kind: health.Node, Name: "gpu-02"}: "Fan 3 is out; the vendor comes on Tuesday. Please save " +
			"your models.",
		{Cluster: "local", Kind: health.Card, Name: "GPU-1"}: "XID 94 twice this week.",
	} {
		have(w.Quarantines.Quarantine(bg, dora, place, note))
	}
	return w
}
