package app

import (
	"context"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// seatQueue lets resumed workloads stand in one line with requests. A transaction of the store implements both
// packages' Tx.
type seatQueue struct{ queue *request.SeatQueue }

// Depth counts who waits already.
func (l seatQueue) Depth(ctx context.Context, tx workload.Tx, pool string, but workload.ID) (int, error) {
	return l.queue.Depth(ctx, tx.(request.Tx), pool, but)
}

// Join puts a resume at the end.
func (l seatQueue) Join(ctx context.Context, tx workload.Tx, a identity.Actor, w workload.Workload,
	pool license.Pool) error {
	return l.queue.Join(ctx, tx.(request.Tx), a, w, pool)
}

// Leave gives up the place of a resume.
func (l seatQueue) Leave(ctx context.Context, tx workload.Tx, id workload.ID) error {
	return l.queue.Leave(ctx, tx.(request.Tx), id)
}

// seats are the license seats that a workload holds where it is, as the pools count now.
func (a *App) seats(w workload.Workload) usage.Seats {
	if w.Size.LicensePool == "" {
		return usage.Seats{}
	}
	return w.SeatsAmong(a.licenses.Pools())
}

// virtual are the nodes with vGPUs of each cluster, by their labels.
func (a *App) virtual(ctx context.Context) map[string][]string {
	found := map[string][]string{}
	for _, cluster := range a.site.Clusters {
		snapshot, _ := a.store.Snapshot(ctx, cluster)
		for _, n := range snapshot.Nodes {
			if n.Labels["nvidia.com/vgpu.present"] == "true" {
				found[cluster] = append(found[cluster], n.Name)
			}
		}
	}
	for _, d := range a.agents.licenses() { // hosts that share cards out to virtual machines have no such label
		if !slices.Contains(found[d.Cluster], d.Node) {
			found[d.Cluster] = append(found[d.Cluster], d.Node)
		}
	}
	return found
}

// vgpus are those of each node, as GPU feature discovery counts them in virtual machines.
func (a *App) vgpus(ctx context.Context) map[license.NodeKey]license.VGPUs {
	found := map[license.NodeKey]license.VGPUs{}
	for _, cluster := range a.site.Clusters {
		snapshot, _ := a.store.Snapshot(ctx, cluster)
		for _, n := range snapshot.Nodes {
			if kind, count := n.VGPUs(); count > 0 {
				found[license.NodeKey{Cluster: cluster, Node: n.Name}] = license.VGPUs{Type: kind, Count: count}
			}
		}
	}
	return found
}

// devicesSeen is what the node agents say of the licenses of vGPUs, and of those that they say nothing of, what
// Prometheus has from DCGM. A cluster that is away, or has no Prometheus, has nothing to say: its devices keep their
// last word until that is too old to be one.
func (a *App) devicesSeen(ctx context.Context, virtual map[string][]string) []license.Device {
	seen, told := a.agents.licenses(), map[string]bool{}
	for _, d := range seen {
		told[d.Cluster+"/"+d.Node+"/"+d.UUID] = true
	}
	for cluster, nodes := range virtual {
		poller := a.clusters.metrics[cluster]
		if len(nodes) == 0 || poller == nil {
			continue
		}
		samples, err := poller.Licenses(ctx)
		if err != nil {
			a.log.DebugContext(ctx, "ask for the licenses of vGPUs", "cluster", cluster, "error", err)
			continue
		}
		for _, s := range samples {
			if told[cluster+"/"+s.Node+"/"+s.UUID] {
				continue
			}
			d := license.Device{Cluster: cluster, Node: s.Node, UUID: s.UUID, Index: s.Index, Model: s.Model,
				State: license.Unlicensed, SeenAt: s.At, Expires: s.Expires}
			if s.Licensed {
				d.State = license.Licensed
			}
			seen = append(seen, d)
		}
	}
	return seen
}
