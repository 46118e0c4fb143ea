package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func clusterOf(name string) cluster.Cluster {
	return cluster.Cluster{Name: name, Server: "https://" + name + ".example.org:6443", Sealed: "k.sealed",
		AddedBy: "p-ada", AdderName: "Ada", AddedAt: later(1), Version: 1}
}

var clusterCases = cases{
	"a cluster is added, replaced and removed; the second of two who change it loses": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		west := clusterOf("west")
		must(t, s.CreateCluster(ctx, west, 2, Event(0)))
		fails(t, fault.Conflict, s.CreateCluster(ctx, west, 2, Event(1)))
		must(t, s.CreateCluster(ctx, clusterOf("east"), 2, Event(2)))
		fails(t, fault.Conflict, s.CreateCluster(ctx, clusterOf("north"), 2, Event(3)))
		equal(t, []cluster.Cluster{clusterOf("east"), west}, got(s.Clusters(ctx))(t))

		next := west
		next.Server, next.Sealed, next.ReplacedAt = "https://new.example.org", "k.other", later(5)
		filled(t, next)
		must(t, s.ReplaceCluster(ctx, next, Event(4)))
		fails(t, fault.Conflict, s.ReplaceCluster(ctx, next, Event(5)))
		fails(t, fault.Conflict, s.ResealCluster(ctx, next))
		next.Version, next.Sealed = 2, "n.again"
		must(t, s.ResealCluster(ctx, next))
		next.Version = 3
		equal(t, next, got(s.Clusters(ctx))(t)[1])

		must(t, s.RemoveCluster(ctx, "west", Event(6)))
		fails(t, fault.NotFound, s.RemoveCluster(ctx, "west", Event(7)))
		equal(t, 1, len(got(s.Clusters(ctx))(t)))
	},
	"a cluster is removed only when nothing is left there, with its inventory": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.CreateCluster(ctx, clusterOf("main"), 9, Event(0)))
		must(t, s.SaveSnapshot(ctx, inventory.Snapshot{Cluster: "main", TakenAt: later(1)}))
		w := Workload("w-1")
		w.Cluster = "main"
		save := func(w workload.Workload) {
			t.Helper()
			must(t, s.DecideExclusively(ctx, func(tx request.Tx) error { return tx.SaveWorkload(ctx, w) }))
		}
		save(w)
		fails(t, fault.Conflict, s.RemoveCluster(ctx, "main", Event(1)))
		equal(t, 1, len(got(s.Clusters(ctx))(t)))
		w = got(s.Workload(ctx, w.ID))(t)
		w.State = workload.Ended
		save(w)
		must(t, s.RemoveCluster(ctx, "main", Event(2)))
		if _, known := s.Snapshot(ctx, "main"); known {
			t.Error("the inventory of a cluster that was removed is still there")
		}
	},
}
