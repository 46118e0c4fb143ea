package webtest

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// marks keeps what is marked in the world.
type marks struct{ world *World }

func (m *marks) Quarantines(context.Context) ([]health.Quarantine, error) {
	return slices.Clone(m.world.Marked), nil
}

func (m *marks) SaveQuarantine(_ context.Context, k health.Quarantine, events ...audit.Event) error {
	m.world.Marked = append(slices.DeleteFunc(m.world.Marked,
		func(o health.Quarantine) bool { return o.Target == k.Target }), k)
	m.world.Record = append(m.world.Record, events...)
	return nil
}

func (m *marks) DeleteQuarantine(_ context.Context, p health.Target, events ...audit.Event) error {
	m.world.Marked = slices.DeleteFunc(m.world.Marked, func(o health.Quarantine) bool { return o.Target == p })
	m.world.Record = append(m.world.Record, events...)
	return nil
}

func (m *marks) Living(context.Context) ([]workload.Workload, error) {
	var list []workload.Workload
	for _, w := range m.world.Works {
		list = append(list, w)
	}
	return list, nil
}

func (m *marks) Snapshot(ctx context.Context, cluster string) (inventory.Snapshot, bool) {
	return m.world.Store.Snapshot(ctx, cluster)
}

type dcgm struct{ world *World }

func (d dcgm) Report() gpumetrics.Report { return d.world.Reports["local"] }
func (d dcgm) Fleet() *gpumetrics.Fleet  { return d.world.Fleets["local"] }

// Ill is a world with a card that fell off the bus, one that wants a reset, and a node and a card that an administrator
// marked.
func Ill() *World {
	w := Troubled()
	report := w.Reports["local"]
	report.HealthAt = Now.Add(-20e9)
	report.Health = append(report.Health, gpumetrics.Card{UUID: "GPU-2", Model: "NVIDIA H100 80GB HBM3", Node: "gpu-03",
		At: Now, ECCCorrected: known(12, gpumetrics.Count), ECCUncorrected: known(0, gpumetrics.Count),
		Throttle: known(0x20, gpumetrics.Count),
		Reasons:  []gpumetrics.Reason{{Name: "heat", Severity: gpumetrics.Warning}},
		Troubles: []gpumetrics.Trouble{{Severity: gpumetrics.Warning, What: i18n.T("gpumetrics.throttle.heat"),
			Todo: i18n.T("gpumetrics.todo.throttle_heat")}}})
	w.Reports["local"] = report
	corrected := uint64(12)
	for i, n := range w.Snaps["local"].Nodes {
		if n.Name == "gpu-03" {
			w.Snaps["local"].Nodes[i].Cards.Each[0].Errors = &inventory.CardErrors{Corrected: &corrected, RowsPending: true,
				XIDs: []inventory.CardXID{{Code: 63, Count: 2, Last: Now.Add(-3 * 3600e9)}}}
		}
	}
	ctx, dora := context.Background(), w.Actor(Dora)
	for place, note := range map[health.Target]string{
		{Cluster: "local", Kind: health.Node, Name: "gpu-02"}: "Fan 3 is out; the vendor comes on Tuesday. Please save " +
			"your models.",
		{Cluster: "local", Kind: health.Card, Name: "GPU-1"}: "XID 94 twice this week.",
	} {
		if _, err := w.Marks.Quarantine(ctx, dora, place, note); err != nil {
			panic(err)
		}
	}
	return w
}
